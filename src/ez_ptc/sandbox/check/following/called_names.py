"""The names a program uses as functions: itself, or by definitions of earlier programs of its session."""

from __future__ import annotations

import ast
import functools
import linecache
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

from .names import called_name, every, names_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["names_called_by"]

# Functions and methods that call a function they are passed.
_CALLERS = frozenset(
    {"apply", "call_soon", "filter", "map", "max", "min", "parallel", "partial", "reduce", "run_in_executor", "sort"}
    | {"sorted", "starmap", "submit", "Thread", "to_thread"}
)
# What returns the elements of the collection that it is a method of, or gets.
_ELEMENTS = frozenset(
    {"get", "items", "pop", "values", "enumerate", "iter", "list", "next", "reversed", "tuple", "zip"}
)
_DISPLAYS = (ast.Dict, ast.List, ast.Set, ast.Tuple)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def names_called_by(tree: ast.Module, namespace: Mapping[str, object]) -> set[str]:
    """Return the names a program uses as functions, also by the functions and classes of its namespace."""
    called, seen = _names_called_in(tree), set[str]()
    pending = names_in(tree)
    while names := pending - seen:
        seen |= names
        pending = set[str]()
        for function in _functions_of(map(namespace.get, names)):
            if (node := _definition_of(function)) is not None:
                called |= _names_called_in(node)
                pending |= names_in(node)
    return called


def _functions_of(values: Iterable[object]) -> Iterator[FunctionType]:
    """Yield the functions among values, and those of their classes, without running code of these."""
    for value in values:
        if isinstance(value, functools.partial):
            yield from _functions_of([cast("Any", value).func])
        elif type(value) is MethodType:
            yield from _functions_of([value.__func__, value.__self__])
        elif type(value) is FunctionType:
            yield value
        else:
            cls: type[object] = value if isinstance(value, type) else type(value)
            if vars(cls).get("__module__") == "__main__":
                members = (getattr(member, "__func__", member) for member in vars(cls).values())
                yield from (member for member in members if type(member) is FunctionType)


def _definition_of(function: FunctionType) -> ast.AST | None:
    """Return the definition of a function in the text of its program."""
    code = function.__code__
    tree = _parsed("".join(linecache.getlines(code.co_filename)))
    for node in every(tree):
        if isinstance(node, _FUNCTIONS):
            lines = [node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))]
            if min(lines) == code.co_firstlineno and getattr(node, "name", "<lambda>") == code.co_name:
                return node
    return None


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # it was no text of a program
        return ast.Module([], [])


def _names_called_in(tree: ast.AST) -> set[str]:
    """Return the names called in a tree, directly, by functions such as `map`, or through other names."""
    called: set[str] = set()
    flows: list[tuple[set[str], set[str]]] = []
    for node in every(tree):
        if isinstance(node, ast.Call):
            called |= _names_held(node.func)
            if called_name(node) in _CALLERS:
                called |= names_in(node)
        flows += _flows_of(node)
    while more := {name for targets, names in flows if targets & called for name in names} - called:
        called |= more
    return called


def _flows_of(node: ast.AST) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the names bound by a node, with those of the values bound to them."""
    if isinstance(node, ast.Assign):
        yield set().union(*map(names_in, node.targets)), _names_held(node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield names_in(node.target), _names_held(node.value)
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield names_in(node.target), _names_held(node.iter)
    elif isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        defaults = [*zip(reversed(positional), reversed(node.defaults), strict=False)]
        for argument, default in [*defaults, *zip(node.kwonlyargs, node.kw_defaults, strict=True)]:
            if default is not None:
                yield {argument.arg}, _names_held(default)


def _names_held(node: ast.AST) -> set[str]:
    """Return the names of an expression's value, or of its elements."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, _DISPLAYS):
        values = node.values if isinstance(node, ast.Dict) else node.elts
        return {value.id for value in values if isinstance(value, ast.Name)}
    if isinstance(node, ast.Subscript):
        return _names_held(node.value)
    if isinstance(node, ast.Call) and called_name(node) in _ELEMENTS:
        collections = [node.func.value] if isinstance(node.func, ast.Attribute) else node.args
        return set[str]().union(*map(_names_held, collections))
    return set()
