"""Checking a program before it runs: undefined names, invalid tool calls, unknown result keys.

Mistakes are found before the first effect, and reported as the failing program would, with more help to fix them. Code
that cannot be analyzed is not reported, nor is code inside ``try``. This is no security measure.
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
from .signatures import SCALARS
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

# The maximum number of mistakes, since finding suggestions takes the program's time.
ENOUGH = 50
_MAX_TEXT = 100
_GUARDS = frozenset({"suppress", "raises"})
# With these, a program can define names that do not appear in it.
_MAKERS = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "__import__", "compile"})
# With these, a program may know more about a value than this check.
_ASKING = frozenset({"hasattr", "isinstance", "type"})
_OF_CLASSES = frozenset({"__class__", "__module__", "__qualname__"})
_ADDERS = frozenset({"update", "setdefault", "setattr", "fromkeys"})
_INTO = frozenset({"add", "update"})
_UNHASHABLE = "a record is a dict, and cannot be in a set: use one of its values, like row"
_INNER = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def mistakes(tree: ast.Module, shapes: Shapes, known: Callable[[str], bool]) -> list[Mistake]:
    """Return the mistakes of a program with tools, by line.

    Args:
        tree: The program.
        shapes: The available tools, by name.
        known: Whether a name is defined outside the program.
    """
    check = _Check(tree, shapes, known)
    check.look(tree.body, Scope(shapes, changes=check.changes), guarded=False)
    return sorted(check.mistakes, key=lambda mistake: mistake.line)


class _Check:
    def __init__(self, tree: ast.Module, shapes: Shapes, known: Callable[[str], bool]) -> None:
        self.mistakes: list[Mistake] = []
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
        # Names by the line that first binds them.
        self._names_bound_by = dict(sorted(lines, key=lambda line: line[1], reverse=True))
        self._inner: list[str] = []
        self._called = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
        names = {name for node in nodes for name in _name(node)}
        self._makes_names = not _MAKERS.isdisjoint(names) or "*" in self._names_bound_by
        self._handles = not _GUARDS.isdisjoint(names) or any(isinstance(node, ast.ExceptHandler) for node in nodes)
        self._asks_first = not _ASKING.isdisjoint(names)
        self._adds_keys = not _ADDERS.isdisjoint(names)
        self._keys = {key for node in nodes for key in _find_keys(node)}
        self._passed: dict[int, tuple[ast.Call, Shape]] = {}
        self._nodes = nodes
        imported = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__")
        self._postponed = any(alias.name == "annotations" for node in imported for alias in node.names)
        self.changes = find_changes(nodes)

    def look(
        self, body: list[ast.stmt], scope: Scope, *, guarded: bool, arguments: ast.arguments | None = None
    ) -> None:
        """Check the statements of a module or function."""
        scope.read(filter(None, [arguments, *body]))
        self._all(body, scope, guarded=guarded)

    def _all(self, nodes: Iterable[ast.AST], scope: Scope, *, guarded: bool) -> None:
        for node in nodes:
            visit = _VISITS.get(type(node), _Check.visit_other)
            visit(self, node, scope, guarded=guarded)

    def visit_definition(self, node: ast.FunctionDef | ast.ClassDef, scope: Scope, *, guarded: bool) -> None:
        """Check a function or class; its callers may handle exceptions."""
        is_class = isinstance(node, ast.ClassDef)
        arguments = None if is_class else node.args
        inner = Scope(self._shapes, scope, of_class=is_class)
        self.look(node.body, inner, guarded=guarded or self._handles, arguments=arguments)

    def visit_try(self, node: ast.Try, scope: Scope, *, guarded: bool) -> None:
        """Skip code whose exceptions the program handles."""
        self._all(node.body, scope, guarded=guarded or bool(node.handlers))
        self._all([*node.handlers, *node.orelse, *node.finalbody], scope, guarded=guarded)

    def visit_with(self, node: ast.With, scope: Scope, *, guarded: bool) -> None:
        """Skip code whose exceptions a context manager suppresses."""
        managers = (name for item in node.items for child in every(item) for name in _name(child))
        self._all(children(node), scope, guarded=guarded or not _GUARDS.isdisjoint(managers))

    def visit_import(self, node: ast.Import | ast.ImportFrom, scope: Scope, *, guarded: bool) -> None:
        """Report imports of tools, which are already in scope, from modules that do not exist."""
        del scope
        names = [alias.name for alias in node.names]
        module = names[0]
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
        module = module.partition(".")[0]
        tools = [name for name in names if name in self._shapes]
        if guarded or not tools or module in sys.modules or module in sys.stdlib_module_names:
            return
        hint = f"{' and '.join(tools)} can be called without an import"
        error = f"ModuleNotFoundError: No module named {module!r}"
        correction: Fix | None = None
        if tools == names and all(alias.asname in {None, alias.name} for alias in node.names):
            correction = fix(node, "pass")
        self.mistakes.append(Mistake(node.lineno, error, hint, correction))

    def visit_annotated(self, node: ast.AnnAssign, scope: Scope, *, guarded: bool) -> None:
        """Skip annotations that are never evaluated: those of local names, and postponed ones."""
        is_computed = not self._postponed and (scope.outer is None or scope.of_class or not node.simple)
        evaluated: list[ast.expr | None] = [node.target, node.annotation, node.value]
        if not is_computed:
            evaluated.remove(node.annotation)
        self._all(filter(None, evaluated), scope, guarded=guarded)

    def visit_other(self, node: ast.AST, scope: Scope, *, guarded: bool) -> None:
        """Check an expression, or all parts of a node."""
        if not guarded and isinstance(node, ast.expr):
            self._expression(node, scope)
        inner: list[str] = []
        if isinstance(node, _INNER):
            inner = [name for bound in _inner_names(node) for name in _names_bound_by(bound)]
        self._inner += inner
        self._all(children(node), scope, guarded=guarded)
        del self._inner[len(self._inner) - len(inner) :]

    def _expression(self, node: ast.expr, scope: Scope) -> None:
        if len(self.mistakes) >= ENOUGH:
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
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "get" and node.args:
                self._look_at_key(node, node.func.value, node.args[0], scope)
            if node.func.attr in _INTO and len(node.args) == 1:
                self._look_at_set(node, node.func, scope)
        elif isinstance(node.func, ast.Name) and node.func.id not in self._names_bound_by:
            tool = self._shapes.get(node.func.id)
            if tool is not None:
                self._passed |= {id(argument): (node, tool) for argument in node.args}
                self.mistakes += call_mistakes(node, tool, scope, self._shapes)

    def _look_at_set(self, node: ast.Call, method: ast.Attribute, scope: Scope) -> None:
        """Report records put into a set, which is impossible; one of their keys may be meant."""
        if not isinstance(method.value, ast.Name):
            return
        argument = node.args[0]
        if method.attr == "add":
            record = scope.of(argument)
        else:
            record = scope.item_of(argument)
        key = identity(record)
        if not key or scope.of(method.value).kind != "set" or method.value.id not in self._names_only_counted:
            return
        text = ast.unparse(argument)
        if method.attr == "add":
            text = item_text(text, key)
        else:
            text = f"[{item_text('each', key)} for each in {text}]"
        self._add(node, "TypeError: unhashable type: 'Record'", item_text(_UNHASHABLE, key), fix(argument, text))

    @cached_property
    def _names_only_counted(self) -> set[str]:
        """The names used only for their length, so that their contents do not matter."""
        fine = {id(node.value) for node in self._nodes if isinstance(node, ast.Attribute) and node.attr in _INTO}
        for node in self._nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
                fine |= {id(argument) for argument in node.args}
        loads = [node for node in self._nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        return {node.id for node in loads} - {node.id for node in loads if id(node) not in fine}

    def _add(self, node: ast.expr, error: str, hint: str, fix: Fix | None = None, begin: str | None = None) -> None:
        self.mistakes.append(Mistake(node.lineno, error, hint, fix, begin))

    def _look_at_name(self, node: ast.Name) -> None:
        name = node.id
        is_bound = name in self._names_bound_by or name in self._inner or name in self._shapes or self._known(name)
        if is_bound or self._makes_names or name in _OF_CLASSES:
            return
        before = [bound for bound, line in self._names_bound_by.items() if line < node.lineno]
        hint = which_names(name, before, self._shapes)
        begin: str | None = None
        if id(node) in self._passed:
            begin = beginning(*self._passed[id(node)], self._shapes, dict(_constants(self._nodes)))
        correction = self._substitute(node, before)
        self._add(node, f"NameError: name {quoted(name)} is not defined", hint, correction, begin)

    def _substitute(self, node: ast.Name, before: list[str]) -> Fix | None:
        """Return the fix for an undefined name, by one of the names bound before it."""
        call = self._called.get(id(node))
        if call is None:
            name = all_of(node.id, before, self._shapes) or likely_name(node.id, before, self._shapes)
            return fix(node, name)
        lookup = suggest_getter(call, self._shapes)
        if lookup:
            return fix(call, lookup)
        near = likely_name(node.id, before, self._shapes)
        if near:
            return fix(node, near)
        if call.args or call.keywords:
            return None
        return fix(call, list_of(node.id, self._shapes))

    def _look_at_key(self, node: ast.expr, value: ast.expr, key: ast.expr, scope: Scope) -> None:
        if self._asks_first or not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return
        value_type = scope.of(value)
        if value_type.kind == "record":
            self._look_for_key(node, value, key.value, f"KeyError: {quoted(key.value)}", scope)
        elif not value_type.tool or not isinstance(node, ast.Subscript):
            return
        elif value_type.kind == "list":
            hint = f"{value_type.tool}() returns a list: loop over it, or take one item of it"
            text = on_one_line(ast.unparse(value), _MAX_TEXT)
            self._add(node, f"TypeError: {text} is a list and has no {quoted(key.value)}", hint)
        elif value_type.kind in SCALARS:
            self._add_key_of_scalar(node, key.value, value_type)

    def _add_key_of_scalar(self, node: ast.Subscript, key: str, value_type: Type) -> None:
        text = ast.unparse(node.value)
        error = f"TypeError: {on_one_line(text, _MAX_TEXT)} is {value_type.kind} and has no {quoted(key)}"
        tool = self._shapes[value_type.tool]
        origin = f"{tool.tool}() returns {on_one_line(tool.signature.rpartition('->')[2].strip(), _MAX_TEXT)}"
        if tool.returns.kind == value_type.kind:
            self._add(node, error, f"{origin}: take it as it is", fix(node, text))
            return
        lookup: str | None = None
        if not names_effect(node.value, self._shapes):
            lookup = suggest_lookup_by_value(key, text, value_type, self._shapes)
        if lookup:
            self._add(node, error, f"{origin}; {quoted(key)} of it is {lookup}", fix(node, lookup))
        else:
            self._add(node, error, f"{origin}; what you go over are its keys: use .items(), or do not loop")

    def _look_at_attribute(self, node: ast.Attribute, scope: Scope) -> None:
        if self._asks_first:
            return
        value_type = scope.of(node.value)
        if value_type.kind == "record" and not hasattr(dict, node.attr) and not node.attr.startswith("_"):
            error = f"AttributeError: this record has no {quoted(node.attr)}"
            self._look_for_key(node, node.value, node.attr, error, scope)
        elif value_type.kind == "list" and value_type.tool and not hasattr(list, node.attr):
            hint = f"{value_type.tool}() returns a list: loop over it, or take one item of it"
            self._add(node, f"AttributeError: 'list' object has no attribute {quoted(node.attr)}", hint)

    def _is_at_hand(self, name: str, node: ast.expr) -> bool:
        """Return whether a name is bound at a position: before it, and in the loop that binds it."""
        loops = [
            loop
            for loop in self._nodes
            if isinstance(loop, (ast.For, ast.comprehension))
            and isinstance(loop.target, ast.Name)
            and loop.target.id == name
        ]
        if loops:
            lines = [(loop.lineno, loop.end_lineno or 0) for loop in loops if isinstance(loop, ast.For)]
            return any(first < node.lineno <= last for first, last in lines)
        return self._names_bound_by.get(name, node.lineno) < node.lineno

    def _look_for_key(self, node: ast.expr, value: ast.expr, key: str, error: str, scope: Scope) -> None:
        record = scope.of(value)
        if key in record.keys or key in self._keys or self._adds_keys:
            return
        near = difflib.get_close_matches(key, record.keys, n=3, cutoff=0.6)
        near += [name for name in record.keys if name not in near and _is_part(name, key)]
        listed = f"the keys are: {name_list([*near, *(name for name in record.keys if name not in near)])}"
        text = ast.unparse(value)
        if near:
            self._add(node, error, listed, fix(node, item_text(text, near[0])))
            return
        holder = scope.holding(key)
        if holder and self._is_at_hand(holder, node):
            self._add(node, error, f"{listed}; {quoted(key)} is in {holder}", fix(node, item_text(holder, key)))
            return
        if names_effect(value, self._shapes):
            self._add(node, error, listed)
            return
        elsewhere, replacement = where_else(key, text, record, self._shapes)
        self._add(node, error, "; ".join([listed, *elsewhere]), fix(node, replacement))


def _is_part(name: str, key: str) -> bool:
    return f"_{key}_".endswith(f"_{name}_") or f"_{name}_".endswith(f"_{key}_") or f"{name}_".startswith(f"{key}_")


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
    """Yield the nodes that bind names only inside a comprehension or lambda."""
    if isinstance(node, ast.Lambda):
        yield from (argument for argument in every(node.args) if isinstance(argument, ast.arg))
    for generator in getattr(node, "generators", ()):
        yield from (name for name in every(generator.target) if isinstance(name, ast.Name))


def _names_bound_by(node: ast.AST) -> Iterable[str]:
    if not isinstance(node, ast.Name):
        return bound_names(node)
    if isinstance(node.ctx, ast.Load):
        return ()
    return (node.id,)


def _name(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (node.attr,)
    return ()


def _constants(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names of texts and numbers, with their literals."""
    for node in nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        value = node.value.value
        if type(value) in {int, str}:
            text = literal(value) if isinstance(value, str) else repr(value)
            yield from ((target.id, text) for target in node.targets if isinstance(target, ast.Name))


def _find_keys(node: ast.AST) -> Iterator[str]:
    """Yield the keys a program tests for, or sets in a dict itself."""
    keys: list[ast.expr | None] = []
    if isinstance(node, ast.Compare) and any(isinstance(sign, (ast.In, ast.NotIn)) for sign in node.ops):
        keys = [node.left]
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        keys = [node.slice]
    elif isinstance(node, ast.Dict):
        keys = [*node.keys]
    elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        yield from (keyword.arg for keyword in node.keywords if keyword.arg)
    for key in keys:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value
