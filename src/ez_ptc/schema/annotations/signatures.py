"""A function's signature: its parameters with resolved types, and its Python text for a model."""

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Any, Final, ForwardRef, Literal, NewType, TypeVar, Union, cast, get_args, get_origin

import typing_extensions

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.context import Context, includes, is_context, takes_none
from ez_ptc.schema.annotations.generics import is_hashable, substitute, variables_of_method, variables_of_type
from ez_ptc.schema.annotations.partials import (
    is_bound_dispatcher,
    is_unbound_partial_method,
    method_behind,
    open_signature,
)
from ez_ptc.schema.annotations.records import typed_dict_entry
from ez_ptc.schema.annotations.resolution import innermost, names_around, resolve, resolve_leniently, type_parameters
from ez_ptc.schema.annotations.secret_types import has_secrets

__all__ = [
    "EMPTY",
    "LEFT_OUT",
    "FunctionParameter",
    "Signature",
    "TypeText",
    "annotation_text",
    "innermost",
    "literal_text",
    "read_signature",
    "signature_text",
]

# No annotation, or no default.
EMPTY: Final = inspect.Parameter.empty

# The default of an optional parameter without a default value.
LEFT_OUT: Final = object()

_UNPACKS: Final = (typing.Unpack, typing_extensions.Unpack)
_NO_TYPE: Final = typing_extensions.NoDefault
_DEFAULT_WIDTH: Final = 80
_MODULE_PREFIX: Final = re.compile(r"\b(?:\w+\.)+(?=\w)")
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_SPELLED: Final[dict[object, str]] = {None: "None", types.NoneType: "None", Ellipsis: "..."}
_WRAPPERS: Final = (Annotated, typing.Required, typing.NotRequired)

_AnyCallable = Callable[..., object]


class TypeText(str):
    """A type that is text already, as from `type_text`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """One parameter; `annotation` and `default` are `EMPTY` if there is none.

    Models may not pass a `hidden` parameter, whose annotation names an undefined type, or a context parameter.
    """

    name: str
    annotation: object
    default: object
    positional: bool
    by_name: bool
    hidden: bool = False

    @property
    def is_context(self) -> bool:
        """Whether the host fills it."""
        return not self.hidden and is_context(self.annotation)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's parameters without `*args` and `**kwargs`, and its return annotation.

    `namespace` has the names that annotations within the annotated types may use. `takes_others` says that a given
    schema allows further arguments.
    """

    parameters: tuple[FunctionParameter, ...]
    returns: object
    namespace: dict[str, Any]
    takes_others: bool = False

    @property
    def name_of_others(self) -> str:
        """A name for further arguments, which no parameter has."""
        names, name = {parameter.name for parameter in self.parameters}, "other_arguments"
        while name in names:
            name += "_"
        return name

    def with_spellings(self, spellings: Mapping[str, str]) -> "Signature":
        """Return a copy with some parameters renamed."""
        if not spellings:
            return self
        parameters = (
            replace(parameter, name=spellings.get(parameter.name, parameter.name)) for parameter in self.parameters
        )
        return replace(self, parameters=tuple(parameters))


def read_signature(function: _AnyCallable, *, name: str, lenient: bool = False) -> Signature:
    """Read the signature of a callable, with postponed annotations and forward references resolved.

    Arguments bound by `functools.partial` are no parameters (`open_signature` says more). Names are looked up where the
    function was defined: in its module, its closure, and the running functions and classes around it. Raises
    `SchemaError`, which calls the function `name`, if there is no signature, if an annotation cannot be resolved, and
    for a method without its object. A return annotation that cannot be resolved stays text.

    With `lenient`, an undefined name becomes a class of its own, `Self` and type variables stay, and `**kwargs` has no
    entries.
    """
    try:
        signature = open_signature(function)
    except (TypeError, ValueError) as error:
        message = f"{name}: its parameters cannot be read ({error}): wrap it in a Python function"
        raise SchemaError(message) from error
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    is_in_class = is_unbound_partial_method(function) or (bool(outer) and not outer.endswith("<locals>"))
    first = next(iter(signature.parameters.values()), None)
    if is_in_class and first is not None and first.name in ("self", "cls") and first.annotation is EMPTY:
        is_bound = is_bound_dispatcher(function)
        if not is_bound and (inspect.isfunction(function) or (lenient and inspect.isroutine(function))):
            message = (
                f"{name}: parameter {first.name!r} makes it a method without its object, which a model cannot pass: "
                f"make the tool from the bound method instead, as in ez_tool(thing.{function.__name__})"
            )
            raise SchemaError(message)
        if is_bound or not hasattr(type(function), "__get__"):
            # A decorator's own object for a bound method, such as `cachetools.cachedmethod` makes: it passes the first.
            signature = signature.replace(parameters=[*signature.parameters.values()][1:])
    reader = _ParameterReader(name, function, lenient=lenient)
    return Signature(
        tuple(item for parameter in signature.parameters.values() for item in reader.parameters(parameter)),
        reader.resolve_return(signature.return_annotation),
        reader.names,
    )


