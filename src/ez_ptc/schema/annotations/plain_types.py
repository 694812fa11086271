"""The lenient resolver of the published form: any annotation as a type pydantic can describe.

A class with named fields becomes a TypedDict of its constructor's fields: a dataclass, a named tuple, a class of attrs
or msgspec, or a TypedDict of either module. Pydantic's own classes stay. Any other type without a row in the published
tables becomes `str`.
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

from pydantic import ConfigDict

from ez_ptc.schema.annotations.generics import is_alias, substitute, variables_of_type
from ez_ptc.schema.annotations.record_substitutes import empty_typed_dict, set_entries
from ez_ptc.schema.annotations.records import EMPTY, READ_ONLY, fields_of, has_fields
from ez_ptc.schema.annotations.resolution import resolve_leniently
from ez_ptc.schema.defaults import NO_DEFAULT, json_default

__all__ = ["LENIENT", "plain_types", "unwrap"]

LENIENT: Final = ConfigDict(arbitrary_types_allowed=True)

_LEAVES: Final = (str, int, float, bool, bytes, datetime, date, time)
_WRAPPERS: Final = (Annotated, Required, NotRequired, *READ_ONLY, Final, ClassVar)
_UNIONS: Final = (Union, types.UnionType)
_ARRAYS: Final[frozenset[type]] = frozenset(
    {
        list,
        tuple,
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
    """Return a plain type for each annotation.

    Text and forward references are looked up in `namespace`. A class with its own pydantic schema becomes `str` unless
    `is_usable` accepts it.
    """
    simplifier = _Simplifier(namespace, is_usable)
    return {name: simplifier.plain_type(annotation) for name, annotation in annotations.items()}


def unwrap(annotation: object) -> object:
    """Return a type without `Annotated`, `NewType`, `InitVar` and field qualifiers."""
    while True:
        if typing.get_origin(annotation) in _WRAPPERS:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, dataclasses.InitVar):
            annotation = cast("object", annotation.type)
        else:
            return annotation


class _Simplifier:
    def __init__(self, namespace: Mapping[str, Any], is_usable: Callable[[object], bool]) -> None:
        self._namespace = namespace
        self._is_usable = is_usable
        self._records: dict[object, Any] = {}
        self._open: dict[object, bool] = {}  # aliases being resolved, and whether each contains itself

    def plain_type(self, annotation: object) -> Any:  # noqa: ANN401 - any form of type
        annotation = unwrap(annotation)
        if isinstance(annotation, str | ForwardRef):
            resolved = resolve_leniently(annotation, dict(self._namespace), {})
            return str if isinstance(resolved, str | ForwardRef) else self.plain_type(resolved)
        if isinstance(annotation, TypeVar):
            return self._union(annotation.__constraints__ or (annotation.__bound__ or str,))
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in _UNIONS:
            return self._union(arguments)
        if origin is Literal:
            return annotation if all(map(_is_json, arguments)) else str
        cls: object = origin or annotation
        if isinstance(cls, type):
            return self._class(annotation, cls, arguments)
        return self._alias(annotation) if is_alias(cls) else str

    def _union(self, members: Iterable[object]) -> Any:  # noqa: ANN401 - any form of type
        plain = [self.plain_type(member) for member in members if member is not None and member is not types.NoneType]
        return Union[tuple(plain)] if plain else str  # noqa: UP007 - the members are known at run time only

    def _alias(self, alias: Any) -> Any:  # noqa: ANN401 - any form of type
        if alias in self._open:
            self._open[alias] = True
            return alias
        self._open[alias] = False
        definition = typing.get_origin(alias) or alias
        try:
            value = definition.__value__
        except NameError:  # the value of an alias is evaluated on first use
            value = str
        variables = dict(zip(definition.__type_params__, typing.get_args(alias), strict=False))
        plain = self.plain_type(substitute(value, variables))
        # A recursive alias has to stay, because only its name can refer to it.
        if self._open.pop(alias) and self._is_usable(alias):
            return alias
        return plain

    def _class(self, annotation: object, cls: Any, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401 - any form of type
        if cls in _LEAVES:
            return cls
        if hasattr(cls, "__get_pydantic_core_schema__") or hasattr(cls, "__pydantic_core_schema__"):
            return annotation if self._is_usable(annotation) else str
        if has_fields(cls):
            return self._record(annotation, cls)
        if issubclass(cls, Enum):
            members = list(cls)
            return cls if members and all(map(_is_json, members)) else str
        return self._collection(annotation, cls, arguments)

    def _collection(self, annotation: object, cls: Any, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401 - any form of type
        if cls is tuple and (arguments or hasattr(annotation, "__args__")) and arguments[1:] != (...,):
            if any(map(_is_unpacked, arguments)):  # its length is open, so single items have no type
                return list[self._union(_item_types(arguments))]
            return tuple[tuple(map(self.plain_type, arguments))]
        first, second = (*arguments, str, str)[:2]
        plain: Any = str
        if cls is collections.Counter:
            plain = dict[str, int]
        elif cls in _OBJECTS:
            plain = dict[str, self.plain_type(second)]
        elif cls in _SETS:
            plain = set[self.plain_type(first)]
        elif cls in _ARRAYS:
            plain = list[self.plain_type(first)]
        return plain

    def _record(self, annotation: object, cls: Any) -> Any:  # noqa: ANN401 - any form of type
        if annotation in self._records:
            return self._records[annotation]
        record = self._records[annotation] = empty_typed_dict(cls)
        record.__pydantic_config__ = LENIENT  # the class's own settings determine its validation
        hints: dict[str, object] = {}
        try:
            hints = typing.get_type_hints(cls, include_extras=True)
        except Exception:  # noqa: BLE001 - the text of an annotation is an expression and may raise anything
            # A class local to a function: its module has neither its neighbors nor the class itself.
            for base in reversed(cls.__mro__):
                module_names: dict[str, Any] = getattr(sys.modules.get(base.__module__), "__dict__", {})
                names = {**module_names, **self._namespace, cls.__name__: cls}
                annotations = inspect.get_annotations(base)
                hints.update((name, resolve_leniently(hint, names, {})) for name, hint in annotations.items())
        variables = variables_of_type(annotation)
        entries: dict[str, Any] = {}
        for field in fields_of(cls, hints):
            plain = self.plain_type(substitute(field.hint, variables))
            if field.default is EMPTY:
                entries[field.key] = Required[plain]
            else:
                entries[field.key] = NotRequired[plain]
        set_entries(record, entries)
        return record


def _is_unpacked(annotation: object) -> bool:
    return typing.get_origin(annotation) is typing.Unpack or getattr(annotation, "__unpacked__", False)


def _item_types(arguments: Iterable[object]) -> Iterable[object]:
    for argument in arguments:
        if _is_unpacked(argument):
            inner = typing.get_args(argument)
            is_spelled_out = typing.get_origin(argument) is typing.Unpack
            yield from _item_types(typing.get_args(inner[0]) if is_spelled_out else inner)
        elif argument is not ...:
            yield argument


def _is_json(value: object) -> bool:
    return json_default(value) is not NO_DEFAULT
