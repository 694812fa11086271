"""Parameters written by hand, one by one, and a JSON Schema read back as such a list."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.safe_repr import safe_line, safe_repr

__all__ = ["ParameterType", "ToolParameter", "parameter_list", "parameters_schema"]


class ParameterType(Enum):
    """The types of JSON Schema that a parameter may have."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One parameter of a tool that is made by hand.

    Attributes:
        name: What the function calls it.
        param_type: Its type.
        description: What a person would say of it; a model reads it.
        required: Whether a call must pass it.
        enum: The values that it may have, or None for any; numbers and other types may be given as JSON text.
        default: What it is when a call leaves it out; None leaves that to the function.
        items_type: The type of an array's items, or None for any.
    """

    name: str
    param_type: ParameterType
    description: str
    required: bool = True
    enum: list[str] | None = None
    default: Any = None
    items_type: ParameterType | None = None


_UNIONS: Final = ("anyOf", "oneOf")
_DEPTH: Final = 4
_FORMS: Final[Mapping[ParameterType, type | tuple[type, ...]]] = {
    ParameterType.STRING: str,
    ParameterType.INTEGER: int,
    ParameterType.NUMBER: (int, float),
    ParameterType.BOOLEAN: bool,
    ParameterType.ARRAY: list,
    ParameterType.OBJECT: dict,
}
_TYPES: Final = {each.value: each for each in ParameterType}


def parameters_schema(tool: str, parameters: Sequence[ToolParameter]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these parameters. Raises SchemaError for what is no list of them."""
    properties: dict[str, Any] = {}
    for each in parameters:
        _check(tool, each)
        if each.name in properties:
            message = f"{tool}: two parameters are called {safe_repr(each.name)}: give one another name"
            raise SchemaError(message)
        properties[each.name] = _property(tool, each)
    required = [each.name for each in parameters if each.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def parameter_list(schema: Mapping[str, Any]) -> list[ToolParameter]:
    """Return the properties of an object's JSON Schema as far as `ToolParameter` can say them.

    A type that it has no word for is STRING; of a union, the first type that it has a word for.
    """
    properties = cast("Mapping[str, object]", schema.get("properties", {}))
    required = cast("Sequence[str]", schema.get("required", ()))
    return [_parameter(name, _referred(each, schema), name in required) for name, each in properties.items()]


def _check(tool: str, parameter: object) -> None:
    if not isinstance(parameter, ToolParameter):
        message = (
            f"{tool}: a parameter is a ToolParameter, got {type(parameter).__name__}: write ToolParameter(name=...)"
        )
        raise SchemaError(message)
    for kind in (parameter.param_type, parameter.items_type or ParameterType.STRING):
        if not isinstance(kind, ParameterType):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            names = ", ".join(each.name for each in ParameterType)
            message = (
                f"{tool}: parameter {safe_repr(parameter.name)} has the type {safe_line(repr(kind))}: write "
                f"ParameterType.STRING or another of its members ({names})"
            )
            raise SchemaError(message)


def _property(tool: str, parameter: ToolParameter) -> dict[str, Any]:
    described: dict[str, Any] = {"type": parameter.param_type.value, "description": parameter.description}
    if parameter.enum is not None:
        described["enum"] = [_choice(tool, parameter, value) for value in parameter.enum]
    if parameter.items_type is not None:
        described["items"] = {"type": parameter.items_type.value}
    if parameter.default is not None:
        described["default"] = parameter.default
    return described


def _choice(tool: str, parameter: ToolParameter, value: object) -> object:
    """Return a value of an enumeration as a call passes it. Raises SchemaError for one that no call can pass."""
    kind = parameter.param_type
    parsed: object = value
    if isinstance(value, str) and kind is not ParameterType.STRING:
        with suppress(ValueError, RecursionError):
            parsed = json.loads(value)
    if isinstance(parsed, _FORMS[kind]) and (kind is ParameterType.BOOLEAN or not isinstance(parsed, bool)):
        return cast("object", parsed)
    message = (
        f"{tool}: parameter {safe_repr(parameter.name)} is of the type {kind.name}, and its enum has "
        f"{safe_repr(value)}, which no call can pass: write a value of that type"
    )
    raise SchemaError(message)


def _parameter(name: str, schema: Mapping[str, object], required: bool) -> ToolParameter:  # noqa: FBT001 - a private step
    choices = schema.get("enum")
    values = cast("list[object]", choices) if isinstance(choices, list) else []
    kind = _kind(schema)
    items = _mapping(schema.get("items"))
    return ToolParameter(
        name=name,
        param_type=kind or ParameterType.STRING,
        description=str(schema.get("description", "")),
        required=required,
        enum=_choices(values, kind) or None,
        default=schema.get("default"),
        items_type=(_kind(items) or ParameterType.STRING) if kind is ParameterType.ARRAY and items else None,
    )


def _choices(values: Sequence[object], kind: ParameterType | None) -> list[str]:
    if kind in (None, ParameterType.STRING):
        return [each for each in values if isinstance(each, str)]
    return [json.dumps(each) for each in values if each is not None]


def _referred(part: object, root: Mapping[str, object], depth: int = _DEPTH) -> Mapping[str, object]:
    """Return a part of a schema with the definitions that its type is by, as its items' or a union's is."""
    schema = _mapping(part)
    reference = schema.get("$ref")
    if not depth:
        return schema
    if isinstance(reference, str):
        found: object = root
        for step in reference.removeprefix("#").split("/")[1:]:
            found = _mapping(found).get(step)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_referred(found, root, depth - 1), **beside}
    changed = dict(schema)
    if "items" in schema:
        changed["items"] = _referred(schema["items"], root, depth - 1)
    for keyword in _UNIONS:
        if isinstance(branches := schema.get(keyword), list):
            changed[keyword] = [_referred(each, root, depth - 1) for each in cast("list[object]", branches)]
    return changed


def _kind(schema: Mapping[str, object]) -> ParameterType | None:
    kinds = schema.get("type")
    for kind in cast("list[object]", kinds) if isinstance(kinds, list) else [kinds]:
        if isinstance(kind, str) and kind in _TYPES:
            return _TYPES[kind]
    for keyword in _UNIONS:
        branches = schema.get(keyword)
        for branch in cast("list[object]", branches) if isinstance(branches, list) else []:
            if (found := _kind(_mapping(branch))) is not None:
                return found
    return None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
