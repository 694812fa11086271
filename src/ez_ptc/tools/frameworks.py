"""Tools as plain functions, for frameworks that read a function's signature and call it."""

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ez_ptc.tools.calls import CallSettings, areturned, returned

if TYPE_CHECKING:
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["annotations_of", "function_of", "mark_coroutine_function", "passed_by"]

Passed = Callable[[Sequence[object], Mapping[str, object]], tuple[Sequence[object], dict[str, object]]]


def function_of(tool: "Definition", settings: CallSettings) -> Callable[..., Any]:
    """Return a function that calls a tool: it checks the arguments, asks for approval, and adds the context."""
    signature = tool.read_signature()
    function: Any = (_awaiting if tool.is_async else _calling)(tool, passed_by(signature), settings)
    function.__name__ = function.__qualname__ = tool.name
    function.__module__ = getattr(tool.function, "__module__", None) or __name__
    function.__doc__ = tool.documentation
    function.__signature__ = signature
    function.__annotations__ = annotations_of(signature)
    return function


def _calling(tool: "Definition", passed: Passed, settings: CallSettings) -> Callable[..., object]:
    def function(*args: object, **kwargs: object) -> object:
        return returned(tool, *passed(args, kwargs), settings)

    return function


def _awaiting(tool: "Definition", passed: Passed, settings: CallSettings) -> Callable[..., Awaitable[object]]:
    async def function(*args: object, **kwargs: object) -> object:
        return await areturned(tool, *passed(args, kwargs), settings)

    return function


def annotations_of(signature: inspect.Signature) -> dict[str, Any]:
    """Return the annotations that a function of this signature has."""
    named = {name: each.annotation for name, each in signature.parameters.items()}
    named["return"] = signature.return_annotation
    return {name: annotation for name, annotation in named.items() if annotation is not inspect.Parameter.empty}


def passed_by(signature: inspect.Signature) -> Passed:
    """Return what gives the arguments that somebody passed; a framework fills in the defaults that it has read, too.

    A default need not be of its parameter's type, and the checks would refuse it. LangChain has one argument for all
    those that Python cannot name, under the name that the signature has for them.
    """
    parameters = signature.parameters.values()
    positional = tuple(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD)
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    others_name = next((each.name for each in parameters if each.kind is each.VAR_KEYWORD), None)

    def passed(args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Sequence[object], dict[str, object]]:
        values = dict(kwargs)
        if args and len(args) <= len(positional) and values.keys().isdisjoint(positional[: len(args)]):
            args, values = (), {**dict(zip(positional, args, strict=False)), **values}
        if defaults:
            values = {name: value for name, value in values.items() if value is not defaults.get(name, defaults)}
        if others_name in values and isinstance(values[others_name] or {}, dict):
            others = cast("dict[str, object]", values.pop(others_name) or {})
            values = {**values, **others} if values.keys().isdisjoint(others) else {**values, others_name: others}
        return args, values

    return passed


def mark_coroutine_function(thing: object) -> None:
    """Have `inspect.iscoroutinefunction` say yes to an object whose calls give coroutines.

    A framework that takes it for a plain function returns the coroutine, which never runs, as the tool's result.
    """
    if sys.version_info >= (3, 12):
        inspect.markcoroutinefunction(thing)
    else:  # there, it is asked of the code of what looks like a function
        vars(thing).update(__code__=areturned.__code__, __defaults__=None, __kwdefaults__=None)
