"""Schemas of OpenAPI documents as JSON Schema of draft 2020-12."""

import re
from collections import Counter
from collections.abc import Mapping, Sized
from typing import Any, Final, Literal, cast

from ez_ptc.openapi.discriminators import Discriminators, Rule
from ez_ptc.openapi.documents import Document, UnsupportedError, clean_text, list_in, object_in

__all__ = ["MAX_SCHEMAS", "SchemaReader"]

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_KEPT: Final = frozenset(
    {"type", "enum", "const", "default", "description", "format", "pattern", "required", "uniqueItems", "multipleOf"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "contentEncoding"}
    | {f"{bound}{what}" for bound in ("min", "max") for what in ("Length", "Items", "Properties")}
)
_ONE: Final = frozenset({"items", "additionalProperties", "not", "propertyNames", "contains"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_UNIONS: Final = ("anyOf", "oneOf")
_STRUCTURE: Final = frozenset({"$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "properties"})
_NAMED: Final = frozenset({"properties", "patternProperties"})
_WIDE: Final = _LISTS | _NAMED
_VALUED: Final = ("const", "default", "enum", "required", "type")
MAX_SCHEMAS: Final = 50_000
"""The maximum number of schemas in an operation's request."""

# The model reads the schemas of responses: more would fill its prompt.
_MAX_RESPONSE: Final = 400
# The values in a schema, such as those of its enum, that cost as much as another schema.
_VALUES: Final = 10
_MAX_DEPTH: Final = 60
_MAX_DESCRIPTION: Final = 1_000
_HIDDEN: Final = {"request": "readOnly", "response": "writeOnly"}


class SchemaReader:
    """Converts the schemas of one operation.

    In requests, references become those to `definitions`. In responses, which no one validates, their schemas are
    inserted instead, up to a limit; where one contains itself or the limit is reached, any value is allowed.
    `left` is the number of schemas that a request may still have.
    """

    def __init__(
        self,
        document: Document,
        side: Literal["request", "response"],
        discriminators: Discriminators | None = None,
        *,
        left: int = _MAX_RESPONSE,
    ) -> None:
        self.definitions: Final[dict[str, Any]] = {}
        self._document = document
        self._discriminators = discriminators or Discriminators(document)
        self._is_request = side == "request"
        self._hidden = _HIDDEN[side]
        self._names: dict[tuple[str, bool], str] = {}
        self._stems: Counter[str] = Counter()
        self._waiting: list[tuple[str, str, bool]] = []
        self._reading = ""
        self.left = self._max_width = left
        self._within: list[str] = []
        self._depth = 0

    def read(self, schema: object) -> dict[str, Any] | bool:
        """Return a schema. Raises UnsupportedError if it is too large, or refers out of the document."""
        self._reading = ""
        read = self._read(schema)
        # A chain of references may be longer than the stack.
        while self._waiting:
            name, reference, is_base = self._waiting.pop()
            self._reading = reference
            self.definitions[name] = self._read_target(reference, is_base=is_base)
        return read

    def is_polymorphic(self, schema: object) -> bool:
        """Return whether a schema refers to one that stands for the schemas extending it."""
        return bool(self._subtypes(object_in({"": schema}, "").get("$ref")))

    def _subtypes(self, reference: object) -> Mapping[str, Rule]:
        return self._discriminators.subtypes(reference) if self._is_request else {}

    def _read(self, schema: object, *, is_base: bool = False) -> dict[str, Any] | bool:
        """Read a schema; `is_base` says that another one extends it, and does not stand for any other extension."""
        self.left -= 1
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            message = f"expected a schema, got {type(schema).__name__}"
            raise UnsupportedError(message)
        fields = cast("Mapping[str, Any]", schema)
        self.left -= sum(map(self._document.size_of, map(fields.get, _VALUED))) // _VALUES
        width = sum(len(value) for key, value in fields.items() if key in _WIDE and isinstance(value, Sized))
        self._depth += 1
        try:
            if self.left < 0 or width > self._max_width or self._depth > _MAX_DEPTH:
                if self._is_request:
                    message = "its schema is too large, by itself or beside those of the operations before it"
                    raise UnsupportedError(message)
                return {}
            if "$ref" in fields:
                return self._read_reference(fields, is_base=is_base)
            return self._read_fields(fields)
        finally:
            self._depth -= 1

    def with_definitions(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema together with the definitions it refers to."""
        if not self.definitions:
            return schema
        return {**schema, "$defs": dict(self.definitions)}

    def _read_reference(self, fields: Mapping[str, Any], *, is_base: bool) -> dict[str, Any] | bool:
        reference = fields["$ref"]
        target = self._document.target(reference)
        if not self._is_request:
            if reference in self._within:
                return {}
            self._within.append(reference)
            try:
                read = self._read(target)
            finally:
                self._within.pop()
        else:
            key = (reference, is_base and "discriminator" in object_in({"": target}, ""))
            if key not in self._names:
                last = reference.rpartition("/")[2]
                stem = re.sub(r"[^A-Za-z0-9]", "_", last)[:60] or "schema"
                name = self._free_name(stem)
                self._names[key] = name
                self.definitions[name] = {}  # its place, which others keep away from
                self._waiting.append((name, *key))
            read = {"$ref": f"#/$defs/{self._names[key]}"}
        if "description" in fields and isinstance(read, dict) and not self._document.is_3_0:
            return {**read, "description": clean_text(fields["description"], _MAX_DESCRIPTION)}
        return read

    def _read_target(self, reference: str, *, is_base: bool) -> dict[str, Any] | bool:
        target = self._document.target(reference)
        if is_base:
            # The branches of a base schema are its extensions, and one of them is read.
            fields = cast("Mapping[str, Any]", target)
            return self._read({key: value for key, value in fields.items() if key not in _UNIONS})
        subtypes = self._subtypes(reference)
        if not subtypes:
            return self._read(target)
        branches: list[object] = []
        for subtype, rule in subtypes.items():
            branch = self._read({"$ref": subtype}, is_base=True)
            branches.append({**cast("dict[str, Any]", branch), **rule})
        return {"anyOf": branches}

    def _free_name(self, stem: str) -> str:
        while True:
            self._stems[stem] += 1
            number = self._stems[stem]
            name = stem if number == 1 else f"{stem}_{number}"
            if name not in self.definitions:
                return name

    def _read_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        read: dict[str, Any] = {key: value for key, value in fields.items() if key in _KEPT}
        self._repair(read, fields)
        for key, value in fields.items():
            if key in _ONE:
                read[key] = self._read(value)
            elif key in _LISTS and isinstance(value, list) and value:
                listed = cast("list[object]", value)
                if key in _UNIONS and "discriminator" in fields:
                    branches = [self._discriminators.with_rule(self._read(item), item, fields) for item in listed]
                    read["anyOf"] = read.get("anyOf", []) + branches
                else:
                    is_extended = key == "allOf" and self._is_extended(fields)
                    read[key] = [self._read(item, is_base=is_extended or self._is_base(item, key)) for item in listed]
            elif key in _NAMED and isinstance(value, Mapping):
                named = cast("Mapping[str, object]", value)
                read[key] = {name: self._read(field) for name, field in named.items() if not self._is_hidden(field)}
                if key == "properties" and "required" in read:
                    hidden = named.keys() - read[key].keys()
                    read["required"] = [name for name in read["required"] if name not in hidden]
        if fields.get("nullable") is True:
            if isinstance(read.get("type"), str) and "enum" not in read and "const" not in read:
                return {**read, "type": [read["type"], "null"]}
            described = {key: read.pop(key) for key in ("description", "default") if key in read}
            # An empty schema takes any value, null included.
            return {"anyOf": [read, {"type": "null"}], **described} if read else described
        return read

    def _is_base(self, schema: object, key: str) -> bool:
        """Return whether a schema at a key of the definition that is read has that definition as an extension."""
        if key != "allOf" or self._depth != 1:
            return False
        return self._reading in self._subtypes(object_in({"": schema}, "").get("$ref"))

    @staticmethod
    def _is_extended(extension: Mapping[str, Any]) -> bool:
        """Return whether an `allOf` extends its schemas by each other or by what stands beside it."""
        others = {key: value for key, value in extension.items() if key != "allOf"}
        adding = [*list_in(extension, "allOf"), others]
        return sum(not _STRUCTURE.isdisjoint(object_in({"": fields}, "")) for fields in adding) > 1

    def _is_hidden(self, field: object) -> bool:
        return isinstance(field, Mapping) and cast("Mapping[str, object]", field).get(self._hidden) is True

    @staticmethod
    def _repair(read: dict[str, Any], fields: Mapping[str, Any]) -> None:
        """Convert what OpenAPI 3.0 writes differently, and drop what documents write by mistake."""
        types: object = read.pop("type", [])
        names = [
            name for name in (cast("list[object]", types) if isinstance(types, list) else [types]) if name in _TYPES
        ]
        if names:
            read["type"] = names if isinstance(types, list) else names[0]
        for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(read.get(bound), bool) and read.pop(bound) and limit in read:
                read[bound] = read.pop(limit)
        required: object = read.pop("required", [])
        if isinstance(required, list) and required:
            read["required"] = list(dict.fromkeys(map(str, cast("list[object]", required))))
        if not isinstance(read.get("enum", [0]), list) or not read.get("enum", [0]):
            del read["enum"]
        if "description" in read:
            read["description"] = clean_text(read["description"], _MAX_DESCRIPTION)
        # Arguments are JSON, which has no bytes.
        if fields.get("format") in {"binary", "byte"} and read.get("type") == "string":
            read["contentEncoding"] = "base64"
