"""The published form of seed 003: `function_to_tool` and `type_to_json_schema`.

There are three steps. `plain_types` gives each annotation a type that pydantic describes without refusing it, the
native generator describes these types, and `to_published_form` rewrites its schema in the forms of the published
tables: `oneOf` for a union, the type alone for an optional one, only the values of an enumeration, a string for any
type without a row. A tool's own schema (`schema.functions`) says more, and is what arguments are checked against.
"""

import inspect
import json
from collections.abc import Callable, Hashable, Mapping
from types import FrameType, NoneType, UnionType
from typing import Any, Final, ForwardRef, Literal, cast, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.docstrings import docstring_of, prose
from ez_ptc.schema.annotations.partials import has_bound_arguments
from ez_ptc.schema.annotations.plain_types import LENIENT, plain_types, unwrap
from ez_ptc.schema.annotations.resolution import innermost
from ez_ptc.schema.annotations.signatures import EMPTY, FunctionParameter, literal_text, read_signature
from ez_ptc.schema.annotations.substitutes import own_texts
from ez_ptc.schema.definitions import inline_definitions
from ez_ptc.schema.types import REFUSALS, NativeJsonSchema, json_schema, record_adapter

__all__ = ["function_to_tool", "publish_schemas", "published_schemas", "to_published_form", "type_to_json_schema"]

_VALUE: Final = "value"
_TYPE_NAMES: Final[dict[object, str]] = {EMPTY: "str", NoneType: "None", None: "None", Ellipsis: "..."}
_STRING: Final[JsonSchemaValue] = {"type": "string"}
_NULL: Final[JsonSchemaValue] = {"type": "null"}
_FORMATS: Final = ("date-time", "date", "time")
# The keywords of the published tables, in their order.
_KEYWORDS: Final = (
    "$ref",
    "type",
    "enum",
    "format",
    "contentEncoding",
    "items",
    "uniqueItems",
    "prefixItems",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "additionalProperties",
    "oneOf",
)


@explain_calls(checks="func")
def function_to_tool(func: Callable[..., object]) -> dict[str, Any]:
    """Return a function as a tool definition in OpenAI's format: its name, docstring and parameters.

    Each parameter is described by its name, its type and the text in its annotation; it is required unless it has a
    default. `*args` and `**kwargs` are left out. Raises `ValueError` for a function without a docstring, and
    `SchemaError` for an object without a signature and for a method without its object.
    """
    if not callable(func):
        message = f"expected a function, got {type(func).__name__}"
        raise SchemaError(message)
    # A Tool, for example.
    while not (inspect.isroutine(func) or has_bound_arguments(func)) and hasattr(func, "__wrapped__"):
        func = cast("Callable[..., object]", vars(func)["__wrapped__"])
    name = _name(func)
    docstring = docstring_of(func)
    if not docstring:
        message = f"{name} has no docstring, so a model cannot know what it does: write one"
        raise ValueError(message)
    signature = read_signature(func, name=name, lenient=True)
    parameters = [parameter for parameter in signature.parameters if not parameter.is_context]
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    properties, definitions = published_schemas(annotations, signature.namespace)
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    for parameter in parameters:
        described = {**properties[parameter.name], "description": _description(parameter)}
        schema["properties"][parameter.name] = described
        default = parameter.default
        if default is EMPTY or (isinstance(default, FieldInfo) and default.is_required()):
            schema["required"].append(parameter.name)
    if definitions:
        schema["$defs"] = definitions
    function = {"name": name, "description": prose(docstring) or docstring, "parameters": schema}
    return {"type": "function", "function": function}


@explain_calls
def type_to_json_schema(tp: object) -> dict[str, Any]:
    """Return a type as JSON Schema, or `{"type": "string"}` for a type that JSON cannot carry.

    Definitions are inlined; a type that contains itself has its own in `$defs`. Names in forward references are looked
    up in the caller's frame.
    """
    decorator: FrameType | None = getattr(inspect.currentframe(), "f_back", None)
    caller: FrameType | None = getattr(decorator, "f_back", None)
    namespace: dict[str, Any] = {} if caller is None else {**caller.f_globals, **caller.f_locals}
    properties, definitions = published_schemas({_VALUE: tp}, namespace)
    schema = {key: value for key, value in properties[_VALUE].items() if key != "description"}
    if definitions:
        return {**schema, "$defs": definitions}
    return schema


def publish_schemas(
    types: Mapping[str, object], namespace: dict[str, Any]
) -> tuple[dict[str, JsonSchemaValue], JsonSchemaValue]:
    """Return the published schema of each type, and the definitions of the types that contain themselves.

    Classes among the types may refer to names of `namespace`. Raises one of `schema.types.REFUSALS` if pydantic refuses
    a type.
    """
    adapter = record_adapter("described", types, namespace, config=LENIENT)
    schema = to_published_form(json_schema(adapter, generator=_LenientJsonSchema))
    return schema["properties"], schema.get("$defs", {})


