"""Types of the host without a counterpart in programs: the types a program gets in their place, and passes for them.

Those of numpy and pandas are recognized by name, so neither package is imported. A table is a list of records. Its
columns are known if declared, by a pandera schema (`DataFrame[Sales]`) or an example (`Annotated[DataFrame, frame]`).
"""

import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterator,
    Mapping,
)
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, Flag
from types import NoneType
from typing import Annotated, Any, Final, Literal, NewType, Union, cast, get_args, get_origin

import typing_extensions
from pydantic import AfterValidator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema

from ez_ptc.schema.annotations.generics import is_alias, rebuilt
from ez_ptc.schema.annotations.records import has_fields
from ez_ptc.schema.annotations.resolution import alias_value
from ez_ptc.schema.annotations.signatures import FunctionParameter, Signature

__all__ = [
    "HostObject",
    "announce_signature",
    "announce_type",
    "collect_items",
    "column_type",
    "example_columns",
    "find_columns",
    "is_own_class",
    "model_type",
    "program_type",
    "schema_columns",
]

_Rows = list[dict[str, Any]]
# The forms of classes, by package and by the name of the nearest class in it: what programs get, and what they pass.
_FORMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "pandas": {
        "DataFrame": _Rows,
        "Series": Union[list[Any], dict[str, Any]],  # noqa: UP007 - a form of type for pydantic, like the others
        "Index": list[Any],
        "Timestamp": datetime,
        "Timedelta": timedelta,
    },
    "numpy": {
        "ndarray": list[Any],
        "bool": bool,
        "bool_": bool,
        "integer": int,
        "floating": float,
        "complexfloating": complex,
        "str_": str,
        "datetime64": datetime,
        "timedelta64": timedelta,
    },
}
# The types of a column's values by the kind of its dtype.
_KINDS: Final[Mapping[str, Any]] = {
    "i": int,
    "u": int,
    "f": float,
    "c": complex,
    "b": bool,
    "M": datetime,
    "m": timedelta,
    "U": str,
    "T": str,
}
_STREAMS: Final = (Iterator, Generator, AsyncIterable, AsyncIterator, AsyncGenerator)
_AWAITED: Final = (Awaitable, Coroutine)
_PACKAGES: Final = (sys.stdlib_module_names - {"__main__"}) | {"ez_ptc", "numpy", "pandas", "pydantic"}
# What the encoder of results looks for in an object, and classes that others implement.
_READ: Final = (
    *("__pydantic_serializer__", "__get_pydantic_core_schema__", "__attrs_attrs__", "__struct_config__"),
    *("_fields", "_is_protocol", "model_dump", "__iter__", "__next__", "__await__", "__getitem__", "__fspath__"),
    "__abstractmethods__",
)
# Members; the text of more would be too long.
_MAX_CHOICES: Final = 20


# What a program gets --------------------------------------------------------------------------------------------------


def program_type(annotation: Any, known: dict[object, Any] | None = None) -> Any:  # noqa: ANN401 - any form of type
    """Return the type a program gets for a value of a type; the type itself if there is no difference.

    `known` has the types of the aliases met before.
    """
    known = {} if known is None else known
    if is_alias(annotation) or isinstance(annotation, NewType):
        if annotation not in known:
            known[annotation] = annotation  # for references to itself
            value = annotation.__supertype__ if isinstance(annotation, NewType) else alias_value(annotation)
            received = program_type(value, known)
            known[annotation] = annotation if received is value else received
        return known[annotation]
    declared = find_columns(annotation)
    if declared is not None:
        make: Any = typing_extensions.TypedDict
        return list[make(*declared)]
    cls: Any = get_origin(annotation) or annotation
    if not isinstance(annotation, type) and not isinstance(cls, type):
        return rebuilt(annotation, lambda inner: program_type(inner, known))
    if is_own_class(cls):
        return str
    if _is_enumeration(cls):
        return _values_of(cls)
    return _form_of(cls) or rebuilt(annotation, lambda inner: program_type(inner, known))


def collect_items(annotation: Any) -> Any:  # noqa: ANN401 - any form of type
    """Return the type of a function's result: the items of a stream are a list, and an awaitable is its result."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in _AWAITED and arguments:
        return collect_items(arguments[-1])
    if origin in _STREAMS and arguments:
        return list[arguments[0]]
    return annotation


def find_columns(annotation: Any) -> tuple[str, dict[str, Any]] | None:  # noqa: ANN401 - any form of type
    """Return a name for a table's rows and the types of its columns, if the table's type declares them."""
    arguments = get_args(annotation)
    if not arguments:
        return None
    if get_origin(annotation) is Annotated:
        if _form_of(arguments[0]) is not _Rows:
            return None
        examples = filter(None, map(example_columns, arguments[1:]))
        return next((("Row", columns) for columns in examples), None)
    columns = schema_columns(get_origin(annotation), arguments[0])
    return None if columns is None else (str(arguments[0].__name__), columns)


def schema_columns(cls: Any, schema: Any) -> dict[str, Any] | None:  # noqa: ANN401 - classes of pandera's
    """Return the types of the columns of a pandera schema by name; None for another generic class."""
    package = str(getattr(cls, "__module__", "")).partition(".")[0]
    if package != "pandera" or cls.__name__ != "DataFrame":
        return None
    columns: Mapping[Any, Any] = schema.to_schema().columns
    return {
        str(name): column_type(getattr(column.dtype, "type", None), column.dtype, has_missing=column.nullable)
        for name, column in columns.items()
    }


def example_columns(frame: Any) -> dict[str, Any] | None:  # noqa: ANN401 - any object
    """Return the types of an example's columns by name; None for other objects than a table."""
    if _form_of(cast("object", type(frame))) is not _Rows:
        return None
    columns: dict[str, Any] = {}
    for number, name in enumerate(frame.columns.tolist()):
        column = frame.iloc[:, number]
        present = column.dropna().tolist()
        is_text = bool(present) and all(isinstance(item, str) for item in present)
        dtype_name = "str" if is_text else column.dtype
        columns[str(name)] = column_type(column.dtype, dtype_name, has_missing=bool(column.isna().any()))
    return columns


