"""A look at a program before it runs: names that are nowhere, calls that no tool takes, keys that no result has.

It finds mistakes before the first effect, and says them as the failing program would, with more to repair them from.
What it cannot see it leaves alone, and so what a program guards with ``try``. It is no security.
"""

from __future__ import annotations

import ast
import difflib
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from ..quoting import item_text, literal, name_list, on_one_line, quoted
from .call_errors import Mistake, call_mistakes, fix, likely_name, which_names
from .inference import Scope, bound_names, children, every, find_changes
from .signatures import UNKNOWN
from .suggestions import (
    all_of,
    beginning,
    identity,
    list_of,
    names_effect,
    suggest_getter,
    suggest_lookup_by_value,
    where_else,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .call_errors import Fix
    from .signatures import Shape, Shapes, Type

__all__ = ["ENOUGH", "mistakes"]

# So many are looked for: what to write instead takes its time to find, and the program's time runs.
ENOUGH = 50
_MAX_TEXT = 100
_SCALARS = frozenset({"str", "int", "float", "bool"})
_GUARDS = frozenset({"suppress", "raises"})
# With these a program can make names that are not seen in it.
_MAKERS = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "__import__", "compile"})
# With these it may know better what it has.
_ASKING = frozenset({"hasattr", "isinstance", "type"})
_OF_CLASSES = frozenset({"__class__", "__module__", "__qualname__"})
_ADDERS = frozenset({"update", "setdefault", "setattr", "fromkeys"})
_INTO = frozenset({"add", "update"})
_UNHASHABLE = "a record is a dict, and cannot be in a set: use one of its values, like row"
_INNER = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def mistakes(tree: ast.Module, shapes: Shapes, known: Callable[[str], bool]) -> list[Mistake]:
    """Return the mistakes of a program over tools, by line.

    Args:
        tree: The program.
        shapes: The tools that it may call, by name.
        known: Whether a name is there without the program's doing.
    """
    check = _Check(tree, shapes, known)
    check.look(tree.body, Scope(shapes, changes=check.changes), guarded=False)
    return sorted(check.found, key=lambda each: each.line)