def signature_text(name: str, signature: Signature) -> str:
    """Return a signature as Python text for a model: `get_weather(location: str, unit: str = 'celsius') -> dict`.

    Types have no module names, and postponed annotations look like others. A default other than a plain value is `...`.
    """
    texts: list[str] = []
    by_position_only = False
    by_name_only = False
    for parameter in signature.parameters:
        if parameter.hidden or parameter.is_context:
            continue
        if by_position_only and parameter.by_name:
            texts.append("/")
        if not parameter.positional and not by_name_only:
            texts.append("*")
        by_position_only = not parameter.by_name
        by_name_only = not parameter.positional
        texts.append(_parameter_text(parameter))
    if by_position_only:
        texts.append("/")
    if signature.takes_others:
        texts.append(f"**{signature.name_of_others}")
    text = f"{name}({', '.join(texts)})"
    if signature.returns is EMPTY:
        return text
    return f"{text} -> {annotation_text(signature.returns)}"


def annotation_text(annotation: object) -> str:
    """Return a type as Python text, without module names: `list[dict]`, `str | None`, `Literal['a', 'b']`.

    A `NewType` is written as its base type, whose name the reader knows, and a bound type variable as its bound.
    """
    annotation = _unwrap(annotation)
    if (text := _SPELLED.get(annotation) if is_hashable(annotation) else None) is not None:
        return text
    if isinstance(annotation, list):
        return f"[{', '.join(map(annotation_text, cast('list[object]', annotation)))}]"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " | ".join(map(annotation_text, arguments))
    if origin is not None and arguments:
        write = annotation_text
        if origin is Literal:
            write = literal_text
        return f"{_name_text(origin)}[{', '.join(map(write, arguments))}]"
    return _name_text(annotation if origin is None else origin)


def _parameter_text(parameter: FunctionParameter) -> str:
    text, equals = parameter.name, "="
    if parameter.annotation is not EMPTY:
        type_ = annotation_text(parameter.annotation)
        if type_.isidentifier() and type_ != "None" and takes_none(parameter.annotation):
            type_ += " | None"  # an alias, whose name does not say that the parameter may be omitted
        text, equals = f"{text}: {type_}", " = "
    if parameter.default is EMPTY:
        return text
    value = parameter.default
    if isinstance(value, Enum):
        value = cast("object", value.value)
    is_shown = _is_plain(value) and not has_secrets(parameter.annotation)
    if is_shown and len(default := repr(value)) <= _DEFAULT_WIDTH:
        return f"{text}{equals}{default}"
    return f"{text}{equals}..."


def _is_plain(value: object) -> bool:
    if type(value) in (list, tuple, set, frozenset):
        return all(map(_is_plain, cast("list[object]", value)))
    if type(value) is dict:
        pairs = cast("dict[object, object]", value).items()
        return all(_is_plain(key) and _is_plain(inner) for key, inner in pairs)
    return value is None or type(value) in (str, bytes, bool, int, float)


def _unwrap(annotation: object) -> object:
    while True:
        if isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, TypeVar) and getattr(annotation, "__default__", _NO_TYPE) is not _NO_TYPE:
            annotation = getattr(annotation, "__default__", None)
        elif isinstance(annotation, TypeVar) and annotation.__bound__ is not None:
            annotation = cast("object", annotation.__bound__)
        elif isinstance(annotation, TypeVar) and annotation.__constraints__:
            annotation = Union[annotation.__constraints__]  # noqa: UP007 - the members are known at run time only
        elif get_origin(annotation) in _WRAPPERS:
            annotation = get_args(annotation)[0]
        else:
            return annotation


