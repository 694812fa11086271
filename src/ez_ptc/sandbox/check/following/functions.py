"""Calls of a program's own functions: their bodies are followed at each call, with the types of its arguments."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ...protocol.both_ends.quoting import quoted
from ...protocol.both_ends.types import NONE, UNKNOWN, Type, join
from .environment import Frame
from .names import every, names_bound_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .analysis import Analysis

__all__ = ["ProgramFunction", "arity_problem", "call_function"]

_MAX_DEPTH = 8
Kind = Literal["plain", "async", "generator"]


@dataclass(eq=False, slots=True)
class ProgramFunction:
    """A function or lambda of the program, and the names around it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    outer: Frame
    defaults: Mapping[str, Type]
    is_decorated: bool = False
    bound: frozenset[str] = field(init=False)
    kind: Kind = field(init=False)

    def __post_init__(self) -> None:
        body = self.body
        self.bound = frozenset(names_bound_in([self.node.args, *body]))
        self.kind = "async" if isinstance(self.node, ast.AsyncFunctionDef) else "plain"
        if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for statement in body for node in every(statement)):
            self.kind = "generator"

    @property
    def body(self) -> Sequence[ast.AST]:
        """The statements; the expression of a lambda."""
        return [self.node.body] if isinstance(self.node, ast.Lambda) else self.node.body

    @property
    def name(self) -> str:
        """The name, in messages."""
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name


def arity_problem(function: ProgramFunction, positional: int, named: Sequence[str]) -> str | None:
    """Return what is wrong with the number and names of a call's arguments, as Python says it, or None."""
    parameters = function.node.args
    ordered = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    if positional > len(ordered) and parameters.vararg is None:
        return f"{function.name}() takes {len(ordered)} positional arguments but {positional} were given"
    known = {parameter.arg for parameter in (*parameters.args, *parameters.kwonlyargs)}
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None and parameters.kwarg is None:
        return f"{function.name}() got an unexpected keyword argument {quoted(unknown)}"
    twice = next((name for name in named if name in ordered[:positional]), None)
    if twice is not None and twice in known:
        return f"{function.name}() got multiple values for argument {quoted(twice)}"
    required = ordered[positional : len(ordered) - len(parameters.defaults)]
    required += [
        item.arg for item, value in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if value is None
    ]
    missing = [name for name in required if name not in named]
    if missing:
        return f"{function.name}() missing {len(missing)} required arguments: {' and '.join(map(quoted, missing))}"
    return None


def call_function(
    run: Analysis, function: ProgramFunction, arguments: Sequence[Type] | None, named: Mapping[str, Type]
) -> Type:
    """Follow a call of a function, and return its result; `arguments` are None where they are not known."""
    if function.is_decorated:
        arguments = None
    frame = Frame(function.bound, function.outer, owner=function)
    types = _parameter_types(function, arguments, named)
    state = (types, run.state)
    results = run.calls.setdefault(function.node, [])
    known = next((result for before, result in results if before == state), None)
    if known is not None:
        return known
    if len(run.stack) >= _MAX_DEPTH or function.node in run.stack:
        return UNKNOWN
    run.stack.append(function.node)
    run.frame, outer = frame, run.frame
    for name, value in types.items():
        run.bind_name(name, value)
    with run.silence(silent=function.kind == "generator" or function.is_decorated):
        if isinstance(function.node, ast.Lambda):
            frame.results.append(run.of(function.node.body))
        elif run.execute(function.node.body):
            frame.results.append(NONE)
    run.frame = outer
    run.stack.pop()
    result = join(frame.results)
    if function.is_decorated or function.kind == "generator":
        result = UNKNOWN
    elif function.kind == "async":
        result = Type("coroutine", item=result)
    results.append((state, result))
    return result


def _parameter_types(
    function: ProgramFunction, arguments: Sequence[Type] | None, named: Mapping[str, Type]
) -> dict[str, Type]:
    parameters = function.node.args
    ordered = [*parameters.posonlyargs, *parameters.args]
    every_one = (*ordered, *parameters.kwonlyargs, parameters.vararg, parameters.kwarg)
    types = {parameter.arg: UNKNOWN for parameter in every_one if parameter is not None}
    if arguments is None:
        return types
    types |= function.defaults
    types |= {parameter.arg: value for parameter, value in zip(ordered, arguments, strict=False)}
    types |= {name: value for name, value in named.items() if name in types}
    for rest, type_name in ((parameters.vararg, "tuple"), (parameters.kwarg, "dict")):
        if rest is not None:
            types[rest.arg] = Type(type_name, site=rest)
    return types
