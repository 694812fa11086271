"""Handwritten tool parameters: a list of `ToolParameter` to JSON Schema, and back."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, cast

from ez_ptc._wrong_calls import explain_calls
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


# The types of unions by the ids of their branches, which are kept, so that no others get their ids.
_UnionTypes = dict[int, tuple[list[object], ParameterType | None]]


@explain_calls(checks="enum")
@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One handwritten parameter of a tool.

    Attributes:
        name: The function's parameter name.
        param_type: The type.
        description: A description for the model.
        required: Whether a call must pass it.
        enum: The allowed values, or None for any; values of other types than strings may be JSON text.
        default: The value if a call omits it; None leaves it to the function.
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
_MAX_DEPTH: Final = 4
_PYTHON_TYPES: Final[Mapping[ParameterType, type | tuple[type, ...]]] = {
    ParameterType.STRING: str,
    ParameterType.INTEGER: int,
    ParameterType.NUMBER: (int, float),
    ParameterType.BOOLEAN: bool,
    ParameterType.ARRAY: list,
    ParameterType.OBJECT: dict,
}
_TYPES: Final = {member.value: member for member in ParameterType}


def parameters_schema(tool: str, parameters: Sequence[ToolParameter]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these parameters. Raises SchemaError for an invalid list."""
    properties: dict[str, Any] = {}
    for parameter in parameters:
        _check(tool, parameter)
        if parameter.name in properties:
            message = f"{tool}: two parameters are called {safe_repr(parameter.name)}: give one another name"
            raise SchemaError(message)
        property_: dict[str, Any] = {"type": parameter.param_type.value, "description": parameter.description}
        if parameter.enum is not None:
            property_["enum"] = [_enum_value(tool, parameter, value) for value in parameter.enum]
        if parameter.items_type is not None:
            property_["items"] = {"type": parameter.items_type.value}
        if parameter.default is not None:
            property_["default"] = parameter.default
        properties[parameter.name] = property_
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [parameter.name for parameter in parameters if parameter.required]
    if required:
        schema["required"] = required
    return schema


def parameter_list(schema: Mapping[str, Any]) -> list[ToolParameter]:
    """Return the properties of an object's JSON Schema, as far as `ToolParameter` can express them.

    A union becomes the first of its types that `ParameterType` has; a type it does not have becomes STRING.
    """
    properties = cast("Mapping[str, object]", schema.get("properties", {}))
    required = frozenset(map(str, schema.get("required", ())))
    known: dict[tuple[str, int], Mapping[str, object]] = {}
    types: _UnionTypes = {}
    parameters: list[ToolParameter] = []
    for name, property_ in properties.items():
        resolved = _resolve_references(property_, schema, known)
        type_ = _parameter_type(resolved, types)
        items = _mapping(resolved.get("items"))
        items_type = None
        if type_ is ParameterType.ARRAY and items:
            items_type = _parameter_type(items, types) or ParameterType.STRING
        values = _list(resolved.get("enum"))
        if type_ in (None, ParameterType.STRING):
            texts = [value for value in values if isinstance(value, str)]
        else:
            texts = [json.dumps(value) for value in values if value is not None]
        parameters.append(
            ToolParameter(
                name=name,
                param_type=type_ or ParameterType.STRING,
                description=str(resolved.get("description", "")),
                required=name in required,
                enum=texts or None,
                default=resolved.get("default"),
                items_type=items_type,
            )
        )
    return parameters


def _check(tool: str, parameter: object) -> None:
    if not isinstance(parameter, ToolParameter):
        message = f"{tool}: expected a ToolParameter, got {type(parameter).__name__}: write ToolParameter(name=...)"
        raise SchemaError(message)
    for type_ in (parameter.param_type, parameter.items_type or ParameterType.STRING):
        if not isinstance(type_, ParameterType):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            names = ", ".join(member.name for member in ParameterType)
            message = (
                f"{tool}: parameter {safe_repr(parameter.name)} has the type {safe_line(repr(type_))}: write "
                f"ParameterType.STRING or another of its members ({names})"
            )
            raise SchemaError(message)


def _enum_value(tool: str, parameter: ToolParameter, value: object) -> object:
    """Return an enum value as a call passes it. Raises SchemaError if it does not have the parameter's type."""
    type_ = parameter.param_type
    parsed: object = value
    if isinstance(value, str) and type_ is not ParameterType.STRING:
        with suppress(ValueError, RecursionError):
            parsed = json.loads(value)
    if isinstance(parsed, _PYTHON_TYPES[type_]) and (type_ is ParameterType.BOOLEAN or not isinstance(parsed, bool)):
        return cast("object", parsed)
    message = (
        f"{tool}: parameter {safe_repr(parameter.name)} is of the type {type_.name}, but its enum has "
        f"{safe_repr(value)}: write a value of that type"
    )
    raise SchemaError(message)


def _resolve_references(
    subschema: object,
    root: Mapping[str, object],
    known: dict[tuple[str, int], Mapping[str, object]],
    depth: int = _MAX_DEPTH,
) -> Mapping[str, object]:
    """Return a subschema with the references of its type, items and unions replaced by their definitions.

    Definitions are added to `known`, since many properties may refer to each.
    """
    schema = _mapping(subschema)
    if not depth:
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if (reference, depth) not in known:
            target: object = root
            for step in reference.removeprefix("#").split("/")[1:]:
                target = _mapping(target).get(step)
            known[reference, depth] = _resolve_references(target, root, known, depth - 1)
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return {**known[reference, depth], **siblings}
    resolved = dict(schema)
    if "items" in schema:
        resolved["items"] = _resolve_references(schema["items"], root, known, depth - 1)
    for keyword in _UNIONS:
        if isinstance(schema.get(keyword), list):
            branches = _list(schema[keyword])
            resolved[keyword] = [_resolve_references(branch, root, known, depth - 1) for branch in branches]
    return resolved


def _parameter_type(schema: Mapping[str, object], types: _UnionTypes) -> ParameterType | None:
    """Return a schema's type, adding those of unions to `types`: many properties may refer to one of many branches."""
    declared = schema.get("type")
    for name in _list(declared) or [declared]:
        if isinstance(name, str) and name in _TYPES:
            return _TYPES[name]
    for keyword in _UNIONS:
        branches = _list(schema.get(keyword))
        if branches and id(branches) not in types:
            branch_types = (_parameter_type(_mapping(branch), types) for branch in branches)
            types[id(branches)] = branches, next(filter(None, branch_types), None)
        if branches and (type_ := types[id(branches)][1]) is not None:
            return type_
    return None


def _mapping(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value)
    return {}


def _list(value: object) -> list[object]:
    if isinstance(value, list):
        return cast("list[object]", value)
    return []