class _Check:
    def __init__(self, tree: ast.Module, shapes: Shapes, known: Callable[[str], bool]) -> None:
        self.found: list[Mistake] = []
        self._shapes = shapes
        self._known = known
        nodes = list(every(tree))
        inner = {id(bound) for node in nodes if isinstance(node, _INNER) for bound in _inner_names(node)}
        lines = [
            (name, getattr(node, "lineno", 0))
            for node in nodes
            if id(node) not in inner
            for name in _names_bound_by(node)
        ]
        # Names by the line that binds them first.
        self._names_bound_by = dict(sorted(lines, key=lambda each: each[1], reverse=True))
        self._inner: list[str] = []
        self._called = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
        names = {name for node in nodes for name in _name(node)}
        self._makes_names = not _MAKERS.isdisjoint(names) or "*" in self._names_bound_by
        self._handles = not _GUARDS.isdisjoint(names) or any(isinstance(node, ast.ExceptHandler) for node in nodes)
        self._asks_first = not _ASKING.isdisjoint(names)
        self._adds_keys = not _ADDERS.isdisjoint(names)
        self._keys = {key for node in nodes for key in _named_keys(node)}
        self._passed: dict[int, tuple[ast.Call, Shape]] = {}
        self._nodes = nodes
        imported = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__")
        self._postponed = any(alias.name == "annotations" for node in imported for alias in node.names)
        self.changes = find_changes(nodes)

    def look(
        self, body: list[ast.stmt], scope: Scope, *, guarded: bool, arguments: ast.arguments | None = None
    ) -> None:
        """Look at the statements of a module or of a function."""
        scope.read([*([arguments] if arguments is not None else []), *body])
        self._all(body, scope, guarded=guarded)

    def _all(self, nodes: Iterable[ast.AST], scope: Scope, *, guarded: bool) -> None:
        for node in nodes:
            visit = _VISITS.get(type(node), _Check.visit_other)
            visit(self, node, scope, guarded=guarded)

    def visit_definition(self, node: ast.FunctionDef | ast.ClassDef, scope: Scope, *, guarded: bool) -> None:
        """Look into a function or a class; who calls it may be ready for what it raises."""
        is_class = isinstance(node, ast.ClassDef)
        arguments = None if is_class else node.args
        inner = Scope(self._shapes, scope, of_class=is_class)
        self.look(node.body, inner, guarded=guarded or self._handles, arguments=arguments)

    def visit_try(self, node: ast.Try, scope: Scope, *, guarded: bool) -> None:
        """Leave alone what the program is ready for."""
        self._all(node.body, scope, guarded=guarded or bool(node.handlers))
        self._all([*node.handlers, *node.orelse, *node.finalbody], scope, guarded=guarded)

    def visit_with(self, node: ast.With, scope: Scope, *, guarded: bool) -> None:
        """Leave alone what a context manager suppresses."""
        managers = (name for part in node.items for item in every(part) for name in _name(item))
        self._all(children(node), scope, guarded=guarded or not _GUARDS.isdisjoint(managers))

    def visit_import(self, node: ast.Import | ast.ImportFrom, scope: Scope, *, guarded: bool) -> None:
        """Find tools that are imported, from modules that there are not: they are there already."""
        del scope
        names = [alias.name for alias in node.names]
        module = (node.module or "" if isinstance(node, ast.ImportFrom) else names[0]).partition(".")[0]
        there = module in sys.modules or module in sys.stdlib_module_names
        if guarded or there or not any(name in self._shapes for name in names):
            return
        tools = [name for name in names if name in self._shapes]
        renamed = any(alias.asname not in {None, alias.name} for alias in node.names)
        hint = f"{' and '.join(tools)} can be called without an import"
        whole = (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0, "pass")
        error = f"ModuleNotFoundError: No module named {module!r}"
        self.found.append(Mistake(node.lineno, error, hint, None if renamed or tools != names else whole))

    def visit_annotated(self, node: ast.AnnAssign, scope: Scope, *, guarded: bool) -> None:
        """Leave alone the annotations that are never computed: those of a function's names, and postponed ones."""
        is_computed = not self._postponed and (scope.outer is None or scope.of_class or not node.simple)
        parts = (node.target, node.annotation if is_computed else None, node.value)
        self._all(filter(None, parts), scope, guarded=guarded)

    def visit_other(self, node: ast.AST, scope: Scope, *, guarded: bool) -> None:
        """Look at an expression, and at all that is in a node."""
        if not guarded and isinstance(node, ast.expr):
            self._expression(node, scope)
        inner = (
            [name for bound in _inner_names(node) for name in _names_bound_by(bound)]
            if isinstance(node, _INNER)
            else []
        )
        self._inner += inner
        self._all(children(node), scope, guarded=guarded)
        del self._inner[len(self._inner) - len(inner) :]

    def _expression(self, node: ast.expr, scope: Scope) -> None:
        if len(self.found) >= ENOUGH:
            return
        if isinstance(node, ast.Call):
            self._look_at_call(node, scope)
        elif not isinstance(getattr(node, "ctx", None), ast.Load):
            return
        elif isinstance(node, ast.Name):
            self._look_at_name(node)
        elif isinstance(node, ast.Subscript):
            self._look_at_key(node, node.value, node.slice, scope)
        elif isinstance(node, ast.Attribute):
            self._look_at_attribute(node, scope)

    def _look_at_call(self, node: ast.Call, scope: Scope) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            self._look_at_key(node, node.func.value, node.args[0], scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _INTO and len(node.args) == 1:
            self._look_at_set(node, node.func, scope)
        tool = self._shapes.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if tool is not None and tool.tool not in self._names_bound_by:
            self._passed |= {id(argument): (node, tool) for argument in node.args}
            self.found += call_mistakes(node, tool, scope, self._shapes)

    def _look_at_set(self, node: ast.Call, method: ast.Attribute, scope: Scope) -> None:
        """Find records that are put into a set, which cannot be: one of their keys can."""
        given = node.args[0]
        record = scope.of(given) if method.attr == "add" else scope.item_of(given)
        key = identity(record)
        name = method.value.id if isinstance(method.value, ast.Name) else ""
        if not key or not name or scope.of(method.value).kind != "set" or name not in self._counted:
            return
        text = ast.unparse(given)
        better = item_text(text, key) if method.attr == "add" else f"[{item_text('each', key)} for each in {text}]"
        self._add(node, "TypeError: unhashable type: 'Record'", item_text(_UNHASHABLE, key), fix(given, better))

    @cached_property
    def _counted(self) -> set[str]:
        """The names of which nothing is used but their length: what is in them does not matter then."""
        fine = {id(node.value) for node in self._nodes if isinstance(node, ast.Attribute) and node.attr in _INTO}
        for node in self._nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
                fine |= {id(argument) for argument in node.args}
        loaded = [item for item in self._nodes if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)]
        return {item.id for item in loaded} - {item.id for item in loaded if id(item) not in fine}

    def _add(self, node: ast.expr, error: str, hint: str, fix: Fix | None = None, begin: str = "") -> None:
        self.found.append(Mistake(node.lineno, error, hint, fix, begin))

    def _look_at_name(self, node: ast.Name) -> None:
        name = node.id
        there = name in self._names_bound_by or name in self._inner or name in self._shapes or self._known(name)
        if not there and not self._makes_names and name not in _OF_CLASSES:
            before = [item for item, line in self._names_bound_by.items() if line < node.lineno]
            hint = which_names(name, before, self._shapes)
            passed = self._passed.get(id(node))
            begin = ""
            if passed:
                begin = beginning(*passed, self._shapes, dict(_constants(self._nodes)))
            self._add(
                node, f"NameError: name {quoted(name)} is not defined", hint, self._instead_of(node, before), begin
            )

    def _instead_of(self, node: ast.Name, before: list[str]) -> Fix | None:
        """Return the fix for a name that is nowhere, among the names that are bound before it."""
        call = self._called.get(id(node))
        lookup = suggest_getter(call, self._shapes) if call else ""
        if call and lookup:
            return fix(call, lookup)
        everything = "" if call else all_of(node.id, before, self._shapes)
        near = "" if everything else likely_name(node.id, before, self._shapes)
        text = ""
        if not near and call and not call.args and not call.keywords:
            text = list_of(node.id, self._shapes)
        if call and text:
            return fix(call, text)
        if everything or near:
            return fix(node, everything or near)
        return None

    def _look_at_key(self, node: ast.expr, value: ast.expr, key: ast.expr, scope: Scope) -> None:
        if self._asks_first or not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return
        kind, text = scope.of(value), ast.unparse(value)
        if kind.kind == "record":
            self._look_for_key(node, value, key.value, f"KeyError: {quoted(key.value)}", scope)
        elif not kind.tool or not isinstance(node, ast.Subscript):
            return
        elif kind.kind == "list":
            hint = f"{_origin_text(kind)} a list: loop over it, or take one item of it"
            self._add(node, f"TypeError: {on_one_line(text, _MAX_TEXT)} is a list and has no {quoted(key.value)}", hint)
        elif kind.kind in _SCALARS:
            problem = f"{on_one_line(text, _MAX_TEXT)} is {kind.kind} and has no {quoted(key.value)}"
            error, whole = f"TypeError: {problem}", self._shapes[kind.tool]
            about = f"{kind.tool}() returns {on_one_line(whole.signature.rpartition('->')[2].strip(), _MAX_TEXT)}"
            if whole.returns.kind == kind.kind:
                self._add(node, error, f"{about}: take it as it is", fix(node, text))
                return
            better = (
                ""
                if names_effect(value, self._shapes)
                else suggest_lookup_by_value(key.value, text, kind, self._shapes)
            )
            if better:
                self._add(node, error, f"{about}; {quoted(key.value)} of it is {better}", fix(node, better))
            else:
                self._add(node, error, f"{about}; what you go over are its keys: use .items(), or do not loop")

    def _look_at_attribute(self, node: ast.Attribute, scope: Scope) -> None:
        kind = UNKNOWN if self._asks_first else scope.of(node.value)
        if kind.kind == "record" and not hasattr(dict, node.attr) and not node.attr.startswith("_"):
            self._look_for_key(
                node, node.value, node.attr, f"AttributeError: this record has no {quoted(node.attr)}", scope
            )
        elif kind.kind == "list" and kind.tool and not hasattr(list, node.attr):
            hint = f"{_origin_text(kind)} a list: loop over it, or take one item of it"
            self._add(node, f"AttributeError: 'list' object has no attribute {quoted(node.attr)}", hint)

    def _is_at_hand(self, name: str, node: ast.expr) -> bool:
        """Return whether a name is bound where something stands: before it, and in the loop that binds it."""
        loops = [item for item in self._nodes if _goes_over(item, name)]
        if loops:
            lines = [(loop.lineno, loop.end_lineno or 0) for loop in loops if isinstance(loop, ast.For)]
            return any(first < node.lineno <= last for first, last in lines)
        return self._names_bound_by.get(name, node.lineno) < node.lineno

    def _look_for_key(self, node: ast.expr, value: ast.expr, key: str, error: str, scope: Scope) -> None:
        kind = scope.of(value)
        if key in kind.keys or key in self._keys or self._adds_keys:
            return
        near = difflib.get_close_matches(key, kind.keys, n=3, cutoff=0.6)
        near += [own for own in kind.keys if own not in near and _is_part(own, key)]
        listed = f"the keys are: {name_list([*near, *(item for item in kind.keys if item not in near)])}"
        text = ast.unparse(value)
        if near:
            self._add(node, error, listed, fix(node, item_text(text, near[0])))
            return
        other = scope.holding(key)
        if other and self._is_at_hand(other, node):
            self._add(node, error, f"{listed}; {quoted(key)} is in {other}", fix(node, item_text(other, key)))
            return
        if names_effect(value, self._shapes):
            self._add(node, error, listed)
            return
        elsewhere, replacement = where_else(key, text, kind, self._shapes)
        self._add(node, error, "; ".join([listed, *elsewhere]), fix(node, replacement) if replacement else None)


