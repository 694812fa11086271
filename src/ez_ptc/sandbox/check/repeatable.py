"""Whether a failed program makes the same calls if it runs again, so that none of their effects is doubled."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["is_repeatable", "names_read_first"]

# What gives another value each time: modules, functions by any name, and those that are no attributes of records.
_VARYING_MODULES = frozenset({"random", "secrets", "uuid"})
_VARYING_NAMES = """
    __import__ asctime ctime default_rng gmtime import_module localtime monotonic monotonic_ns now perf_counter
    perf_counter_ns process_time random time_ns today urandom utcnow uuid1 uuid4
"""
_VARYING_CALLS = frozenset({"hash", "id", "input", "time"})
_CHANGING_NAMES = """
    __next__ __setitem__ add appendleft append clear difference_update discard extend extendleft heapify
    heappop heappush insert intersection_update next pop popitem popleft remove reverse send setattr
    setdefault shuffle sort symmetric_difference_update update
"""
_VARYING, _CHANGING = frozenset(_VARYING_NAMES.split()), frozenset(_CHANGING_NAMES.split())
_FRESH = (ast.Dict, ast.DictComp, ast.JoinedStr, ast.List, ast.ListComp, ast.Set, ast.SetComp)
_FRESH_CALLS = frozenset({"Counter", "OrderedDict", "defaultdict", "deque", "dict", "list", "set", "sorted"})
_PLAIN = frozenset({"Record", "Results", "NoneType", "bool", "dict", "float", "int", "list", "str", "tuple"})


def is_repeatable(tree: ast.Module, older: Mapping[str, object], tools: Collection[str]) -> bool:
    """Return whether a program passes the same arguments to its calls if it starts again.

    Args:
        tree: The program.
        older: The variables that a session had before it. The program may read plain ones and change none: they are
            changed already.
        tools: The names of the tools.
    """
    nodes = [*ast.walk(tree)]
    if any(map(_varies, nodes)):
        return False
    used = names_read_first(tree.body).intersection(older).difference(tools)
    if not used:
        return True
    if not used.isdisjoint(_stored(tree)):
        return False
    return all(type(older[name]).__name__ in _PLAIN for name in used) and not _changes_something(nodes)


def _varies(node: ast.AST) -> bool:
    """Return whether a node stands for another value each time."""
    match node:
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] in _VARYING_MODULES for alias in names)
        case ast.ImportFrom(module=module, names=names):
            is_clock = module == "time" and any(alias.name == "time" for alias in names)
            return is_clock or module in _VARYING_MODULES or any(alias.name in _VARYING for alias in names)
        case ast.Call(func=ast.Name(id=name)) | ast.Attribute(value=ast.Name(id="time"), attr=name):
            return name in _VARYING_CALLS or name in _VARYING
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _VARYING
        case _:
            return False


def names_read_first(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names read by statements before they are certain to be bound."""
    read: set[str] = set()
    bound: set[str] = set()
    for statement in body:
        inside: set[str] = set()
        for node in ast.walk(statement):
            if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                inside |= _stored(node.target)
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        loads = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        sums = [node.target for node in ast.walk(statement) if isinstance(node, ast.AugAssign)]
        loads |= {target.id for target in sums if isinstance(target, ast.Name)}
        read |= loads - inside - bound
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            bound |= _stored(statement)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(statement.name)
    return read


def _stored(node: ast.AST) -> set[str]:
    names = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _changes_something(nodes: Iterable[ast.AST]) -> bool:
    """Return whether nodes may change a value not made by the program itself."""
    fresh: set[str] = set()
    changed: list[ast.AST] = []
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_fresh(node.value):
            fresh |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Assign):
            changed += (target for target in node.targets if isinstance(target, ast.Name) and target.id in fresh)
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id in _CHANGING:
                changed += node.args[:1]
            if isinstance(function, ast.Attribute) and function.attr in _CHANGING:
                changed.append(function.value)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            changed.append(node.value)
    return any(not isinstance(node, ast.Name) or node.id not in fresh for node in changed)


def _is_fresh(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _FRESH_CALLS
    return isinstance(value, _FRESH)
