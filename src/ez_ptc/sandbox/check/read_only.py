"""Whether a program only reads, so that it may be suggested to a model, which copies and runs it.

The check is about names, not calls: a function can be passed on, bound to another name or looked up by a string. The
origin of every name must be known, and anything not known to be harmless makes the program refused. The host uses this
module too.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING

from .following.names import bound_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

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
_DOORS = frozenset({"*", "attrgetter", "builtins", "methodcaller", "modules", "sys"})
_INSIDES = ("_", "ag_", "cr_", "f_", "gi_", "tb_")
_ESCAPE = re.compile(r"\\[^\n]")
_ALLOWED = (
    *(ast.AnnAssign, ast.Assert, ast.Assign, ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.AugAssign),
    *(ast.Break, ast.Continue, ast.Expr, ast.For, ast.FunctionDef, ast.If, ast.Import, ast.ImportFrom, ast.Pass),
    *(ast.Raise, ast.Return, ast.Try, ast.While, ast.With),
)
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
            _Look(tree, tools, taken).follow(tree.body, frozenset())
    except (_DoesMoreError, SyntaxError, ValueError, RecursionError, MemoryError):
        # The parser raises the last two for too much nesting.
        return False
    return True


class _Look:
    """Follows the names that are certainly bound: from those before a node to those after it."""

    def __init__(self, tree: ast.Module, tools: Mapping[str, bool], taken: Collection[str] | None) -> None:
        self._tools = tools
        harmless = {*(_BUILTINS - tools.keys()), *(name for name, is_reader in tools.items() if is_reader)}
        if taken is not None:
            # A name bound anywhere is the program's own, or not bound yet.
            nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
            harmless |= {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        self._harmless = harmless.difference(taken or ())

    def follow(self, nodes: Iterable[ast.AST | None], known: _Names) -> _Names:
        """Follow nodes in the order of their evaluation."""
        for node in filter(None, nodes):
            if self._is_harmful(node, known) or any(name in self._tools for name in bound_names(node)):
                raise _DoesMoreError
            known = self._follow_ways(node, known)
        return known

    def _is_harmful(self, node: ast.AST, known: _Names) -> bool:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.AugAssign(target=ast.Name(id=name)):
                return name not in known and name not in self._harmless
            case ast.Attribute(attr=name) | ast.alias(name=name):
                return name.startswith(_INSIDES) or name in _DOORS or self._tools.get(name) is False
            case ast.Constant(value=str(name)) | ast.keyword(arg=str(name)):
                return self._tools.get(name) is False
            case ast.ImportFrom():
                return node.module not in _MODULES
            case ast.Import():
                return any(alias.name not in _MODULES for alias in node.names)
            case _:
                is_unknown = isinstance(node, (ast.stmt, ast.NamedExpr)) and not isinstance(node, _ALLOWED)
                return is_unknown or bool(getattr(node, "type_params", ()))

    def _follow_ways(self, node: ast.AST, known: _Names) -> _Names:
        """Follow the ways that a statement may take: what all of them bind is bound."""
        match node:
            case ast.If():
                known = self.follow([node.test], known)
                return self.follow(node.body, known) & self.follow(node.orelse, known)
            case ast.For() | ast.AsyncFor() | ast.While():
                head = [node.test] if isinstance(node, ast.While) else [node.iter, node.target]
                self.follow([*head, *node.body], known)
                self.follow(node.orelse, known)
                return known  # the loop may have no iterations
            case ast.Try():
                after = self.follow([*node.body, *node.orelse], known)
                for handler in node.handlers:
                    after &= self.follow([handler], known)
                return after | self.follow(node.finalbody, known)
            case ast.AnnAssign(value=None):
                self.follow([node.annotation], known)
                return known
            case _:
                return self._follow_names(node, known)

    def _follow_names(self, node: ast.AST, known: _Names) -> _Names:
        bound = known.union(bound_names(node))
        match node:
            case ast.ExceptHandler():
                self.follow([node.type], known)
                return self.follow(node.body, bound)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                loops = [child for loop in node.generators for child in (loop.iter, loop.target, *loop.ifs)]
                results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                self.follow([*loops, *results], known)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                parameters = [*ast.iter_child_nodes(node.args)]
                for outside in (*parameters, *getattr(node, "decorator_list", ()), getattr(node, "returns", None)):
                    self.follow([outside], known)
                body = [node.body] if isinstance(node, ast.Lambda) else node.body
                self.follow(body, bound.union(*map(bound_names, parameters)))
            case _:
                children = [*ast.iter_child_nodes(node)]
                # Targets are bound last.
                children.sort(key=lambda child: isinstance(getattr(child, "ctx", None), ast.Store))
                return bound | self.follow(children, known)
        return bound
