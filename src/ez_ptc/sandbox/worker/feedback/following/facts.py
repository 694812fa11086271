"""What a program says anywhere, whatever way it takes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from itertools import islice

from ...quoting import literal
from .names import bound_names, children, every

__all__ = ["Facts", "TooLongError", "read_facts"]

_MAX_NODES = 2_500
_GUARDS = frozenset({"suppress", "raises"})
# Functions that start a coroutine without waiting for it.
_STARTERS = frozenset({"create_task", "ensure_future"})
# With these, a program can bind names that do not appear in it.
_MAKERS = frozenset({"exec", "eval", "globals", "locals", "vars"})


class TooLongError(Exception):
    """The program is too long to be checked."""


@dataclass(slots=True)
class Facts:
    """What is known of a program before it is followed.

    `bound` has the lines at which names are bound first (not those of comprehensions and lambdas), `called` and
    `passed` the calls by the identity of their function and arguments, `texts` all texts but keys that are read,
    `declared` the names that a function takes from outside, `constants` texts and numbers by their names, `deferred`
    the expressions whose values are kept: a coroutine or generator among them fails elsewhere, where it is used.
    """

    bound: dict[str, int] = field(default_factory=dict[str, int])
    texts: set[str] = field(default_factory=set[str])
    shared_names: set[str] = field(default_factory=set[str])
    declared: dict[object, frozenset[str]] = field(default_factory=dict[object, frozenset[str]])
    called_attributes: set[str] = field(default_factory=set[str])
    called: dict[int, ast.Call] = field(default_factory=dict[int, ast.Call])
    passed: dict[int, ast.Call] = field(default_factory=dict[int, ast.Call])
    constants: dict[str, str] = field(default_factory=dict[str, str])
    deferred: set[int] = field(default_factory=set[int])
    handles: bool = False
    has_exits: bool = False
    makes_names: bool = False
    postpones_annotations: bool = False


def read_facts(tree: ast.Module) -> Facts:
    """Return the facts of a program.

    Raises TooLongError for one with too many nodes to follow in time.
    """
    facts = Facts()
    inner: set[int] = set()
    nodes = list(islice(every(tree), _MAX_NODES))
    if len(nodes) == _MAX_NODES:
        raise TooLongError
    for node in nodes:
        line = getattr(node, "lineno", 0)
        if isinstance(node, (ast.comprehension, ast.Lambda)):
            inner |= {id(name) for name in every(node.target if isinstance(node, ast.comprehension) else node.args)}
        for name in bound_names(node) if id(node) not in inner else ():
            facts.bound[name] = min(line, facts.bound.get(name, line))
        _read_node(facts, node)
    read_keys = {node.slice for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)}
    texts = {node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    facts.texts = {str(node.value) for node in texts - read_keys}
    facts.makes_names |= "*" in facts.bound
    facts.has_exits = not {"__exit__", "__aexit__", "contextmanager", "asynccontextmanager"}.isdisjoint(
        {*facts.bound, *facts.called_attributes}
    )
    return facts


def _read_node(facts: Facts, node: ast.AST) -> None:
    if isinstance(node, ast.Name):
        facts.makes_names |= node.id in _MAKERS
        facts.handles |= node.id in _GUARDS
    elif isinstance(node, ast.Call):
        _read_call(facts, node)
    elif isinstance(node, ast.Attribute):
        facts.called_attributes.add(node.attr)
        facts.handles |= node.attr in _GUARDS
    elif not isinstance(node, ast.Constant):
        _read_statement(facts, node)


def _read_call(facts: Facts, node: ast.Call) -> None:
    facts.called[id(node.func)] = node
    facts.passed |= {id(argument): node for argument in node.args}
    returns_errors = any(keyword.arg == "return_exceptions" for keyword in node.keywords)
    facts.handles |= returns_errors
    if returns_errors or getattr(node.func, "attr", "") in _STARTERS:
        facts.deferred.update(map(id, node.args))


def _read_statement(facts: Facts, node: ast.AST) -> None:
    if isinstance(node, (ast.List, ast.Tuple)):
        facts.deferred.update(map(id, node.elts))
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        facts.deferred.add(id(node.elt))
    elif isinstance(node, (ast.Assign, ast.NamedExpr)):
        facts.deferred.add(id(node.value))
    if isinstance(node, ast.ExceptHandler):
        facts.handles = True
    elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
        facts.postpones_annotations |= any(alias.name == "annotations" for alias in node.names)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        names = {
            name for inner in _own_nodes(node) if isinstance(inner, (ast.Global, ast.Nonlocal)) for name in inner.names
        }
        facts.declared[node] = frozenset(names)
        facts.shared_names |= names
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) in {int, str}:
        value = node.value.value
        text = literal(value) if isinstance(value, str) else repr(value)
        facts.constants.update((target.id, text) for target in node.targets if isinstance(target, ast.Name))


def _own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.AST]:
    nodes: list[ast.AST] = [*function.body]
    for node in nodes:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            nodes += children(node)
    return nodes
