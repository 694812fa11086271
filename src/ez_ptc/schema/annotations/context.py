"""Parameters filled by the host and hidden from models: `session: Context[Session]`."""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    NewType,
    NoReturn,
    Protocol,
    Union,
    get_args,
    get_origin,
)

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.partials import open_signature
from ez_ptc.schema.annotations.progress import REPORT, ignore_progress
from ez_ptc.schema.annotations.resolution import alias_value, innermost, is_stand_in, names_around, resolve_leniently
from ez_ptc.schema.safe_repr import safe_repr_with_type

__all__ = [
    "NO_CONTEXT",
    "RUNNING_CALL",
    "Context",
    "ContextParameter",
    "RunningCall",
    "context_arguments",
    "context_names",
    "context_parameter",
    "includes",
    "is_context",
    "takes_none",
]


class _Marker:
    def __repr__(self) -> str:
        return "Context"

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> NoReturn:
        """Refuse to be part of another type: there, the model would fill it unnoticed."""
        message = (
            "Context marks parameters of the function itself, and not what lies within their types: make it a "
            "parameter, as in `def pay(order: Order, user: Context[User])`"
        )
        raise SchemaError(message)


class _NoContext:
    def __repr__(self) -> str:
        return "NO_CONTEXT"


_MARKER: Final = _Marker()
_EMPTY: Final = inspect.Parameter.empty
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_QUALIFIERS: Final = (typing.Final, typing.ClassVar)


class RunningCall(Protocol):
    """A call whose function is running."""

    @property
    def idempotency_key(self) -> str:
        """The same text each time this call is repeated, and another for every other call."""
        ...


RUNNING_CALL: Final[ContextVar[RunningCall | None]] = ContextVar("ez_ptc_running_call", default=None)
"""The call whose function is running."""

if TYPE_CHECKING:
    import typing_extensions

    T = typing_extensions.TypeVar("T", default=Any)
    Context = Annotated[T, _MARKER]
else:

    class _ContextClass(type):
        @property
        def idempotency_key(cls) -> str | None:
            """The key of the running call: the same if it is repeated after a crash. None outside of calls."""
            call = RUNNING_CALL.get()
            return None if call is None else call.idempotency_key

        @property
        def progress(cls) -> Callable[..., None]:
            """The function for the progress of the running call: `Context.progress(done, total, message)`.

            `total` and `message` may be left out. Taken in the call, it may be used in any thread. No one reads it
            outside of calls, or after their end.
            """
            return REPORT.get() or ignore_progress

        def __getitem__(cls, item: Any) -> Any:  # noqa: ANN401 - any type
            return Annotated[item, _MARKER]

    class Context(metaclass=_ContextClass):
        """Marks a parameter filled by the host: `def buy(item: str, session: Context[Session])` gets the Session.

            @ez_tool
            def greet(user: Context[str]) -> str:
                "Greet the user."
                return f"Hello {user}"

            print(greet.call({}, context="Ada"))

        The host passes it to the call, `tool.call(arguments, context=session)`; the model does not know of it. A
        parameter annotated with `Context` alone gets this class if the host passes nothing. `Context.idempotency_key`
        is a text that stays the same if the running call is repeated after a crash, and `Context.progress(done, total,
        message)` reports how far it is.
        """

        __get_pydantic_core_schema__ = _MARKER.__get_pydantic_core_schema__


# The default of `context`: the host passes none.
NO_CONTEXT: Final = _NoContext()


def is_context(annotation: object) -> bool:
    """Return whether the host fills a parameter with this annotation.

    `Context` may be within `Annotated`, a union, a type alias or a NewType, even without a type of its own. Resolve
    textual annotations first.
    """
    if annotation is Context:
        return True
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        is_marked = any(argument is _MARKER or argument is Context for argument in arguments[1:])
        return is_marked or is_context(arguments[0])
    if origin in (Union, UnionType):
        return any(map(is_context, arguments))
    if origin in _QUALIFIERS:
        return is_context(arguments[0])
    if _is_alias(origin or annotation):
        return is_context(alias_value(origin or annotation))
    return isinstance(annotation, NewType) and is_context(annotation.__supertype__)


