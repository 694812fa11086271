"""Python types as JSON Schema, in the forms of this library.

Unions are `anyOf`, an enumeration is listed by its values, bytes are base64 text, items of a bare list or dict have no
schema, there are no titles, and a default is present only if it is plain JSON. Definitions are at the root.
"""

import json
import typing
from collections.abc import Mapping
from enum import Flag
from functools import cache
from types import CodeType, ModuleType
from typing import Any, Final, Literal, cast

import typing_extensions
from pydantic import ConfigDict, PydanticUndefinedAnnotation, PydanticUserError, Secret, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonRef, JsonSchemaValue
from pydantic_core import SchemaError as CoreSchemaError
from pydantic_core import core_schema

from ez_ptc.schema.annotations.docstrings import parameter_texts, prose
from ez_ptc.schema.annotations.secret_types import has_secrets, secret_fields
from ez_ptc.schema.defaults import NO_DEFAULT, json_default, plain_value
from ez_ptc.schema.sensitive import is_marked

__all__ = ["REFUSALS", "NativeJsonSchema", "json_schema", "record_adapter", "refusal_text"]

# Pydantic's errors for a type it cannot validate or describe, including those from hooks of the type.
REFUSALS: Final = (
    PydanticUserError,
    PydanticUndefinedAnnotation,
    CoreSchemaError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    NameError,
    RuntimeError,
    ArithmeticError,
    AssertionError,
    ImportError,
)

_INSTEAD: Final = (
    "annotate it with what JSON can carry (str, int, float, bool, list, dict, a TypedDict, a dataclass, a pydantic "
    "model), or give it a default to keep it from the model"
)