def to_published_form(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return a native schema in the published form, its definitions inlined."""
    definitions: dict[str, JsonSchemaValue] = schema.get("$defs", {})
    return inline_definitions({**_form(schema), "$defs": {name: _form(inner) for name, inner in definitions.items()}})


class _LenientJsonSchema(NativeJsonSchema):
    """The native generator, with a string where the native one refuses, or has a number beside the text."""

    def handle_invalid_for_json_schema(self, schema: object, error_info: str) -> JsonSchemaValue:
        del schema, error_info
        return dict(_STRING)

    def decimal_schema(self, schema: object) -> JsonSchemaValue:
        del schema
        return dict(_STRING)

    def fraction_schema(self, schema: object) -> JsonSchemaValue:
        del schema
        return dict(_STRING)


def published_schemas(
    annotations: Mapping[str, object], namespace: dict[str, Any]
) -> tuple[dict[str, JsonSchemaValue], JsonSchemaValue]:
    """Same as `publish_schemas`, but with strings for types that pydantic refuses, and for missing ones."""
    annotations = {name: str if annotation is EMPTY else annotation for name, annotation in annotations.items()}

    def is_usable(annotation: object) -> bool:
        try:
            publish_schemas({_VALUE: annotation}, namespace)
        except REFUSALS:
            return False
        return True

    try:
        return publish_schemas(plain_types(annotations, namespace, is_usable=lambda _: True), namespace)
    except REFUSALS:
        return publish_schemas(plain_types(annotations, namespace, is_usable=is_usable), namespace)


# --- The form of a schema ---------------------------------------------------------------------------------------------


def _form(schema: object) -> JsonSchemaValue:
    """Return a schema in the published form, without its description."""
    if not isinstance(schema, dict):
        return dict(_STRING)
    schema = _without_null(cast("JsonSchemaValue", schema))
    form: JsonSchemaValue = {key: schema[key] for key in _KEYWORDS if key in schema}
    if form.get("format") not in _FORMATS:
        form.pop("format", None)
    if form.get("type") == "array" and "prefixItems" in form:
        form["prefixItems"] = list(map(_form, form["prefixItems"]))
    elif form.get("type") == "array" and form.get("maxItems") != 0:
        form = {key: value for key, value in form.items() if key not in ("minItems", "maxItems")}
        form["items"] = _form(form.get("items"))
    elif form.get("type") == "object":
        form = _object_form(schema)
    branches = map(_form, schema.get("anyOf", schema.get("oneOf", ())))
    # No value fits exactly one of two equal branches.
    unique = list({json.dumps(branch): branch for branch in branches}.values())
    if len(unique) == 1:
        form = {**unique[0], **{key: value for key, value in form.items() if key != "oneOf"}}
    elif unique:
        form["oneOf"] = unique
    return form if form.keys() & {"$ref", "type", "enum", "oneOf"} and form != _NULL else dict(_STRING)


def _without_null(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return an optional schema as the one of its value; None has no form of its own."""
    branches = [branch for branch in schema.get("anyOf", ()) if branch != _NULL]
    if not branches:
        return schema
    siblings = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(branches) == 1 and isinstance(branches[0], dict):
        return _without_null({**branches[0], **siblings})
    return {**siblings, "anyOf": branches}


def _object_form(schema: JsonSchemaValue) -> JsonSchemaValue:
    if "properties" not in schema:
        by_pattern = [*schema.get("patternProperties", {}).values(), None]
        return {"type": "object", "additionalProperties": _form(schema.get("additionalProperties", by_pattern[0]))}
    properties: dict[str, JsonSchemaValue] = {}
    for name, inner in schema["properties"].items():
        properties[name] = _form(inner)
        if (text := _without_null(inner).get("description")) is not None:
            properties[name]["description"] = text
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


# --- The texts of a function ------------------------------------------------------------------------------------------


def _name(function: Callable[..., object]) -> str:
    name: str | None = getattr(function, "__name__", None) or getattr(innermost(function), "__name__", None)
    if name is None or name == "__call__":
        return type(function).__name__
    return name


def _description(parameter: FunctionParameter) -> str:
    texts = own_texts(parameter.annotation)
    if isinstance(parameter.default, FieldInfo) and parameter.default.description:  # city: str = Field(description=…)
        texts.append(parameter.default.description)
    description = f"Parameter {parameter.name} of type {_annotation_repr(parameter.annotation)}"
    text = "; ".join(map(str.strip, texts))
    if text:
        return f"{description}: {text}"
    return description


def _annotation_repr(annotation: object) -> str:
    """Write a type as `repr` does, without modules, and an Enum's member by its value."""
    annotation = unwrap(annotation)
    if isinstance(annotation, str | ForwardRef):
        return annotation if isinstance(annotation, str) else annotation.__forward_arg__
    if isinstance(annotation, Hashable) and annotation in _TYPE_NAMES:
        return _TYPE_NAMES[annotation]
    if isinstance(annotation, list):
        return f"[{', '.join(map(_annotation_repr, cast('list[object]', annotation)))}]"
    arguments = get_args(annotation)
    if isinstance(annotation, UnionType):
        return " | ".join(map(_annotation_repr, arguments))
    name = getattr(annotation, "__name__", None)
    head = name if isinstance(name, str) else repr(annotation)
    if not arguments:
        return head
    if get_origin(annotation) is Literal:
        texts = map(literal_text, arguments)
    else:
        members = arguments if head != "Optional" else (argument for argument in arguments if argument is not NoneType)
        texts = map(_annotation_repr, members)
    return f"{head}[{', '.join(texts)}]"
