"""The plain JSON Schema of a function's arguments: annotated parameters, as pydantic describes their types."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Final, Union, cast, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.resolution import lasting_names
from ez_ptc.schema.annotations.signatures import (
    EMPTY,
    FunctionParameter,
    Signature,
    annotation_text,
    innermost,
    read_signature,
)
from ez_ptc.schema.annotations.substitutes import substitute_maker
from ez_ptc.schema.types import REFUSALS, refusal_text

__all__ = ["generate_tool_schema", "schema_maker"]

_PREFIX: Final = "#/$defs/"


@explain_calls(checks="func")
def generate_tool_schema(func: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema of a function's arguments, from its annotations alone.

    It has the annotated parameters, as pydantic's `TypeAdapter` describes their types, without their defaults.
    `required` is always present: the parameters without a default that do not accept None. Definitions are at the root.
    It is the `schema` of `Tool.from_function(func)`. Raises SchemaError if `func` is not a function, or if JSON cannot
    carry an annotation.
    """
    if not callable(func):
        message = f"expected a function, got {type(func).__name__}"
        raise SchemaError(message)
    name = str(getattr(innermost(func), "__name__", type(func).__name__))
    return _annotated_schema(name, read_signature(func, name=name))


def schema_maker(tool: str, function: Callable[..., object], signature: Signature) -> Callable[[], dict[str, Any]]:
    """Return what makes the schema of a function, at its first call if possible.

    It keeps none of the variables around the function alive.
    """
    lasting = replace(signature, namespace=lasting_names(function, signature.namespace))
    if lasting.namespace is not signature.namespace:
        # Local classes may use any variable that there is now.
        with contextlib.suppress(SchemaError):
            return _annotated_schema(tool, signature).copy
    return cache(partial(_annotated_schema, tool, lasting))


def _annotated_schema(tool: str, signature: Signature) -> dict[str, Any]:
    """Return the schema of a signature as `generate_tool_schema` does; `tool` is the function's name in errors."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    definitions: dict[str, Any] = {}
    for parameter in signature.parameters:
        if parameter.annotation is EMPTY or parameter.hidden or parameter.is_context:
            continue
        # As `get_type_hints` does without `include_extras`: metadata in `Annotated` are dropped.
        holder = SimpleNamespace(__annotations__={"it": parameter.annotation})
        annotation = get_type_hints(holder, signature.namespace)["it"]
        try:
            schema = _type_schema(annotation, signature.namespace)
        except REFUSALS as error:
            if not _is_required(parameter):  # the function's own default is the only value it can have
                continue
            text = annotation_text(parameter.annotation)
            message = f"{tool}: parameter {parameter.name!r} cannot be of type {text} {refusal_text(error, annotation)}"
            raise SchemaError(message) from error
        properties[parameter.name] = _hoist_definitions(schema, definitions)
        is_optional = get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation)
        if _is_required(parameter) and not is_optional:
            required.append(parameter.name)
    schema = {"type": "object", "properties": properties, "required": required}
    if definitions:
        return {**schema, "$defs": definitions}
    return schema


def _is_required(parameter: FunctionParameter) -> bool:
    default = parameter.default
    return default is EMPTY or (isinstance(default, FieldInfo) and default.is_required())


def _type_schema(annotation: object, namespace: dict[str, Any], *, is_substitute: bool = False) -> dict[str, Any]:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", annotation))
        if not adapter.pydantic_complete:
            adapter.rebuild(force=True, _types_namespace=namespace)
        return adapter.json_schema()
    except REFUSALS:  # such as a `typing.TypedDict` before Python 3.12
        if is_substitute:
            raise
        return _type_schema(substitute_maker(namespace)(annotation), namespace, is_substitute=True)


def _hoist_definitions(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Move a schema's definitions to those of all parameters, where its references lead.

    Classes of several modules may have one name; the later ones get a number.
    """
    inner: dict[str, Any] = schema.pop("$defs", {})
    moved: dict[str, str] = {}
    for name, item in inner.items():
        number, free = 1, name
        while definitions.get(free, item) != item:
            number += 1
            free = f"{name}_{number}"
        if free != name:
            moved[name] = free
    for name, item in inner.items():
        definitions[moved.get(name, name)] = _with_references(item, moved)
    return cast("dict[str, Any]", _with_references(schema, moved))


def _with_references(part: object, moved: dict[str, str]) -> object:
    if not moved:
        return part
    if isinstance(part, list):
        return [_with_references(item, moved) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    fields = {key: _with_references(value, moved) for key, value in cast("dict[str, object]", part).items()}
    ref = fields.get("$ref")
    if isinstance(ref, str) and ref.removeprefix(_PREFIX) in moved:
        fields["$ref"] = _PREFIX + moved[ref.removeprefix(_PREFIX)]
    return fields
