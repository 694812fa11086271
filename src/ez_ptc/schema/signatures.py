"""A function's signature: its parameters with their types resolved, and the line of Python that a model reads."""

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, ForwardRef, Literal, NewType, Union, cast, get_args, get_origin

from ez_ptc.errors import SchemaError

__all__ = ["EMPTY", "Parameter", "Signature", "annotation_text", "innermost", "read_signature", "signature_text"]

EMPTY: Final = inspect.Parameter.empty
"""Stands where there is no annotation or no default."""

_DEFAULT_WIDTH: Final = 80
_MODULE_PREFIX: Final = re.compile(r"\b(?:\w+\.)+(?=\w)")
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_SPELLED: Final[dict[object, str]] = {None: "None", types.NoneType: "None", Ellipsis: "..."}
_WRAPPERS: Final = (Annotated, typing.Required, typing.NotRequired)

_AnyCallable = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that a model may pass: `annotation` and `default` are `EMPTY` where there is none."""

    name: str
    annotation: object
    default: object
    positional: bool
    by_name: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's parameters without `*args` and `**kwargs`, and its return annotation.

    `namespace` has the names that annotations inside the annotated types may refer to.
    """

    parameters: tuple[Parameter, ...]
    returns: object
    namespace: dict[str, Any]


def read_signature(function: _AnyCallable, *, name: str) -> Signature:
    """Read the signature of anything that can be called, with postponed annotations and forward references resolved.

    Names are looked up where the function was defined: its module, the variables it closes over, and the functions and
    classes around it that are running now. Raises `SchemaError`, which speaks of the function as `name`, for what has
    no signature, for an annotation that cannot be resolved and for a method without its object. A return annotation
    that cannot be resolved stays as it is written.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        message = f"{name}: its parameters cannot be read ({error}): wrap it in a Python function"
        raise SchemaError(message) from error
    inner = innermost(function)
    _refuse_unbound(function, signature, name=name)
    namespace = _namespace(inner)
    return Signature(
        tuple(
            Parameter(
                name=each.name,
                annotation=_resolved(each, namespace, name=name),
                default=each.default,
                positional=each.kind is not inspect.Parameter.KEYWORD_ONLY,
                by_name=each.kind is not inspect.Parameter.POSITIONAL_ONLY,
            )
            for each in signature.parameters.values()
            if each.kind not in _VARIADIC
        ),
        _resolved_return(signature.return_annotation, namespace),
        namespace,
    )


def innermost(function: _AnyCallable) -> _AnyCallable:
    """Return the function in which the code is: behind `partial`, `functools.wraps`, bound methods and `__call__`."""
    while True:
        if isinstance(function, functools.partial):
            function = cast("functools.partial[object]", function).func
        elif inspect.ismethod(function):
            function = function.__func__
        elif (wrapped := getattr(function, "__wrapped__", None)) is not None:
            function = wrapped
        elif inspect.isroutine(function) or isinstance(function, type):
            return function
        else:
            function = type(function).__call__


def signature_text(name: str, signature: Signature) -> str:
    """Write a signature as the Python that a model reads: `get_weather(location: str, unit: str = 'celsius') -> dict`.

    Types have no module in front of them, and postponed annotations read like others. A default that is no plain value
    is `...`.
    """
    parts: list[str] = []
    by_position_only = False
    by_name_only = False
    for parameter in signature.parameters:
        if by_position_only and parameter.by_name:
            parts.append("/")
        if not parameter.positional and not by_name_only:
            parts.append("*")
        by_position_only = not parameter.by_name
        by_name_only = not parameter.positional
        parts.append(_parameter_text(parameter))
    if by_position_only:
        parts.append("/")
    returns = "" if signature.returns is EMPTY else f" -> {annotation_text(signature.returns)}"
    return f"{name}({', '.join(parts)}){returns}"


def annotation_text(annotation: object) -> str:
    """Write a type as Python does, without modules: `list[dict]`, `str | None`, `Literal['a', 'b']`.

    A `NewType` is what it stands for, since its name is known to nobody who reads the text.
    """
    annotation = _unwrapped(annotation)
    if (text := _SPELLED.get(annotation) if isinstance(annotation, Hashable) else None) is not None:
        return text
    if isinstance(annotation, list):
        return f"[{', '.join(map(annotation_text, cast('list[object]', annotation)))}]"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " | ".join(map(annotation_text, arguments))
    if origin is not None and arguments:
        write = _literal_text if origin is Literal else annotation_text
        return f"{_name_text(origin)}[{', '.join(map(write, arguments))}]"
    return _name_text(annotation if origin is None else origin)


def _parameter_text(parameter: Parameter) -> str:
    typed = parameter.annotation is not EMPTY
    text = f"{parameter.name}: {annotation_text(parameter.annotation)}" if typed else parameter.name
    if parameter.default is EMPTY:
        return text
    return f"{text}{' = ' if typed else '='}{_default_text(parameter.default)}"


def _default_text(default: object) -> str:
    value = cast("object", default.value) if isinstance(default, Enum) else default
    text = repr(value) if _is_plain(value) else "..."
    return text if len(text) <= _DEFAULT_WIDTH else "..."


def _is_plain(value: object) -> bool:
    if type(value) in (list, tuple, set, frozenset):
        return all(map(_is_plain, cast("list[object]", value)))
    if type(value) is dict:
        pairs = cast("dict[object, object]", value).items()
        return all(_is_plain(key) and _is_plain(inner) for key, inner in pairs)
    return value is None or type(value) in (str, bytes, bool, int, float)


def _unwrapped(annotation: object) -> object:
    while True:
        if isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif get_origin(annotation) in _WRAPPERS:
            annotation = get_args(annotation)[0]
        else:
            return annotation


def _name_text(annotation: object) -> str:
    if isinstance(annotation, str | ForwardRef):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return _MODULE_PREFIX.sub("", text)
    name = getattr(annotation, "__name__", None)
    return name if isinstance(name, str) else _MODULE_PREFIX.sub("", repr(annotation))


def _literal_text(value: object) -> str:
    return repr(cast("object", value.value) if isinstance(value, Enum) else value)


def _refuse_unbound(function: _AnyCallable, signature: inspect.Signature, *, name: str) -> None:
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    first = next(iter(signature.parameters.values()), None)
    if not inspect.isfunction(function) or not outer or outer.endswith("<locals>") or first is None:
        return
    if first.name in ("self", "cls") and first.annotation is EMPTY:
        message = (
            f"{name}: parameter {first.name!r} makes it a method without its object, which a model cannot pass: "
            f"make the tool from the bound method instead, as in ez_tool(thing.{function.__name__})"
        )
        raise SchemaError(message)


def _resolved(parameter: inspect.Parameter, namespace: dict[str, Any], *, name: str) -> object:
    try:
        return _evaluated(parameter.annotation, namespace)
    except Exception as error:  # the text of an annotation is an expression and may raise anything
        message = (
            f"{name}: the annotation {annotation_text(parameter.annotation)!r} of parameter {parameter.name!r} cannot "
            f"be resolved ({type(error).__name__}: {error}): define or import the type above the function, not only "
            f"under TYPE_CHECKING"
        )
        raise SchemaError(message) from error


def _resolved_return(annotation: object, namespace: dict[str, Any]) -> object:
    try:
        return _evaluated(annotation, namespace)
    except Exception:  # noqa: BLE001 - an expression may raise anything, and what is returned can do without a schema
        return annotation


def _evaluated(annotation: object, namespace: dict[str, Any]) -> object:
    if annotation is EMPTY or annotation is None:
        return annotation
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(holder, namespace, include_extras=True)["it"]


def _namespace(function: _AnyCallable) -> dict[str, Any]:
    """Return every name that an annotation of the function may use; nearer definitions hide farther ones."""
    names: dict[str, Any] = dict(getattr(function, "__globals__", {}))
    for frame in reversed([*_frames_around(function)]):
        names.update(frame.f_locals)
    names.update((each.__name__, each) for each in getattr(function, "__type_params__", ()))
    if inspect.isfunction(function):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # a variable that has no value yet
                continue
    return names


def _frames_around(function: _AnyCallable) -> Iterator[types.FrameType]:
    """Yield the running frames of the functions and classes in whose text the function stands, nearest first."""
    around: set[str] = set()
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    while outer:
        around.add(outer)
        outer = outer.removesuffix(".<locals>")
        around.add(outer)
        outer = outer.rpartition(".")[0]
    current = inspect.currentframe()
    while current is not None and around:
        if current.f_code.co_qualname in around and current.f_globals is getattr(function, "__globals__", None):
            yield current
        current = current.f_back
