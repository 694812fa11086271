"""Whether a program only reads, so that it may be suggested to a model, which copies and runs it.

The check is about names, not calls: a function can be passed on, bound to another name or looked up by a string. The
origin of every name must be known, and anything not known to be harmless makes the program refused. The host uses this
module too.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["reads_only"]

_HARMLESS = """
    abs all any bin bool bytes chr complex dict divmod enumerate filter float format frozenset hash hex int
    isinstance issubclass iter len list map max min next oct ord pow print range repr reversed round set slice
    sorted str sum tuple zip ToolError __name__ asyncio json math parallel re
"""
_BUILTINS = frozenset(_HARMLESS.split()) | {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}
_MODULES = frozenset(
    {"asyncio", "collections", "datetime", "decimal", "itertools", "json", "math", "random", "re", "statistics", "time"}
)
# Ways from a module or object to hidden parts of it.
_DOORS = frozenset({"attrgetter", "builtins", "methodcaller", "modules", "sys"})
_INSIDES = ("_", "ag_", "cr_", "f_", "gi_", "tb_")
_ESCAPE = re.compile(r"\\[^\n]")
_Names = frozenset[str]


class _DoesMoreError(Exception):
    """A part of the program may do more than read."""


def reads_only(program: str, tools: Mapping[str, bool], taken: Collection[str] | None = None) -> bool:
    """Return whether every name in a program is its own, a harmless built-in, or a read-only tool.

    Args:
        program: Its text.
        tools: Whether each granted tool is declared read-only, by name.
        taken: Names bound to something else, such as by an earlier program of a session; None if unknown.
    """
    # Escapes are blanked, because the parser would warn about unknown ones on stderr.
    blanked = _ESCAPE.sub("xx", program)
    try:
        tree = compile(blanked, "<proposed>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        if isinstance(tree, ast.Module):
            _Look(tree, tools, taken).block(tree.body, frozenset())
    except (_DoesMoreError, SyntaxError, ValueError, RecursionError, MemoryError):
        # The parser raises the last two for too much nesting.
        return False
    return True


class _Look:
    """Follows the names that are certainly bound.

    Each method takes those bound before a node; the methods for statements return those bound after it.
    """

    def __init__(self, tree: ast.Module, tools: Mapping[str, bool], taken: Collection[str] | None) -> None:
        self._tools = tools
        harmless = {*(_BUILTINS - tools.keys()), *(name for name, is_reader in tools.items() if is_reader)}
        if taken is not None:
            # A name bound anywhere is the program's own, or not bound yet.
            nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
            harmless |= {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        self._harmless = harmless.difference(taken or ())

    def block(self, statements: Iterable[ast.stmt], known: _Names) -> _Names:
        for statement in statements:
            look = _STATEMENTS.get(type(statement))
            if look is None:
                raise _DoesMoreError
            known = look(self, statement, known)
        return known

    def plain(self, node: ast.stmt, known: _Names) -> _Names:
        """Check the expressions that a statement evaluates."""
        self.values(ast.iter_child_nodes(node), known)
        return known

    def assign(self, node: ast.Assign, known: _Names) -> _Names:
        self.value(node.value, known)
        return known.union(*(self.bind(target, known) for target in node.targets))

    def annotate(self, node: ast.AnnAssign, known: _Names) -> _Names:
        self.values(filter(None, (node.annotation, node.value)), known)
        bound = self.bind(node.target, known)
        if node.value is None:
            return known
        return known | bound

    def augment(self, node: ast.AugAssign, known: _Names) -> _Names:
        self.value(node.value, known)
        if isinstance(node.target, ast.Name) and node.target.id not in known | self._harmless:
            raise _DoesMoreError
        return known | self.bind(node.target, known)

    def loop(self, node: ast.For | ast.AsyncFor, known: _Names) -> _Names:
        self.value(node.iter, known)
        self.block(node.body, known | self.bind(node.target, known))
        self.block(node.orelse, known)
        return known  # the loop may have no iterations

    def repeat(self, node: ast.While, known: _Names) -> _Names:
        self.value(node.test, known)
        self.block(node.body, known)
        self.block(node.orelse, known)
        return known

    def choose(self, node: ast.If, known: _Names) -> _Names:
        self.value(node.test, known)
        return self.block(node.body, known) & self.block(node.orelse, known)

    def enter(self, node: ast.With | ast.AsyncWith, known: _Names) -> _Names:
        for item in node.items:
            self.value(item.context_expr, known)
            if item.optional_vars is not None:
                known |= self.bind(item.optional_vars, known)
        return self.block(node.body, known)

    def attempt(self, node: ast.Try, known: _Names) -> _Names:
        after = self.block(node.orelse, self.block(node.body, known))
        for handler in node.handlers:
            self.values(filter(None, (handler.type,)), known)
            bound = known
            if handler.name:
                bound = known | self.name(handler.name)
            after &= self.block(handler.body, bound)
        return after | self.block(node.finalbody, known)

    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, known: _Names) -> _Names:
        if getattr(node, "type_params", ()):
            raise _DoesMoreError
        self.values(filter(None, (*node.decorator_list, node.returns)), known)
        known |= self.name(node.name)
        self.block(node.body, known | self.parameters(node.args, known))
        return known

    def use(self, node: ast.Import | ast.ImportFrom, known: _Names) -> _Names:
        names = [alias.name for alias in node.names]
        modules = names
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        if not _MODULES.issuperset(modules) or not _DOORS.isdisjoint(names) or "*" in names:
            raise _DoesMoreError
        if any(name.startswith("_") for name in names):
            raise _DoesMoreError
        return known.union(*(self.name(alias.asname or alias.name) for alias in node.names))

    # What binds names, and what is evaluated --------------------------------------------------------------------------

    def name(self, name: str) -> _Names:
        if name in self._tools:
            raise _DoesMoreError
        return frozenset({name})

    def bind(self, target: ast.expr, known: _Names) -> _Names:
        if isinstance(target, ast.Name):
            return self.name(target.id)
        if isinstance(target, (ast.Tuple, ast.List)):
            return frozenset[str]().union(*(self.bind(element, known) for element in target.elts))
        if isinstance(target, ast.Starred):
            return self.bind(target.value, known)
        self.value(target, known)
        return frozenset()

    def parameters(self, node: ast.arguments, known: _Names) -> _Names:
        arguments = [*node.posonlyargs, *node.args, *node.kwonlyargs, *filter(None, (node.vararg, node.kwarg))]
        annotations = [argument.annotation for argument in arguments if argument.annotation is not None]
        self.values([*annotations, *node.defaults, *filter(None, node.kw_defaults)], known)
        return frozenset[str]().union(*(self.name(argument.arg) for argument in arguments))

    def values(self, nodes: Iterable[ast.AST], known: _Names) -> None:
        for node in nodes:
            self.value(node, known)

    def value(self, node: ast.AST, known: _Names) -> None:
        if isinstance(node, ast.Name):
            is_harmful = node.id not in known and node.id not in self._harmless
        elif isinstance(node, ast.Attribute):
            is_inside = node.attr.startswith(_INSIDES) or node.attr in _DOORS
            is_harmful = is_inside or self._tools.get(node.attr) is False
        elif isinstance(node, ast.Constant):
            is_harmful = isinstance(node.value, str) and self._tools.get(node.value) is False
        elif isinstance(node, ast.keyword):
            is_harmful = node.arg is not None and self._tools.get(node.arg) is False
        else:
            is_harmful = isinstance(node, ast.NamedExpr)
        if is_harmful:
            raise _DoesMoreError
        if isinstance(node, ast.Lambda):
            self.value(node.body, known | self.parameters(node.args, known))
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            self.comprehension(node, known)
        else:
            self.values(ast.iter_child_nodes(node), known)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, known: _Names) -> None:
        for generator in node.generators:
            self.value(generator.iter, known)
            known |= self.bind(generator.target, known)
            self.values(generator.ifs, known)
        self.values((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,), known)


_STATEMENTS: dict[type, Callable[[_Look, Any, _Names], _Names]] = {
    ast.AnnAssign: _Look.annotate,
    ast.Assert: _Look.plain,
    ast.Assign: _Look.assign,
    ast.AsyncFor: _Look.loop,
    ast.AsyncFunctionDef: _Look.define,
    ast.AsyncWith: _Look.enter,
    ast.AugAssign: _Look.augment,
    ast.Break: _Look.plain,
    ast.Continue: _Look.plain,
    ast.Expr: _Look.plain,
    ast.For: _Look.loop,
    ast.FunctionDef: _Look.define,
    ast.If: _Look.choose,
    ast.Import: _Look.use,
    ast.ImportFrom: _Look.use,
    ast.Pass: _Look.plain,
    ast.Raise: _Look.plain,
    ast.Return: _Look.plain,
    ast.Try: _Look.attempt,
    ast.While: _Look.repeat,
    ast.With: _Look.enter,
}
