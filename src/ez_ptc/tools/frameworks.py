"""Tools as plain functions, for frameworks that read a function's signature and call it."""

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ez_ptc.tools.calls import CallSettings, areturned, returned

if TYPE_CHECKING:
    from ez_ptc.tools.definition import Definition

__all__ = ["annotations_of", "function_of", "mark_coroutine_function", "passed"]


def function_of(tool: "Definition", settings: CallSettings) -> Callable[..., Any]:
    """Return a function that calls a tool: it checks the arguments, asks for approval, and adds the context."""
    signature = tool.read_signature()
    function: Any = (_awaiting if tool.is_async else _calling)(tool, signature, settings)
    function.__name__ = function.__qualname__ = tool.name
    function.__module__ = getattr(tool.function, "__module__", None) or __name__
    function.__doc__ = tool.documentation
    function.__signature__ = signature
    function.__annotations__ = annotations_of(signature)
    return function


def _calling(tool: "Definition", signature: inspect.Signature, settings: CallSettings) -> Callable[..., object]:
    def function(*args: object, **kwargs: object) -> object:
        return returned(tool, *passed(signature, args, kwargs), settings)

    return function


def _awaiting(
    tool: "Definition", signature: inspect.Signature, settings: CallSettings
) -> Callable[..., Awaitable[object]]:
    async def function(*args: object, **kwargs: object) -> object:
        return await areturned(tool, *passed(signature, args, kwargs), settings)

    return function


def annotations_of(signature: inspect.Signature) -> dict[str, Any]:
    """Return the annotations that a function of this signature has."""
    named = {name: each.annotation for name, each in signature.parameters.items()}
    named["return"] = signature.return_annotation
    return {name: annotation for name, annotation in named.items() if annotation is not inspect.Parameter.empty}


def passed(
    signature: inspect.Signature, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Sequence[object], dict[str, object]]:
    """Return the arguments that somebody passed; a framework fills in the defaults that it has read as well.

    A default need not be of its parameter's type, and the checks would refuse it. LangChain has one argument for all
    those that Python cannot name, under the name that the signature has for them.
    """
    values = dict(kwargs)
    positional = [each.name for each in signature.parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
    if len(args) <= len(positional) and values.keys().isdisjoint(positional[: len(args)]):
        args, values = (), {**dict(zip(positional, args, strict=False)), **values}
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            others = values.pop(parameter.name, None)
            values |= cast("dict[str, object]", others) if isinstance(others, dict) else {}
        elif parameter.name in values and values[parameter.name] is parameter.default:
            del values[parameter.name]
    return args, values


def mark_coroutine_function(thing: object) -> None:
    """Have `inspect.iscoroutinefunction` say yes to an object whose calls give coroutines.

    A framework that takes it for a plain function returns the coroutine, which never runs, as the tool's result.
    """
    if sys.version_info >= (3, 12):
        inspect.markcoroutinefunction(thing)
    else:  # there, it is asked of the code of what looks like a function
        vars(thing).update(__code__=areturned.__code__, __defaults__=None, __kwdefaults__=None)