def column_type(dtype: Any, name: object, *, has_missing: bool) -> Any:  # noqa: ANN401 - a dtype
    """Return the type of a column's values as a program gets them, by its dtype and the dtype's name."""
    type_: Any = _KINDS.get(getattr(dtype, "kind", "O"), Any)
    if str(name).startswith("str"):
        type_ = str
    if has_missing and type_ is not Any:
        return Union[type_, None]  # noqa: UP007 - known at run time only
    return type_


def is_own_class(cls: Any) -> bool:  # noqa: ANN401 - any object
    """Return whether something is a plain class of the host, whose objects reach a program as text."""
    if type(cls) is not type or cls.__bases__ != (object,) or type.__subclasses__(cls):
        return False
    is_read = has_fields(cls) or any(hasattr(cls, name) for name in _READ)
    return not is_read and cls.__module__.partition(".")[0] not in _PACKAGES


def _is_enumeration(cls: object) -> bool:
    return isinstance(cls, type) and issubclass(cls, Enum)


def _values_of(cls: type[Enum]) -> Any:  # noqa: ANN401 - any form of type
    if issubclass(cls, Flag):
        return int
    values = [cast("object", member.value) for member in cls]
    if 0 < len(values) <= _MAX_CHOICES and all(type(value) in {str, int, bool, NoneType} for value in values):
        return Literal[tuple(values)]
    kinds = {type(value) for value in values}
    return kinds.pop() if len(kinds) == 1 and kinds <= {str, int, float, bool} else Any


# What a model passes --------------------------------------------------------------------------------------------------


def announce_signature(signature: Signature) -> Signature:
    """Return a signature with the types a program passes and gets."""
    parameters: list[FunctionParameter] = []
    for parameter in signature.parameters:
        annotation = parameter.annotation if parameter.hidden else announce_type(parameter.annotation)
        is_same = annotation is parameter.annotation
        parameters.append(parameter if is_same else replace(parameter, annotation=annotation))
    return replace(signature, parameters=tuple(parameters), returns=program_type(collect_items(signature.returns)))


def announce_type(annotation: Any) -> Any:  # noqa: ANN401 - any form of type
    """Return the type a model passes for a parameter's type; the type itself if there is no difference."""
    return _form_of(get_origin(annotation) or annotation) or rebuilt(annotation, announce_type)


def model_type(cls: Any, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - any form of type
    """Return the type a model passes for a parameter of a type, with the conversion to it; None for other types."""
    if cls is range:
        return Annotated[list[int], AfterValidator(_range_of)]
    form = _form_of(cls)
    if form is None:
        return None
    converted = Annotated[form, AfterValidator(_converter(cls, arguments))]
    if get_origin(form) is None:  # its own values are of the form too
        return converted
    host_object: Any = Annotated[Any, HostObject(cls), cast("Any", SkipJsonSchema)()]
    return Union[converted, host_object]  # noqa: UP007 - known at run time only


@dataclass(frozen=True)
class HostObject:
    """Lets a parameter take an object of its class from a caller in this process."""

    cls: type

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> core_schema.CoreSchema:
        """Return the check of the class."""
        return core_schema.is_instance_schema(self.cls)


def _form_of(cls: object) -> Any:  # noqa: ANN401 - any form of type
    """Return the form of a class of numpy or pandas; None for anything else."""
    if not isinstance(cls, type):
        return None
    for base in cls.__mro__:
        forms = _FORMS.get(str(base.__module__).partition(".")[0], {})
        if base.__name__ in forms:
            return forms[base.__name__]
    return None


def _converter(cls: Any, arguments: tuple[Any, ...]) -> Callable[[Any], Any]:  # noqa: ANN401 - any class
    """Return a function that makes a value of a class of numpy or pandas."""
    dtype: Any = next((get_args(item)[0] for item in arguments[1:] if get_args(item)), None)

    def make(value: Any) -> Any:  # noqa: ANN401 - data, and a value of the class
        if cls.__name__ != "ndarray":
            return cls(value)
        return cast("Any", sys.modules["numpy"]).asarray(value, dtype=dtype if isinstance(dtype, type) else None)

    return make


def _range_of(numbers: list[int]) -> range:
    """Return the range of some numbers. Raises ValueError if their distances differ."""
    first = numbers[0] if numbers else 0
    step = (numbers[1] - first if len(numbers) > 1 else 0) or 1
    made = range(first, first + step * len(numbers), step)
    if [*made] != numbers:
        message = "expected the numbers of a range, each with the same distance to the next"
        raise ValueError(message)
    return made