def _goes_over(loop: ast.AST, name: str) -> bool:
    target = loop.target if isinstance(loop, (ast.For, ast.comprehension)) else None
    return isinstance(target, ast.Name) and target.id == name


def _is_part(own: str, key: str) -> bool:
    return f"_{key}_".endswith(f"_{own}_") or f"_{own}_".endswith(f"_{key}_") or f"{own}_".startswith(f"{key}_")


_VISITS: dict[type, Callable[..., None]] = {
    ast.FunctionDef: _Check.visit_definition,
    ast.AsyncFunctionDef: _Check.visit_definition,
    ast.ClassDef: _Check.visit_definition,
    ast.AnnAssign: _Check.visit_annotated,
    ast.Try: _Check.visit_try,
    ast.TryStar: _Check.visit_try,
    ast.Import: _Check.visit_import,
    ast.ImportFrom: _Check.visit_import,
    ast.With: _Check.visit_with,
    ast.AsyncWith: _Check.visit_with,
}


def _inner_names(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what binds the names that are only known inside a comprehension or a lambda."""
    if isinstance(node, ast.Lambda):
        yield from (item for item in every(node.args) if isinstance(item, ast.arg))
    for part in getattr(node, "generators", ()):
        yield from (item for item in every(part.target) if isinstance(item, ast.Name))


def _names_bound_by(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    return bound_names(node)


def _name(node: ast.AST) -> tuple[str, ...]:
    return (node.id,) if isinstance(node, ast.Name) else (node.attr,) if isinstance(node, ast.Attribute) else ()


def _constants(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names that hold a text or a number, and how it is written."""
    for node in nodes:
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(value, ast.Constant) and type(value.value) in {int, str}:
            written = literal(value.value) if isinstance(value.value, str) else repr(value.value)
            yield from ((target.id, written) for target in node.targets if isinstance(target, ast.Name))


def _named_keys(node: ast.AST) -> Iterator[str]:
    """Yield the keys that a program looks for, or gives to a dict itself."""
    given: list[ast.expr | None] = []
    if isinstance(node, ast.Compare) and any(isinstance(sign, (ast.In, ast.NotIn)) for sign in node.ops):
        given = [node.left]
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        given = [node.slice]
    elif isinstance(node, ast.Dict):
        given = [*node.keys]
    elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        yield from (keyword.arg for keyword in node.keywords if keyword.arg)
    for item in given:
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value


def _origin_text(kind: Type) -> str:
    return f"{kind.tool}() returns" if kind.tool else "this is"