def _name_text(annotation: object) -> str:
    if isinstance(annotation, TypeText):
        return annotation
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _MODULE_PREFIX.sub("", annotation)
    name = getattr(annotation, "__name__", None)
    if isinstance(name, str):
        return name
    return _MODULE_PREFIX.sub("", repr(annotation))


def literal_text(value: object) -> str:
    """Return one value of a `Literal` as text; an Enum member as its value."""
    return repr(cast("object", value.value) if isinstance(value, Enum) else value)


class _ParameterReader:
    """Reads the parameters of one function."""

    def __init__(self, tool: str, function: _AnyCallable, *, lenient: bool) -> None:
        self._tool = tool
        self._is_lenient = lenient
        method = method_behind(function)
        self.names = names_around(innermost(function), owner=getattr(method, "__self__", None))
        self._given = variables_of_method(method)
        self._is_by_position = _passes_by_position(function)

    def parameters(self, parameter: inspect.Parameter) -> list[FunctionParameter]:
        """Return a parameter as callers see it: itself, or the entries of a `**kwargs` TypedDict.

        Other `**kwargs` have none.
        """
        if parameter.kind in _VARIADIC:
            if self._is_lenient or parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                return []
            lenient = resolve_leniently(parameter.annotation, self.names, {})
            if get_origin(lenient) not in _UNPACKS:
                return []
            try:
                typed_dict: Any = get_args(resolve(parameter.annotation, self.names))[0]
                cls, variables = get_origin(typed_dict) or typed_dict, variables_of_type(typed_dict)
                names = self.names | type_parameters(cls)
                hints = typing.get_type_hints(cls, localns=names, include_extras=True)
            except Exception as error:  # a textual annotation is an expression and may raise anything
                raise self._resolution_error(parameter, error) from error
            entries = [
                (name, *typed_dict_entry(cls, name, substitute(hint, variables))) for name, hint in hints.items()
            ]
            return [
                FunctionParameter(name, hint, EMPTY if is_required else LEFT_OUT, positional=False, by_name=True)
                for name, hint, is_required in entries
            ]
        annotation, hidden = self._resolve(parameter)
        positional = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        by_name = parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
        if self._is_by_position and positional:
            by_name = False
        default = parameter.default
        if default is ... and not includes(annotation, types.EllipsisType):
            default = EMPTY  # as in `limit: int = ...`, the way pydantic and FastAPI write a required parameter
        return [FunctionParameter(parameter.name, annotation, default, positional, by_name, hidden)]

    def resolve_return(self, annotation: object) -> object:
        try:
            return substitute(resolve(annotation, self.names), self._given)
        except Exception:  # noqa: BLE001 - an expression may raise anything, and what is returned can do without a schema
            return annotation

    def _resolve(self, parameter: inspect.Parameter) -> tuple[object, bool]:
        """Return the type of a parameter, and whether it is undefined and so hidden from models."""
        if self._is_lenient:
            return resolve_leniently(parameter.annotation, self.names, {"Context": Context}), False
        try:
            return substitute(resolve(parameter.annotation, self.names), self._given), False
        except Exception as error:  # a textual annotation is an expression and may raise anything
            lenient = resolve_leniently(parameter.annotation, self.names, {"Context": Context})
            if is_context(lenient):
                return lenient, False
            if parameter.default is not EMPTY:
                return parameter.annotation, True
            raise self._resolution_error(parameter, error) from error

    def _resolution_error(self, parameter: inspect.Parameter, error: Exception) -> SchemaError:
        return SchemaError(
            f"{self._tool}: the annotation {annotation_text(parameter.annotation)!r} of parameter {parameter.name!r} "
            f"cannot be resolved ({type(error).__name__}: {error}): define or import the type above the function, not "
            f"only under TYPE_CHECKING"
        )


def _passes_by_position(function: _AnyCallable) -> bool:
    """Return whether a wrapper takes positional-only parameters that the wrapped function also takes by name."""
    if not hasattr(function, "__wrapped__"):
        return False
    # `singledispatch` needs the first argument by position.
    if (hasattr(function, "dispatch") and hasattr(function, "registry")) or is_bound_dispatcher(function):
        return True
    try:
        own_parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = {item.kind for item in own_parameters}
    return inspect.Parameter.VAR_POSITIONAL in kinds and inspect.Parameter.VAR_KEYWORD not in kinds
