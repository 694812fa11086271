"""Any annotation as a type that `function_to_tool` describes: what its tables have, and `str` for all else.

What has named fields becomes a TypedDict of the fields that it is made from: a dataclass, a named tuple, a class of
attrs or msgspec, a TypedDict of either module. Pydantic's own classes stay what they are. No annotation is refused.
"""

import collections
import dataclasses
import inspect
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from enum import Enum
from typing import Annotated, Any, ClassVar, Final, ForwardRef, Literal, NotRequired, Required, TypeVar, Union, cast

import typing_extensions

from ez_ptc.schema.annotations.generics import is_alias
from ez_ptc.schema.annotations.resolution import resolved_leniently
from ez_ptc.schema.annotations.substitutes import is_named_tuple, is_typed_dict
from ez_ptc.schema.types import NO_DEFAULT, json_default

__all__ = ["plain_types", "unwrapped"]

_LEAVES: Final = (str, int, float, bool, bytes, datetime, date, time)
_WRAPPERS: Final = (Annotated, Required, NotRequired, typing_extensions.ReadOnly, Final, ClassVar)
_UNIONS: Final = (Union, types.UnionType)
_ARRAYS: Final[frozenset[type]] = frozenset(
    {
        list,
        collections.deque,
        abc.Sequence,
        abc.MutableSequence,
        abc.Collection,
        abc.Container,
        abc.Reversible,
        abc.Iterable,
        abc.Iterator,
        abc.Generator,
        abc.ValuesView,
    }
)
_SETS: Final[frozenset[type]] = frozenset({set, frozenset, abc.Set, abc.MutableSet, abc.KeysView})
_OBJECTS: Final[frozenset[type]] = frozenset(
    {
        dict,
        collections.OrderedDict,
        collections.defaultdict,
        collections.ChainMap,
        abc.Mapping,
        abc.MutableMapping,
        types.MappingProxyType,
    }
)


def plain_types(
    annotations: Mapping[str, object], namespace: Mapping[str, Any], *, is_usable: Callable[[object], bool]
) -> dict[str, Any]:
    """Return for each annotation a type of which pydantic makes the schema that the tables ask for.

    Text and forward references are looked up in `namespace`. A class that describes itself to pydantic is `str` where
    it is not `is_usable`.
    """
    plain = _Plain(namespace, is_usable)
    return {name: plain.of(annotation) for name, annotation in annotations.items()}


def unwrapped(annotation: object) -> object:
    """Return what an annotation is about, without `Annotated`, `NewType` and what qualifies a field."""
    while True:
        if typing.get_origin(annotation) in _WRAPPERS:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, dataclasses.InitVar):
            annotation = cast("object", annotation.type)
        else:
            return annotation


