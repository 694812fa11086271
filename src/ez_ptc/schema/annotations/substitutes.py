"""Substitutes: types pydantic accepts, for types it refuses or describes differently.

Pydantic does not know attrs, msgspec, `Collection` and bytearrays, and before Python 3.12 it refuses
`typing.TypedDict`. Their substitutes validate equally, and a type that contains one of them (a generic, a dataclass, a
named tuple) has a substitute too. A validated value is then converted to the type itself.
"""

import collections
import collections.abc
import dataclasses
import sys
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union

import typing_extensions
from pydantic import AfterValidator, Field
from pydantic.fields import FieldInfo

from ez_ptc.schema.annotations.generics import is_alias, is_hashable, rebuilt, substitute, variables_of_type
from ez_ptc.schema.annotations.host_types import model_type
from ez_ptc.schema.annotations.record_substitutes import CLOSED, empty_typed_dict, record_substitute, set_entries
from ez_ptc.schema.annotations.records import (
    READ_ONLY,
    field_info,
    has_fields,
    is_foreign,
    is_named_tuple,
    is_struct_meta,
    is_typed_dict,
    record_of,
    typed_dict_entry,
)
from ez_ptc.schema.annotations.resolution import type_parameters

__all__ = ["is_record", "own_text", "own_texts", "substitute_for", "substitute_maker"]

_TYPED_DICT_IS_TAKEN: Final = sys.version_info >= (3, 12)


# The type to describe and validate, and the conversion of its value.
_SUBSTITUTES: Final[Mapping[object, Any]] = {
    typing.LiteralString: str,
    typing_extensions.LiteralString: str,
    bytearray: Annotated[bytes, AfterValidator(bytearray)],
    memoryview: Annotated[bytes, AfterValidator(memoryview)],
    collections.defaultdict: Annotated[
        dict[Any, Any], AfterValidator(partial(collections.defaultdict[Any, Any], None))
    ],
}
_LISTS: Final = (collections.abc.Collection, collections.abc.Container, collections.abc.Reversible)
_STREAMS: Final = (collections.abc.Iterator, collections.abc.Generator)


def substitute_for(annotation: object, *, namespace: dict[str, Any], records: bool = False) -> Any:  # noqa: ANN401 - any form of type
    """Return the annotation, or its substitute if pydantic would not accept it.

    With `records`, every class with named fields has a substitute, the dict a reader sees, for describing only.
    `namespace` has names that annotations within classes may use in addition to their modules'. Raises as the
    resolution of class annotations does.
    """
    return _Substitutes(namespace, records=records).of(annotation)


def substitute_maker(namespace: dict[str, Any]) -> Callable[[Any], Any]:
    """Return a function that does the same for several annotations, with one substitute per class."""
    return _Substitutes(namespace, records=False).of


def is_record(kind: object) -> bool:
    """Return whether a type has named fields: a TypedDict, dataclass, named tuple or pydantic model."""
    cls: object = typing.get_origin(kind) or kind
    has_names = is_typed_dict(cls) or dataclasses.is_dataclass(cls) or is_named_tuple(cls)
    return isinstance(cls, type) and (has_names or hasattr(cls, "model_fields"))


def own_text(annotation: object) -> str | None:
    """Return the last text in an annotation, or None."""
    texts = own_texts(annotation)
    return texts[-1] if texts else None


def own_texts(annotation: object) -> list[str]:
    """Return the texts in an annotation: plain, in a `Field` or in a `Doc`."""
    if typing.get_origin(annotation) is not Annotated:
        return []
    texts: list[str] = []
    for metadata in typing.get_args(annotation)[1:]:
        text: object = metadata
        if not isinstance(metadata, str):
            text = getattr(metadata, "description" if isinstance(metadata, FieldInfo) else "documentation", None)
        if isinstance(text, str) and text:
            texts.append(text)
    return texts


def _is_unset(kind: object) -> bool:
    # msgspec's marker of an omitted field, a value JSON does not have.
    return isinstance(kind, type) and (kind.__module__, kind.__name__) == ("msgspec", "UnsetType")


