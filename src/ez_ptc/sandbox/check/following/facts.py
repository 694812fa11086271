"""What a program says anywhere, whatever way it takes."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...protocol.both_ends.quoting import literal
from .names import bound_names, called_name, children, every

__all__ = ["Facts", "TooLongError", "read_facts"]

_MAX_NODES = 2_500
# `exception` is the method of futures and tasks that returns their error.
_GUARDS = frozenset({"suppress", "raises", "exception"})
# Functions that start a coroutine without waiting for it.
_STARTERS = frozenset({"create_task", "ensure_future"})
_EXITS = frozenset({"__exit__", "__aexit__", "contextmanager", "asynccontextmanager"})
# With these, a program can bind names that do not appear in it.
_MAKERS = frozenset({"exec", "eval", "globals", "locals", "vars"})


class TooLongError(Exception):
    """The program is too long to be checked."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a program before it is followed.

    `bound` has the lines at which names are bound first (not those of comprehensions and lambdas), `called` and
    `passed` the calls by the identity of their function and arguments, `attributes` those that are read, by that of
    their owner, `texts` all texts but keys that are read, `declared` the names that a function takes from outside,
    `keys_set` the keys and attributes that are set anywhere, `constants` texts and numbers by their names, `loops` what
    loops go over, by the name they bind, `deferred` the expressions whose values are kept: a coroutine or generator
    among them fails elsewhere, where it is used.
    """

    bound: dict[str, int]
    texts: set[str]
    declared: dict[object, frozenset[str]]
    shared_names: frozenset[str]
    keys_set: set[str]
    called_attributes: set[str]
    called: dict[int, ast.Call]
    passed: dict[int, ast.Call]
    attributes: dict[int, ast.Attribute]
    constants: dict[str, str]
    loops: dict[str, list[ast.expr]]
    deferred: set[int]
    handles: bool
    has_exits: bool
    makes_names: bool


def read_facts(tree: ast.Module) -> Facts:
    """Return the facts of a program.

    Raises TooLongError for one with too many nodes to follow in time.
    """
    everything = list(islice(every(tree), _MAX_NODES))
    if len(everything) == _MAX_NODES:
        raise TooLongError
    nodes: dict[type, list[Any]] = defaultdict(list)
    for node in everything:
        nodes[type(node)].append(node)
    bound = _first_lines(everything, [*nodes[ast.comprehension], *nodes[ast.Lambda]])
    calls: list[ast.Call] = nodes[ast.Call]
    collecting = [call for call in calls if any(keyword.arg == "return_exceptions" for keyword in call.keywords)]
    values = [node.value for node in (*nodes[ast.Assign], *nodes[ast.NamedExpr])]
    values += [node.elt for node in (*nodes[ast.ListComp], *nodes[ast.GeneratorExp])]
    values += [item for node in (*nodes[ast.List], *nodes[ast.Tuple]) for item in node.elts]
    values += [item for call in calls if call in collecting or called_name(call) in _STARTERS for item in call.args]
    names = {node.id for node in nodes[ast.Name]}
    attributes = {node.attr for node in nodes[ast.Attribute]}
    read_keys = {node.slice for node in nodes[ast.Subscript] if isinstance(node.ctx, ast.Load)}
    declared = {node: _declared(node) for node in (*nodes[ast.FunctionDef], *nodes[ast.AsyncFunctionDef])}
    return Facts(
        bound=bound,
        texts={node.value for node in nodes[ast.Constant] if type(node.value) is str and node not in read_keys},
        declared=declared,
        keys_set=_keys_set([*nodes[ast.Attribute], *nodes[ast.Subscript]]),
        shared_names=frozenset[str]().union(*declared.values()),
        called_attributes=attributes,
        called={id(call.func): call for call in calls},
        passed={id(argument): call for call in calls for argument in call.args},
        attributes={id(node.value): node for node in nodes[ast.Attribute] if isinstance(node.ctx, ast.Load)},
        constants=_constants(nodes[ast.Assign]),
        loops=_loops([*nodes[ast.For], *nodes[ast.AsyncFor], *nodes[ast.comprehension]]),
        deferred=set(map(id, values)),
        handles=bool(collecting or nodes[ast.ExceptHandler] or _GUARDS & (names | attributes)),
        has_exits=bool(_EXITS & {*bound, *attributes}),
        makes_names=bool(_MAKERS & names) or "*" in bound,
    )


def _constants(assignments: list[ast.Assign]) -> dict[str, str]:
    """Return the texts and whole numbers that are bound to names, as literals."""
    return {
        target.id: literal(node.value.value) if type(node.value.value) is str else repr(node.value.value)
        for node in assignments
        if isinstance(node.value, ast.Constant) and type(node.value.value) in {int, str}
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _loops(loops: list[ast.For | ast.AsyncFor | ast.comprehension]) -> dict[str, list[ast.expr]]:
    """Return the iterated expressions of loops, by the bound name."""
    iterated: dict[str, list[ast.expr]] = {}
    for loop in loops:
        if isinstance(loop.target, ast.Name):
            iterated.setdefault(loop.target.id, []).append(loop.iter)
    return iterated


def _keys_set(nodes: list[ast.Attribute | ast.Subscript]) -> set[str]:
    """Return the attributes and constant keys that are set."""
    keys: set[str] = set()
    for node in nodes:
        if isinstance(node.ctx, ast.Store) and isinstance(node, ast.Attribute):
            keys.add(node.attr)
        elif (
            isinstance(node.ctx, ast.Store) and isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        ):
            keys.add(str(node.slice.value))
    return keys


def _first_lines(nodes: list[ast.AST], inner: list[ast.comprehension | ast.Lambda]) -> dict[str, int]:
    """Return the lines at which names are bound first, but for those of comprehensions and lambdas."""
    targets = [node.target if isinstance(node, ast.comprehension) else node.args for node in inner]
    omitted = {id(name) for target in targets for name in every(target)}
    lines: dict[str, int] = {}
    for node in nodes:
        for name in bound_names(node) if id(node) not in omitted else ():
            line = getattr(node, "lineno", 0)
            lines[name] = min(line, lines.get(name, line))
    return lines


def _declared(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Return the names that a function takes from outside, without the functions in it."""
    nodes: list[ast.AST] = [*function.body]
    for node in nodes:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            nodes += children(node)
    return frozenset(name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names)
