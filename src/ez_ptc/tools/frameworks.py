"""Tools as plain functions, for frameworks that read a function's signature and call it."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.partials import has_bound_arguments
from ez_ptc.schema.safe_repr import safe_names
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.calls import acall_tool, call_tool

if TYPE_CHECKING:
    from ez_ptc.tools.definitions.definition import Definition

__all__ = [
    "PlainCall",
    "as_plain_function",
    "mark_coroutine_function",
    "passed_arguments",
    "shows_parameters",
    "signature_annotations",
    "unchecked_function",
]

F = TypeVar("F", bound=Callable[..., Any])

_Selector = Callable[[Sequence[object], Mapping[str, object]], tuple[Sequence[object], dict[str, object]]]


def as_plain_function(tool: "Definition", settings: CallSettings) -> Callable[..., Any]:
    """Return a function that calls a tool: it checks the arguments, asks for approval and adds the context."""
    signature = tool.read_signature()
    select = passed_arguments(signature)

    def call(*args: object, **kwargs: object) -> object:
        return call_tool(tool, *select(args, kwargs), settings)

    async def acall(*args: object, **kwargs: object) -> object:
        return await acall_tool(tool, *select(args, kwargs), settings)

    return _give_signature(acall if tool.is_async else call, tool, signature)


def unchecked_function(tool: "Definition") -> Callable[..., Any]:
    """Return a tool's function, in a form whose signature and annotations can be read of it."""
    target: Callable[..., Any] = tool.function
    if inspect.isroutine(target) and not has_bound_arguments(target):
        return target

    def call(*args: object, **kwargs: object) -> object:
        return target(*args, **kwargs)

    async def acall(*args: object, **kwargs: object) -> Any:  # noqa: ANN401 - what the function returns
        return await target(*args, **kwargs)

    return _give_signature(acall if tool.returns_coroutine else call, tool, tool.read_signature())


class PlainCall:
    """The `__call__` of tools: a function with the tool's parameters.

    Frameworks read the signature of a callable object from its `__call__`; that of a method has none of the parameters.
    """

    def __call__(self, tool: Any, /, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - what the tool returns
        """Call a tool as `Tool.__call__(tool, ...)`."""
        return tool.__call__(*args, **kwargs)

    def __get__(self, tool: Any, owner: type[object]) -> Any:  # noqa: ANN401 - itself, or a function of any signature
        if tool is None:
            return self
        # Those of guarded tools are not stored, because most are never called so, and a server may have thousands.
        return tool._plain_call or as_plain_function(tool._definition, tool._settings)  # noqa: SLF001 - of the tool


def _give_signature(
    function: Any,  # noqa: ANN401 - a function that gets attributes
    tool: "Definition",
    signature: inspect.Signature,
) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = tool.name
    function.__module__ = getattr(tool.function, "__module__", None) or __name__
    function.__doc__ = tool.documentation
    function.__signature__ = signature
    function.__annotations__ = signature_annotations(signature)
    return function


def signature_annotations(signature: inspect.Signature) -> dict[str, Any]:
    """Return the `__annotations__` of a function with this signature."""
    annotations = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    annotations["return"] = signature.return_annotation
    return {name: value for name, value in annotations.items() if value is not inspect.Parameter.empty}


def passed_arguments(signature: inspect.Signature) -> _Selector:
    """Return a function that drops the defaults a framework has filled in from the signature.

    A default need not have its parameter's type, so the argument check could refuse it. LangChain passes the arguments
    with names Python cannot write in one dict, named like the signature's `**` parameter; they are unpacked.
    """
    parameters = signature.parameters.values()
    positional = tuple(item.name for item in parameters if item.kind is item.POSITIONAL_OR_KEYWORD)
    defaults = {item.name: item.default for item in parameters if item.default is not item.empty}
    extra_name = next((item.name for item in parameters if item.kind is item.VAR_KEYWORD), None)

    def select(args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Sequence[object], dict[str, object]]:
        values = dict(kwargs)
        if args and len(args) <= len(positional) and values.keys().isdisjoint(positional[: len(args)]):
            args, values = (), {**dict(zip(positional, args, strict=False)), **values}
        if defaults:
            # By identity: a caller may pass an equal value deliberately.
            values = {name: value for name, value in values.items() if value is not defaults.get(name, defaults)}
        if extra_name in values and isinstance(values[extra_name] or {}, dict):
            extra = cast("dict[str, object]", values.pop(extra_name) or {})
            if repeated := values.keys() & extra:
                problem = f"unknown argument {extra_name!r}, which repeats {safe_names(sorted(repeated))}"
                raise ArgumentsError(problem, problems=[problem])
            values.update(extra)
        return args, values

    return select


def shows_parameters(*names: str) -> Callable[[F], F]:
    """Decorate a method that takes its parameters in several forms, so that `help` shows those of one."""
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    parameters.append(inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD))

    def decorate(method: F) -> F:
        vars(method)["__signature__"] = inspect.Signature(parameters)
        return method

    return decorate


def mark_coroutine_function(instance: object) -> None:
    """Make `inspect.iscoroutinefunction` return True for an object whose calls return coroutines.

    A framework would otherwise take the coroutine, never awaited, for the tool's result.
    """
    if sys.version_info >= (3, 12):
        # The mark is an attribute, which a frozen instance does not let others set.
        vars(instance).update(vars(inspect.markcoroutinefunction(lambda: None)))
    else:  # Python 3.11 looks at the code of anything that resembles a function
        vars(instance).update(__code__=acall_tool.__code__, __defaults__=None, __kwdefaults__=None)
