"""The limits of strict schemas."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.keywords import Schema
from ez_ptc.schema.standard.references import PREFIX

__all__ = ["check_limits", "check_unions", "unions"]

# OpenAI's guide to structured outputs, "Supported schemas".
_PROPERTIES: Final = 5000
_LEVELS: Final = 10
_CHARACTERS: Final = 120_000
_VALUES: Final = 1000
_LONG_ENUM: Final = 250
_ENUM_CHARACTERS: Final = 15_000


def check_limits(tool: str, schema: Mapping[str, Any], *, recursive: bool) -> None:
    """Raise `SchemaError`, naming the limit, for a strict schema that is too large or illegally recursive."""
    subschemas = list(_parts(schema))
    names = [name for item in subschemas for name in item.get("properties", {})]
    enums: list[list[object]] = [item["enum"] for item in subschemas if "enum" in item]
    values = [value for enum in enums for value in enum]
    texts = [*names, *schema.get("$defs", {}), *(str(value) for value in values)]
    _at_most(tool, len(names), _PROPERTIES, "properties")
    _at_most(tool, len(values), _VALUES, "enum values")
    _at_most(tool, sum(map(len, texts)), _CHARACTERS, "characters of names and enum values")
    for enum in enums:
        if len(enum) > _LONG_ENUM:
            _at_most(tool, sum(len(str(value)) for value in enum), _ENUM_CHARACTERS, "characters in one enum")

    # Levels of objects are counted depth first, following each $ref.
    definitions: dict[str, Schema] = schema.get("$defs", {})
    deepest: dict[str, int] = {}
    waiting: list[tuple[Mapping[str, Any], tuple[str, ...], int]] = [(schema, (), 0)]
    while waiting:
        subschema, inside, level = waiting.pop()
        level += subschema.get("type") == "object"
        _at_most(tool, level, _LEVELS, "levels of objects in each other")
        waiting += [(item, inside, level) for item in reversed([*_inner(subschema)])]
        name = subschema.get("$ref", "").removeprefix(PREFIX)
        if name in inside and not recursive:
            _refuse(
                tool, f"its schema contains itself ($ref to {safe_repr(name)}), and strict mode takes none that does"
            )
        # A definition is visited again only at a new depth, else the time could grow exponentially.
        if name and name not in inside and deepest.get(name, -1) < level:
            deepest[name] = level
            waiting.append((definitions[name], (*inside, name), level))


def check_unions(tool: str, schema: Mapping[str, Any], *, unions: int, optional: int) -> None:
    """Raise `SchemaError` for a strict schema with more unions or optional properties than a provider accepts."""
    subschemas = list(_parts(schema))
    optional_count = sum(len(item["properties"]) - len(item["required"]) for item in subschemas if "properties" in item)
    _at_most(tool, sum("anyOf" in item for item in subschemas), unions, "parameters that may be of several types")
    _at_most(tool, optional_count, optional, "optional parameters")


def unions(schema: Mapping[str, Any]) -> int:
    """Return the number of unions in a strict schema."""
    return sum("anyOf" in item for item in _parts(schema))


def _at_most(tool: str, found: int, most: int, things: str) -> None:
    if found > most:
        _refuse(tool, f"its schema has {found} {things}, and strict mode takes at most {most}")


def _refuse(tool: str, problem: str) -> NoReturn:
    message = f"{tool}: {problem}: describe it with a smaller schema, or use strict=False"
    raise SchemaError(message)


def _inner(schema: Mapping[str, Any]) -> Iterator[Schema]:
    yield from schema.get("anyOf", ())
    yield from schema.get("properties", {}).values()
    if "items" in schema:
        yield schema["items"]


def _parts(schema: Mapping[str, Any]) -> Iterator[Schema]:
    waiting: list[Schema] = [cast("Schema", schema), *schema.get("$defs", {}).values()]
    while waiting:
        subschema = waiting.pop()
        yield subschema
        waiting.extend(_inner(subschema))