_NO_CHOICE: Final = "a union of types that JSON cannot carry"
# Types, instead of values that stand for them.
_WRITTEN: Final[Mapping[str, str]] = {
    "dict": "dict[str, int], or a TypedDict with these keys",
    "list": "list[int]",
    "set": "set[int]",
    "tuple": "tuple[int, str], or int | str for either",
}
_KINDS: Final[Mapping[type, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    type(None): "null",
}
# The keywords with further schemas: as values by name, as a list, or as one.
_NAMED: Final = ("properties", "$defs", "patternProperties")
_LISTED: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties", "propertyNames", "not")


_ANY: Final = core_schema.any_schema()
_Field = core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField


def _validator_code(schema: Any) -> CodeType | None:  # noqa: ANN401 - a core schema
    """Return the code of the Python function validating a value, if there is one."""
    function: Any = schema["python_schema"].get("function")
    if not isinstance(function, dict):
        return None
    return getattr(cast("dict[str, object]", function)["function"], "__code__", None)


@cache
def _secret_code() -> CodeType | None:
    """Return the code by which the schema of a `Secret[...]` is known, with any type in it and any serializer."""
    return _validator_code(TypeAdapter(Secret[int]).core_schema)


class NativeJsonSchema(GenerateJsonSchema):
    """Pydantic's generator with the forms of this library."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic declares it so

    def generate(
        self, schema: core_schema.CoreSchema, mode: Literal["validation", "serialization"] = "validation"
    ) -> JsonSchemaValue:
        """Generate as pydantic does, then drop parts without use for a model: titles, and items of any type."""
        self._secret_fields = set[int]()
        self._tagged = list[tuple[JsonSchemaValue, str]]()
        self._root = schema
        root: Any = schema
        cls = root.get("schema", root).get("cls")
        self._may_have_secrets = mode == "validation" and has_secrets(cls)
        return _tidy(super().generate(schema, mode))

    def generate_inner(self, schema: Any) -> JsonSchemaValue:  # noqa: ANN401 - a core schema, or one of a field
        """Mark a field with secrets whose serializer, validator or handwritten schema has hidden them."""
        if self._may_have_secrets:
            self._secret_fields.update(map(id, secret_fields(schema)))
        described = super().generate_inner(schema)
        if schema is self._root and self.mode == "validation":
            # All definitions are complete now.
            for branch, tag in self._tagged:
                self._require_tag(branch, tag)
        if id(schema) in self._secret_fields and not is_marked(described, self._definition):
            return {**described, "writeOnly": True}
        return described

    def _definition(self, reference: str) -> object:
        """Return the target of a reference; a definition in the making marks its fields itself."""
        reference_name = self.json_to_defs_refs.get(JsonRef(reference))
        return self.definitions.get(cast("Any", reference_name), {"writeOnly": True})

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        """Keep the keywords in the order of generation, the type first."""
        del parent_key
        return value

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        """Describe bytes as base64 text; `schema.arguments` decodes it."""
        described = super().bytes_schema(schema)
        described.pop("format", None)
        return {**described, "contentEncoding": "base64"}

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """Describe a decimal as text with a format of its own, to distinguish it from other text."""
        text = {"type": "string", "format": "decimal"}
        if self.mode == "serialization":
            return text
        described = super().decimal_schema(schema)
        branches = described.get("anyOf", ())
        return {
            **described,
            "anyOf": [{**branch, **text} if branch.get("type") == "string" else branch for branch in branches],
        }

    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchemaValue:
        """Mark a `Secret[...]` as secret, as pydantic does only for `SecretStr` and `SecretBytes`."""
        described = super().json_or_python_schema(schema)
        code = _validator_code(schema)
        if code is not None and code is _secret_code():
            return {**described, "writeOnly": True}
        return described

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
        """Describe a complex number as text with a format of its own."""
        return {**super().complex_schema(schema), "format": "complex"}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        """List the values, Enum members by theirs; with a type only if all have the same."""
        described = super().literal_schema(schema)
        return _enumeration(described["enum"] if "enum" in described else [described["const"]])

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        """List the members by their values, with the class's description."""
        described = super().enum_schema(schema)
        if issubclass(schema["cls"], Flag):
            listed: JsonSchemaValue = {"type": "integer"}
            sum_of = ", ".join(f"{item.value} ({item.name})" for item in schema["cls"])
            texts = (described.get("description"), f"A sum of {sum_of}")
            return {**listed, "description": "\n\n".join(text for text in texts if text)}
        listed = _enumeration(described["enum"])
        if "description" in described:
            return {**listed, "description": described["description"]}
        return listed

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        """Refuse a class as a value, which JSON cannot carry."""
        return self.handle_invalid_for_json_schema(schema, f"core_schema.IsSubclassSchema ({schema['cls']})")

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Omit `additionalProperties` if the annotation does not restrict the values."""
        described = super().dict_schema(schema)
        keys_schema = cast("dict[str, Any]", schema.get("keys_schema", _ANY))
        names: list[object] | None = keys_schema.get("expected", keys_schema.get("members"))
        # Keys that are not str in Python are described; str keys and numbers need no words.
        if names is not None and not all(isinstance(plain_value(name), str) for name in names):
            keys = [key if isinstance(key, str) else json.dumps(key) for key in map(plain_value, names)]
            described["propertyNames"] = {"type": "string", "enum": keys}
        elif keys_schema["type"] in ("tuple", "list", "frozenset"):
            described["propertyNames"] = {"description": "JSON text of a list, like '[1, 2]'"}
        says_nothing = keys_schema["type"] == schema.get("values_schema", _ANY)["type"] == "any"
        if described.get("additionalProperties") is True:
            del described["additionalProperties"]
        if says_nothing or described.keys() & {"additionalProperties", "patternProperties"}:
            return described
        return {**described, "additionalProperties": True}

    def arguments_schema(self, schema: core_schema.ArgumentsSchema) -> JsonSchemaValue:
        """Name the field of each item of a named tuple."""
        described = super().arguments_schema(schema)
        names = [argument["name"] for argument in schema["arguments_schema"]]
        items = described.get("prefixItems", [])
        named = [{"description": name, **item} for name, item in zip(names, items, strict=False)]
        if named:
            return {**described, "prefixItems": named}
        return described

    def union_schema(self, schema: core_schema.UnionSchema) -> JsonSchemaValue:
        """Refuse a union of types that JSON cannot carry, which pydantic describes as one of no schemas."""
        described = super().union_schema(schema)
        if described.get("anyOf") == []:
            return self.handle_invalid_for_json_schema(schema, _NO_CHOICE)
        return described

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Describe a discriminated union as any other union: each branch lists the values of its tag, and requires it.

        Validation requires it too, even if the field has a default.
        """
        described = super().tagged_union_schema(schema)
        tag, names = schema["discriminator"], list[str]()
        if isinstance(tag, str):
            names = [tag]
        elif isinstance(tag, list):  # the paths of a field with an alias
            names = [str(path[0]) for path in cast("list[list[str | int]]", tag) if len(path) == 1]
        if "oneOf" not in described:
            return described
        if not described["oneOf"]:
            return self.handle_invalid_for_json_schema(schema, _NO_CHOICE)
        # Copies, for a branch may be a constant of the user's.
        branches: list[JsonSchemaValue] = [dict(branch) for branch in described["oneOf"]]
        self._tagged += [(branch, name) for branch in branches for name in names]
        return {"anyOf": branches}

    def _require_tag(self, branch: JsonSchemaValue, tag: str) -> None:
        """Make a union's tag required in a branch, which may be a union itself, by changing it in place."""
        while "$ref" in branch:
            reference = self.json_to_defs_refs[JsonRef(branch["$ref"])]
            branch = self.definitions[reference] = dict(self.definitions[reference])
        if "anyOf" in branch:
            branch["anyOf"] = [dict(inner) for inner in branch["anyOf"]]
        for inner in branch.get("anyOf", ()):
            self._require_tag(inner, tag)
        properties, required = branch.get("properties", {}), branch.get("required", [])
        if tag in properties and tag not in required:
            branch["required"] = [name for name in properties if name == tag or name in required]

    def dataclass_args_schema(self, schema: core_schema.DataclassArgsSchema) -> JsonSchemaValue:
        """Omit fields that the class fills itself from the input schema."""
        if self.mode == "validation":
            fields = [field for field in schema["fields"] if field.get("init", True)]
            schema = {**schema, "fields": fields}
        return super().dataclass_args_schema(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Emit a default in input schemas only, and only if it is plain JSON."""
        described = self.generate_inner(schema["schema"])
        default = NO_DEFAULT
        if self.mode == "validation":
            default = json_default(schema.get("default", NO_DEFAULT))
        if default is NO_DEFAULT:
            return described
        return {**described, "default": default}

    def field_is_required(self, field: _Field, total: bool) -> bool:  # noqa: FBT001 - pydantic declares it so
        """Return True for every field of an output schema, even if it is optional as input."""
        comes_out = self.mode == "serialization" and field["type"] in ("model-field", "dataclass-field")
        return comes_out or super().field_is_required(field, total)


def record_adapter(
    name: str, fields: Mapping[str, Any], namespace: dict[str, Any], *, config: ConfigDict | None = None
) -> TypeAdapter[dict[str, Any]]:
    """Return the type adapter of a dict with these fields, each a type or `NotRequired[type]`.

    Field names may be any text. Classes among the types may refer to names of `namespace`. Raises one of `REFUSALS` for
    a type pydantic does not accept.
    """
    entries = dict(fields)
    record: Any = typing_extensions.TypedDict(name, entries)  # pyright: ignore[reportArgumentType] - made at run time
    if config is not None:
        record.__pydantic_config__ = config
    adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(record)
    if not adapter.pydantic_complete:
        adapter.rebuild(force=True, _types_namespace=namespace)
    return adapter


def json_schema(
    adapter: TypeAdapter[dict[str, Any]], *, output: bool = False, generator: type[NativeJsonSchema] = NativeJsonSchema
) -> dict[str, Any]:
    """Return the JSON Schema of a type adapter's type: for input or, with `output`, for output."""
    return adapter.json_schema(schema_generator=generator, mode="serialization" if output else "validation")


def _enumeration(values: list[object]) -> JsonSchemaValue:
    # An Enum member may have several names, and is listed with each.
    unique = [value for index, value in enumerate(values) if _pair(value) not in map(_pair, values[:index])]
    kinds = {_KINDS.get(type(value)) for value in values}
    if len(kinds) == 1 and (type_ := kinds.pop()) is not None:
        return {"type": type_, "enum": unique}
    return {"enum": unique}


def _pair(value: object) -> tuple[type, object]:
    # In Python, True and 1 are equal.
    return type(value), value


def _tidy(schema: JsonSchemaValue) -> JsonSchemaValue:
    kept = {key: value for key, value in schema.items() if key != "title"}
    for keyword in _NAMED:
        if keyword in kept:
            kept[keyword] = {name: _tidy_part(inner) for name, inner in kept[keyword].items()}
    for keyword in _LISTED:
        if keyword in kept:
            kept[keyword] = [_tidy_part(inner) for inner in kept[keyword]]
    for keyword in _SINGLE:
        if keyword in kept:
            kept[keyword] = _tidy_part(kept[keyword])
    if kept.get("items") in ({}, True):
        del kept["items"]
    if "properties" in kept and "\n" in str(kept.get("description")):
        _move_texts_of_fields(kept)
    return kept


def _move_texts_of_fields(record: JsonSchemaValue) -> None:
    """Give the descriptions of fields in a class's docstring to the fields; one of an unknown field keeps its place."""
    docstring = str(record["description"])
    texts = parameter_texts(docstring)
    fields: dict[str, object] = record["properties"]
    for name in texts.keys() & fields.keys():
        if isinstance(field := fields[name], dict):
            fields[name] = {**field, "description": cast("JsonSchemaValue", field).get("description", texts[name])}
    if texts and texts.keys() <= fields.keys():
        record["description"] = prose(docstring)
        if not record["description"]:
            del record["description"]


def _tidy_part(schema: object) -> object:
    if isinstance(schema, dict):
        return _tidy(cast("JsonSchemaValue", schema))
    return schema


def refusal_text(error: Exception, annotation: object) -> str:
    """Return the reason of a type's refusal, in parentheses, and what to do instead."""
    if isinstance(error, NameError) and error.name:
        return (
            f"(name {error.name!r} is not defined): define or import {error.name} before the tool is made, "
            "not only under TYPE_CHECKING"
        )
    instead = _other_annotation(annotation)
    if instead is not None:
        return instead
    # Of pydantic's message only the first sentence is about the type, the rest about pydantic's own settings; if an
    # inner schema is wrong, the last line has the reason.
    lines = str(error).strip().splitlines() or [""]
    line = lines[0] if isinstance(error, PydanticUserError) else lines[-1]
    return f"({line.strip().partition('. ')[0] or type(error).__name__}): {_INSTEAD}"


def _other_annotation(annotation: object) -> str | None:
    """Return why a value is no type, and the type to write; None for a type that only cannot be described."""
    if annotation is any:
        return "(it is the function any): write Any, from typing"
    if type(annotation).__name__ in _WRITTEN:
        return f"(it is a value, and no type): write a type, such as {_WRITTEN[type(annotation).__name__]}"
    if isinstance(annotation, ModuleType):
        name = annotation.__name__.rpartition(".")[2]
        written = f"{name}.{name}" if isinstance(getattr(annotation, name, None), type) else f"{name}.…"
        return f"(it is a module): write a type in it, {written}"
    types = [annotation, *typing.get_args(annotation)]
    if any(base.__module__.startswith("pydantic.v1.") for cls in types for base in getattr(cls, "__mro__", ())):
        return "(it is a model of pydantic v1): derive the model from pydantic.BaseModel of version 2, not pydantic.v1"
    return None