def takes_none(annotation: object) -> bool:
    """Return whether a type includes None, such as `int | None`."""
    return includes(annotation, NoneType)


def includes(annotation: object, kind: type) -> bool:
    """Return whether a type is a class, or one of its choices is, as in `Annotated[int | None, ...]` for None."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return includes(arguments[0], kind)
    if origin in (Union, UnionType):
        return any(includes(argument, kind) for argument in arguments)
    if _is_alias(origin or annotation):
        return includes(alias_value(origin or annotation), kind)
    return (NoneType if annotation is None else annotation) is kind


def _is_alias(kind: object) -> bool:
    # By name, because typing_extensions, which has one for older Pythons, is slow to import.
    return type(kind).__name__ == "TypeAliasType"


class ContextParameter(NamedTuple):
    """A parameter that the host fills: its annotation, and its default, which is `Parameter.empty` if it must."""

    annotation: object
    default: object

    def check(self, tool: str, name: str, context: object) -> None:
        """Raise TypeError, a mistake of the host, for a context of another type than the annotation's, except None."""
        # As far as a glance can say: anything but classes accepts it.
        if context is None or any(_is_of(alternative, context) for alternative in _alternatives(self.annotation)):
            return
        expected_type = self.annotation
        if get_origin(expected_type) is Annotated:
            expected_type = get_args(expected_type)[0]
        expected = str(expected_type)
        if isinstance(expected_type, type) and not get_args(expected_type):
            expected = expected_type.__name__
        message = (
            f"{tool}: expected the context of its parameter {name!r} to be {expected}, got "
            f"{safe_repr_with_type(context)}: pass one where the tool is called, context=..."
        )
        raise TypeError(message)


def context_parameter(annotation: object, default: object) -> ContextParameter:
    """Return a context parameter with its default, if the host passes no context."""
    if default is not _EMPTY:
        return ContextParameter(annotation, default)
    if annotation is Context:
        return ContextParameter(annotation, Context)
    return ContextParameter(annotation, None if takes_none(annotation) else _EMPTY)


def _alternatives(annotation: Any) -> Iterator[object]:  # noqa: ANN401 - any type
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _alternatives(arguments[0])
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from _alternatives(argument)
    elif _is_alias(origin or annotation):
        yield from _alternatives(alias_value(origin or annotation))
    elif isinstance(annotation, NewType):
        yield from _alternatives(annotation.__supertype__)
    else:
        yield origin or annotation


def _is_of(kind: object, value: object) -> bool:
    if not isinstance(kind, type) or is_stand_in(kind) or kind.__module__ == __name__:
        return True  # `Context` alone among them
    try:
        return isinstance(value, kind) or (kind in (float, complex) and type(value) in {int, float})
    except TypeError:  # a protocol or a TypedDict, which nothing is an instance of
        return True


def context_names(function: Callable[..., object]) -> dict[str, ContextParameter]:
    """Return a function's context parameters, by name.

    Annotations that cannot be resolved are ignored. A function without a signature has none.
    """
    try:
        parameters = open_signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    names = names_around(innermost(function))
    annotations = {
        parameter.name: resolve_leniently(parameter.annotation, names, {"Context": Context})
        for parameter in parameters
        if parameter.kind not in _VARIADIC
    }
    return {
        parameter.name: context_parameter(annotations[parameter.name], parameter.default)
        for parameter in parameters
        if parameter.name in annotations and is_context(annotations[parameter.name])
    }


def context_arguments(tool: str, contexts: Mapping[str, ContextParameter], context: object) -> dict[str, object]:
    """Return the arguments for the context parameters, all the same context.

    Raises TypeError, a mistake of the host, if the context is of a wrong type, or if there is none and no default.
    """
    if context is not NO_CONTEXT:
        for name, parameter in contexts.items():
            parameter.check(tool, name, context)
        return dict.fromkeys(contexts, context)
    needed = [name for name, parameter in contexts.items() if parameter.default is _EMPTY]
    if needed:
        message = (
            f"{tool}: its parameter {needed[0]!r} is filled by the host, which passed no context: pass context=... "
            f"where the tool is called, or give the parameter a default"
        )
        raise TypeError(message)
    return {name: parameter.default for name, parameter in contexts.items()}
