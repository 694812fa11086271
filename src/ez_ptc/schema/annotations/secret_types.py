"""Types with secrets in them, by their annotations: serializers and validators may hide these from schemas."""

import typing
from collections.abc import Iterator, Mapping
from dataclasses import InitVar
from typing import Any, Final, NewType, TypeVar, cast, get_args, get_origin

from pydantic import Secret, SecretBytes, SecretStr
from pydantic_core import core_schema

from ez_ptc.schema.annotations.generics import is_alias
from ez_ptc.schema.annotations.records import has_fields
from ez_ptc.schema.annotations.resolution import alias_value
from ez_ptc.schema.sensitive import Sensitive

__all__ = ["has_secrets", "secret_fields"]

_CLASSES: Final = (Secret, SecretBytes, SecretStr, Sensitive)
_NAMES: Final = ("Secret", "Sensitive")
_FIELDS: Final = frozenset({"model-fields", "dataclass-args", "typed-dict"})


def has_secrets(*annotations: object) -> bool:
    """Return whether types, their metadata or any types in them are secret: pydantic's secrets, or `Sensitive`."""
    # By their ids, because some cannot be hashed. They are kept, so no other object gets such an id.
    unread, known = list(annotations), dict[int, object]()
    while unread:
        item: Any = unread.pop()
        if id(item) in known:
            continue
        known[id(item)] = item
        if isinstance(item, Sensitive) or (isinstance(item, type) and issubclass(item, _CLASSES)):
            return True
        unread += (get_origin(item), *get_args(item), *_inner_types(item))
    return False


def secret_fields(schema: core_schema.CoreSchema) -> Iterator[object]:
    """Yield the core schemas of the fields with secrets in a record's core schema; none in any other."""
    node: Any = schema
    cls: Any = node.get("cls")
    while node is not None and node["type"] not in _FIELDS:
        node = node.get("schema")
    if cls is None or node is None:
        return
    fields: Any = node["fields"]
    if isinstance(fields, list):  # of a dataclass
        fields = {field["name"]: field for field in cast("list[Any]", fields)}
    types = _field_types(cls)
    for name, field in cast("dict[str, object]", fields).items():
        if has_secrets(*types.get(name, ())):
            yield field


def _inner_types(item: Any) -> Iterator[object]:  # noqa: ANN401 - any form of type
    """Yield what `typing` does not know as the arguments of a type."""
    if is_alias(item):
        yield alias_value(item)
    elif isinstance(item, NewType):
        yield item.__supertype__
    elif isinstance(item, TypeVar):
        yield item.__bound__
        yield from item.__constraints__
    elif isinstance(item, InitVar):
        yield cast("Any", item).type
    elif isinstance(item, type):
        for types in _field_types(item).values():
            yield from types


def _field_types(cls: Any) -> Mapping[str, tuple[object, ...]]:  # noqa: ANN401 - any class
    """Return the type of each field of a class, and its metadata, by its name in Python."""
    fields: dict[str, Any] | None = getattr(cls, "__pydantic_fields__", None)
    if isinstance(fields, dict):
        return {name: (field.annotation, *field.metadata) for name, field in fields.items()}
    if not has_fields(cls):
        return {}
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - the text of an annotation is an expression and may raise anything
        # Of a class within a function, where only its text tells: rather one mask too many.
        hints = dict[str, Any]()
        for base in cast("tuple[type, ...]", cls.__mro__):
            written: dict[str, Any] = getattr(base, "__annotations__", {})
            hints |= {name: Sensitive for name, hint in written.items() if any(word in str(hint) for word in _NAMES)}
    return {name: (hint,) for name, hint in hints.items()}