def _substitute(annotation: Any) -> Any:  # noqa: ANN401 - any form of type
    """Return the substitute for a type unknown to pydantic or without values; None for others."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    cls = origin or annotation
    item = Any
    if arguments:
        item = arguments[0]
    if cls in _LISTS or (cls is collections.abc.Sequence and item is Any):  # pydantic accepts text for the latter
        return list[item]
    if cls in _STREAMS:
        return Annotated[list[item], AfterValidator(iter)]
    if cls is typing.Final or cls in READ_ONLY:
        return item
    if not arguments and is_hashable(cls) and cls in _SUBSTITUTES:
        return _SUBSTITUTES[cls]
    return model_type(cls, arguments)


class _Substitutes:
    def __init__(self, namespace: dict[str, Any], *, records: bool) -> None:
        self._namespace = namespace
        self._records = records
        self._known: dict[object, Any] = {}
        self._hints_of: dict[object, dict[str, Any]] = {}

    def of(self, annotation: Any) -> Any:  # noqa: ANN401 - any form of type
        cls: Any = typing.get_origin(annotation) or annotation
        if self._has_fields(cls):
            return self._of_class(annotation, cls)
        if is_alias(cls):
            if annotation not in self._known:
                self._known[annotation] = annotation  # for references to itself
                variables = dict(zip(cls.__type_params__, typing.get_args(annotation), strict=False))
                value = substitute(cls.__value__, variables)
                changed = self.of(value)
                self._known[annotation] = annotation if changed is value else changed
            return self._known[annotation]
        instead = _substitute(annotation)
        if instead is None:
            arguments = typing.get_args(annotation)
            if any(map(_is_unset, arguments)):
                remaining = tuple(argument for argument in arguments if not _is_unset(argument))
                return self.of(Union[remaining])  # noqa: UP007 - the members are known at run time only
            changed = rebuilt(annotation, self.of)
            metadata = typing.get_args(changed)[1:]
            if typing.get_origin(changed) is Annotated and any(map(is_struct_meta, metadata)):
                items = [field_info(item) if is_struct_meta(item) else item for item in metadata]
                changed = Annotated[typing.get_args(changed)[0], *items]
            if (text := _unread_text(annotation)) is None:
                return changed
            return Annotated[changed, Field(description=text)]
        return self.of(instead)

    def _has_fields(self, kind: object) -> bool:
        return has_fields(kind) and not (self._records and is_foreign(kind))

    def _of_class(self, annotation: Any, cls: Any) -> Any:  # noqa: ANN401 - any form of type
        if annotation in self._known:
            return self._known[annotation]
        if not self._reaches(annotation, set()):
            return annotation
        hints = self._hints(annotation)
        if is_typed_dict(cls):
            substitute = self._known[annotation] = empty_typed_dict(cls)
            entries: dict[str, Any] = {}
            for name, hint in hints.items():
                inner, is_required = typed_dict_entry(cls, name, hint)
                if is_required:
                    entries[name] = Required[self.of(inner)]
                else:
                    entries[name] = NotRequired[self.of(inner)]
            set_entries(substitute, entries)
        elif self._records:
            substitute = self._known[annotation] = empty_typed_dict(cls)
            setattr(substitute, CLOSED, True)
            names = [field.name for field in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else cls._fields
            set_entries(substitute, {name: Required[self.of(hints.get(name, Any))] for name in names})
        else:
            self._known[annotation], fill = record_substitute(record_of(cls, hints))
            fill(self.of)
        return self._known[annotation]

    def _reaches(self, annotation: Any, seen: set[object]) -> bool:  # noqa: ANN401 - any form of type
        """Return whether a type contains one that has a substitute."""
        if is_hashable(annotation):
            if annotation in seen:
                return False
            seen.add(annotation)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        cls: Any = origin or annotation
        if self._has_fields(cls):
            return self._class_reaches(annotation, cls, seen)
        if origin is Literal:
            return False
        # Pydantic reads no texts outside a `Field`, and no constraints of msgspec.
        is_unread = origin is Annotated and any(map(is_struct_meta, arguments[1:]))
        if _is_unset(annotation) or _substitute(annotation) is not None or is_unread or _unread_text(annotation):
            return True
        inner = [*arguments[:1]] if origin is Annotated else [*arguments]
        if is_alias(cls):
            inner.append(cls.__value__)
        return any(self._reaches(item, seen) for item in inner)

    def _class_reaches(self, annotation: Any, kind: Any, seen: set[object]) -> bool:  # noqa: ANN401 - any form of type
        is_refused = typing.is_typeddict(kind) and not _TYPED_DICT_IS_TAKEN
        if self._records or is_foreign(kind) or is_refused:
            return True
        try:
            hints = self._hints(annotation)
        except Exception:  # noqa: BLE001 - an annotation may raise anything, and pydantic says what is wrong with it
            return False
        return any(self._reaches(hint, seen) for hint in hints.values())

    def _hints(self, annotation: Any) -> dict[str, Any]:  # noqa: ANN401 - any form of type
        if annotation not in self._hints_of:
            cls = typing.get_origin(annotation) or annotation
            try:
                hints = typing.get_type_hints(cls, include_extras=True)
            except NameError:  # a class local to a function: its module does not have its neighbors
                names = {**self._namespace, **type_parameters(cls), cls.__name__: cls}
                hints = typing.get_type_hints(cls, localns=names, include_extras=True)
            variables = variables_of_type(annotation)
            self._hints_of[annotation] = {name: substitute(hint, variables) for name, hint in hints.items()}
        return self._hints_of[annotation]


def _unread_text(annotation: object) -> str | None:
    """Return an annotation's text, unless it is in a `Field`, where pydantic finds it."""
    text, metadata = own_text(annotation), typing.get_args(annotation)[1:]
    if any(isinstance(item, FieldInfo) and item.description == text for item in metadata):
        return None
    return text
