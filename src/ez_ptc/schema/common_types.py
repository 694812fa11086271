"""The commonest parameter types, described and validated without pydantic's slow schema generation."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic_core import CoreSchema, core_schema

__all__ = ["PlainType", "plain_type"]


@dataclass(frozen=True, slots=True)
class PlainType:
    """A type as a pydantic core schema and as JSON Schema, and the names of the definitions inlined in the latter."""

    core: CoreSchema
    described: dict[str, Any]
    definitions: frozenset[str] = frozenset()


_PLAIN: Final[Mapping[object, PlainType]] = {
    str: PlainType(core_schema.str_schema(), {"type": "string"}),
    int: PlainType(core_schema.int_schema(), {"type": "integer"}),
    float: PlainType(core_schema.float_schema(), {"type": "number"}),
    bool: PlainType(core_schema.bool_schema(), {"type": "boolean"}),
    list: PlainType(core_schema.list_schema(core_schema.any_schema()), {"type": "array"}),
    dict: PlainType(core_schema.dict_schema(core_schema.any_schema(), core_schema.any_schema()), {"type": "object"}),
}


def plain_type(annotation: object) -> PlainType | None:
    """Return the schemas of a common type, equal to those pydantic generates; None for any other type.

    Common types are `str`, `int`, `float`, `bool`, `list`, `dict`, a `Literal` of texts, a list of these or a dict of
    them by text, and each of them or None.
    """
    if isinstance(annotation, type) and not isinstance(annotation, GenericAlias):
        type_ = _PLAIN.get(annotation)
        return type_ and PlainType(type_.core, dict(type_.described))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is list and arguments:
        inner = plain_type(arguments[0])
        return inner and PlainType(core_schema.list_schema(inner.core), {"type": "array", "items": inner.described})
    if origin is dict and arguments[:1] == (str,):
        inner = plain_type(arguments[1])
        return inner and PlainType(
            core_schema.dict_schema(core_schema.str_schema(), inner.core),
            {"type": "object", "additionalProperties": inner.described},
        )
    if origin is Literal and all(type(value) is str for value in arguments):
        return PlainType(core_schema.literal_schema([*arguments]), {"type": "string", "enum": [*arguments]})
    if origin in (Union, UnionType) and arguments[1:] == (NoneType,):
        inner = plain_type(arguments[0])
        return inner and PlainType(
            core_schema.nullable_schema(inner.core), {"anyOf": [inner.described, {"type": "null"}]}
        )
    return None