class _Plain:
    def __init__(self, namespace: Mapping[str, Any], is_usable: Callable[[object], bool]) -> None:
        self._namespace = namespace
        self._is_usable = is_usable
        self._records: dict[object, Any] = {}
        self._open: dict[object, bool] = {}  # aliases under way, and whether each was met again within itself

    def of(self, annotation: object) -> Any:  # noqa: ANN401 - any form of type
        annotation = unwrapped(annotation)
        if isinstance(annotation, str | ForwardRef):
            found = resolved_leniently(annotation, dict(self._namespace), {})
            return str if isinstance(found, str | ForwardRef) else self.of(found)
        if isinstance(annotation, TypeVar):
            return self._union(annotation.__constraints__ or (annotation.__bound__ or str,))
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in _UNIONS:
            return self._union(arguments)
        if origin is Literal:
            return annotation if all(map(_is_json, arguments)) else str
        kind: object = origin or annotation
        if isinstance(kind, type):
            return self._class(annotation, kind, arguments)
        return self._alias(annotation, kind, arguments) if is_alias(kind) else str

    def _union(self, members: Iterable[object]) -> Any:  # noqa: ANN401 - any form of type
        kept = [self.of(each) for each in members if each is not None and each is not types.NoneType]
        return Union[tuple(kept)] if kept else str  # noqa: UP007 - the members are known at run time only

    def _alias(self, alias: object, kind: Any, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401 - any form of type
        if alias in self._open:
            self._open[alias] = True
            return alias
        self._open[alias] = False
        try:
            value = _substituted(kind.__value__, dict(zip(kind.__type_params__, arguments, strict=False)))
        except NameError:  # an alias is looked up when it is used
            value = str
        plain = self.of(value)
        # An alias that contains itself has to stay: only by its name can it be referred to.
        return alias if self._open.pop(alias) and self._is_usable(alias) else plain

    def _class(self, annotation: object, cls: Any, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401 - any form of type
        if cls in _LEAVES:
            return cls
        if hasattr(cls, "__get_pydantic_core_schema__") or hasattr(cls, "__pydantic_core_schema__"):
            return annotation if self._is_usable(annotation) else str
        if (read := _reader(cls)) is not None:
            return self._record(annotation, cls, read)
        if cls is tuple and (arguments or hasattr(annotation, "__args__")) and arguments[1:] != (...,):
            return self._tuple(arguments)
        if issubclass(cls, Enum):
            return cls if _is_listed(cls) else str
        return self._collection(cast("type", cls), arguments)

    def _tuple(self, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401 - any form of type
        if any(map(_is_unpacked, arguments)):  # its length is open, so nothing can be said of single places
            return list[self._union(_places(arguments))]
        return tuple[tuple(map(self.of, arguments))]

    def _collection(self, cls: type, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401 - any form of type
        if cls is collections.Counter:
            return dict[str, int]
        if cls in _OBJECTS:
            return dict[str, self.of(arguments[1] if len(arguments) > 1 else str)]
        if cls in _SETS:
            return set[self.of(arguments[0] if arguments else str)]
        return list[self.of(arguments[0] if arguments else str)] if cls is tuple or cls in _ARRAYS else str

    def _record(self, annotation: object, cls: Any, read: "_Reader") -> Any:  # noqa: ANN401 - any form of type
        if annotation in self._records:
            return self._records[annotation]
        made: Any = typing_extensions.TypedDict(cls.__name__, {})  # pyright: ignore[reportArgumentType] - named at run time
        made.__module__, made.__qualname__ = cls.__module__, cls.__qualname__
        self._records[annotation] = made
        given = dict(zip(getattr(cls, "__parameters__", ()), typing.get_args(annotation), strict=False))
        hints = _hints(cls, self._namespace)
        fields = {name: (_substituted(hint, given), required) for name, hint, required in read(cls, hints)}
        # Filled in place, because its own entries may refer to it.
        made.__annotations__ = {
            name: Required[self.of(hint)] if required else NotRequired[self.of(hint)]
            for name, (hint, required) in fields.items()
        }
        made.__required_keys__ = frozenset(name for name, (_, required) in fields.items() if required)
        made.__optional_keys__ = frozenset(fields) - made.__required_keys__
        return made


_Fields = Iterable[tuple[str, object, bool]]
_Reader = Callable[[Any, Mapping[str, object]], _Fields]


def _reader(cls: Any) -> _Reader | None:  # noqa: ANN401 - a class of any kind
    if is_typed_dict(cls):
        return _typed_dict_fields
    if dataclasses.is_dataclass(cls):
        return _dataclass_fields
    if is_named_tuple(cls):
        return _named_tuple_fields
    if hasattr(cls, "__attrs_attrs__"):
        return _attrs_fields
    return _struct_fields if hasattr(cls, "__struct_fields__") else None


def _typed_dict_fields(cls: Any, hints: Mapping[str, object]) -> _Fields:  # noqa: ANN401 - a class of any kind
    for name, hint in hints.items():
        # A postponed annotation hides its qualifier from the class, so the hint comes first.
        origin = typing.get_origin(hint)
        yield name, hint, origin is Required or (origin is not NotRequired and name in cls.__required_keys__)


def _dataclass_fields(cls: Any, hints: Mapping[str, object]) -> _Fields:  # noqa: ANN401 - a class of any kind
    for name, field in cls.__dataclass_fields__.items():
        hint = hints.get(name, str)
        if field.init and typing.get_origin(hint) is not ClassVar and hint is not ClassVar:
            missing = dataclasses.MISSING
            yield name, hint, field.default is missing and field.default_factory is missing


def _named_tuple_fields(cls: Any, hints: Mapping[str, object]) -> _Fields:  # noqa: ANN401 - a class of any kind
    for name in cls._fields:
        yield name, hints.get(name, str), name not in cls._field_defaults


def _attrs_fields(cls: Any, hints: Mapping[str, object]) -> _Fields:  # noqa: ANN401 - a class of any kind
    nothing: object = getattr(sys.modules.get("attr"), "NOTHING", None)
    for field in cls.__attrs_attrs__:
        if field.init:
            yield field.alias, hints.get(field.name, field.type or str), field.default is nothing


def _struct_fields(cls: Any, hints: Mapping[str, object]) -> _Fields:  # noqa: ANN401 - a class of any kind
    nothing: object = getattr(sys.modules.get("msgspec"), "NODEFAULT", None)
    names: tuple[str, ...] = cls.__struct_fields__
    defaults: tuple[object, ...] = cls.__struct_defaults__
    defaults = (nothing,) * (len(names) - len(defaults)) + defaults
    for name, encoded, default in zip(names, cls.__struct_encode_fields__, defaults, strict=True):
        yield encoded, hints.get(name, str), default is nothing


def _hints(cls: Any, namespace: Mapping[str, Any]) -> Mapping[str, object]:  # noqa: ANN401 - a class of any kind
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - the text of an annotation is an expression and may raise anything
        # A class that is local to a function: its module does not know its neighbours, nor itself.
        hints: dict[str, object] = {}
        for each in reversed(cls.__mro__):
            own: dict[str, Any] = getattr(sys.modules.get(each.__module__), "__dict__", {})
            names = {**own, **namespace, cls.__name__: cls}
            hints.update(
                (name, resolved_leniently(hint, names, {})) for name, hint in inspect.get_annotations(each).items()
            )
        return hints


def _substituted(hint: Any, given: Mapping[Any, Any]) -> Any:  # noqa: ANN401 - any form of type
    if isinstance(hint, TypeVar):
        return given.get(hint, hint)
    parameters: tuple[Any, ...] = getattr(hint, "__parameters__", ())
    if not given or not parameters or isinstance(hint, type):
        return hint
    return hint[tuple(given.get(each, each) for each in parameters)]


def _is_unpacked(annotation: object) -> bool:
    return typing.get_origin(annotation) is typing.Unpack or getattr(annotation, "__unpacked__", False)


def _places(arguments: Iterable[object]) -> Iterable[object]:
    for each in arguments:
        if _is_unpacked(each):
            inner = typing.get_args(each)
            yield from _places(typing.get_args(inner[0]) if typing.get_origin(each) is typing.Unpack else inner)
        elif each is not ...:
            yield each


def _is_listed(cls: type[Enum]) -> bool:
    members = list(cls)
    return bool(members) and all(map(_is_json, members))


def _is_json(value: object) -> bool:
    return json_default(value) is not NO_DEFAULT
