"""Upgrading JSON Schema of any draft, or of OpenAPI, to a self-contained schema of draft 2020-12."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, cast

from ez_ptc.formats.lowering.keywords import KEYWORDS, LISTED, NAMED, NUMBERS, SINGLE, TYPES, Schema, join_path
from ez_ptc.formats.lowering.references import References, refuse
from ez_ptc.formats.lowering.sentences import without_surrogates
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["MAX_DEPTH", "upgrade"]

MAX_DEPTH: Final = 100

_COUNTS: Final = frozenset(
    f"{bound}{thing}" for bound in ("min", "max") for thing in ("Items", "Length", "Properties", "Contains")
)
_TEXTS: Final = frozenset({"contentEncoding", "contentMediaType", "description", "format", "pattern"})
_FLAGS: Final = frozenset(
    {"deprecated", "readOnly", "uniqueItems", "writeOnly"}
    | {"additionalProperties", "unevaluatedItems", "unevaluatedProperties"}  # they may also be schemas
)
_DROPPED: Final = object()


def upgrade(tool: str, schema: Mapping[str, Any]) -> Schema:
    """Return a copy of a schema in plain JSON Schema of draft 2020-12.

    Every `$ref` in it is `#/$defs/…` and has a target; unused definitions and unknown keywords are dropped. A recursive
    schema stays recursive through its `$ref`. Raises `SchemaError`, naming `tool`, for an invalid schema, a `$ref`
    without target, and more than `MAX_DEPTH` levels.
    """
    return _Upgrade(tool, schema).document()


class _Upgrade:
    def __init__(self, tool: str, root: Mapping[str, Any]) -> None:
        self._tool = tool
        self._root = root
        self._references = References(tool, root)

    def document(self) -> Schema:
        body = self._schema(self._root, "", 0)
        definitions: dict[str, Schema] = {}
        while self._references.waiting:
            name, target = self._references.waiting.popleft()
            definitions[name] = self._schema(target, f"$defs.{name}", 0)
        if definitions:
            body["$defs"] = definitions
        return body

    def _schema(self, schema: object, path: str, depth: int) -> Schema:
        if schema is True:
            return {}
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping):
            problem = f"{safe_repr(schema)} is not a JSON Schema: write an object such as {{'type': 'string'}}"
            refuse(self._tool, path, problem)
        if depth > MAX_DEPTH:
            problem = f"it is nested more than {MAX_DEPTH} levels deep: describe the tool with a flatter schema"
            refuse(self._tool, path, problem)
        modern = {str(key): value for key, value in cast("Mapping[str, Any]", schema).items()}
        _modernize_constraints(modern)
        _modernize_references_and_examples(modern)
        done: Schema = {}
        for key, value in modern.items():
            if key in KEYWORDS and key != "$defs":  # definitions are upgraded when a $ref reaches them
                upgraded = self._keyword(key, value, join_path(path, key), depth + 1)
                if upgraded is not _DROPPED:
                    done[key] = upgraded
        if modern.get("nullable") is True:
            return _nullable(done)
        return done

    def _keyword(self, key: str, value: object, path: str, depth: int) -> object:
        """Return a keyword's value, or `_DROPPED` if it is invalid or empty."""
        if key == "$ref":
            return self._references.renamed(value, path)
        if key == "type":
            return self._type(value, path)
        if key in NAMED:
            if not isinstance(value, Mapping):
                refuse(self._tool, path, f"expected an object of schemas there, got {safe_repr(value)}")
            schemas = cast("Mapping[object, object]", value)
            if without_surrogates(joined := "".join(map(str, schemas))) != joined:
                refuse(self._tool, path, "a name contains a lone surrogate: give it another name")
            return {
                str(name): self._schema(schema, f"{path}.{name}", depth)
                for name, schema in schemas.items()
                if schema is not False
            }
        if key in LISTED:
            listed = self._list(value, path)
            return [self._schema(item, f"{path}[{at}]", depth) for at, item in enumerate(listed)] or _DROPPED
        if key in SINGLE and not _is_flag(key, value):
            return self._schema(value, path, depth)
        return self._plain(key, value, path)

    def _list(self, value: object, path: str) -> list[object]:
        if not isinstance(value, list | tuple):
            refuse(self._tool, path, f"expected a list, got {safe_repr(value)}")
        return list(cast("list[object]", value))

    def _type(self, value: object, path: str) -> object:
        types: list[str] = []
        for item in cast("list[object]", value) if isinstance(value, list) else [value]:
            if not isinstance(item, str) or item.lower() not in TYPES:
                problem = f"{safe_repr(item)} is not a JSON Schema type: write one of {', '.join(sorted(TYPES))}"
                refuse(self._tool, path, problem)
            if item.lower() not in types:
                types.append(item.lower())
        if len(types) == 1:
            return types[0]
        return types or _DROPPED

    def _plain(self, key: str, value: object, path: str) -> object:
        if key in ("enum", "examples"):
            values = self._list(value, path)
            if key == "enum" and not all(map(_is_json, values)):
                refuse(
                    self._tool,
                    path,
                    f"{safe_repr(values)} has values that JSON has no form for: list strings or numbers",
                )
            # By their JSON text, since True, 1 and 1.0 are equal in Python.
            unique = {json.dumps(item, sort_keys=True): _copy_json(item) for item in values if _is_json(item)}
            return list(unique.values()) or _DROPPED
        if key == "required" and isinstance(value, list):
            names = [name for name in cast("list[object]", value) if isinstance(name, str)]
            return list(dict.fromkeys(names)) or _DROPPED
        if key in _TEXTS and isinstance(value, str):
            return without_surrogates(value)
        if _is_flag(key, value) or _is_limit(key, value):
            return value
        is_free = key in ("const", "default") or (key == "dependentRequired" and isinstance(value, Mapping))
        if is_free and _is_json(value):
            return _copy_json(cast("object", value))
        return _DROPPED


def _is_flag(key: str, value: object) -> bool:
    return key in _FLAGS and isinstance(value, bool)


def _is_limit(key: str, value: object) -> bool:
    if key not in NUMBERS | _COUNTS or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and (key in NUMBERS or (value == int(value) and value >= 0))


def _is_json(value: Any) -> bool:  # noqa: ANN401 - whatever a schema has there
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _copy_json(value: object) -> object:
    return json.loads(json.dumps(value))


def _nullable(schema: Schema) -> Schema:
    type_ = schema.get("type")
    if isinstance(type_, str) and "anyOf" not in schema and "const" not in schema:
        if type_ == "null":
            return schema
        if "enum" in schema:
            schema["enum"] = [*(item for item in schema["enum"] if item is not None), None]
        return {**schema, "type": [type_, "null"]}
    beside = {key: schema.pop(key) for key in ("description", "default", "examples") if key in schema}
    if schema:
        return {"anyOf": [schema, {"type": "null"}], **beside}
    return beside  # anything, null included


# Spellings of older drafts and of OpenAPI -----------------------------------------------------------------------------


def _modernize_constraints(schema: Schema) -> None:
    # Before draft 2020-12, `items` may be a list, and `additionalItems` is for the rest.
    if isinstance(schema.get("items"), list | tuple):
        prefix = schema.pop("items")
        schema.setdefault("prefixItems", prefix)
        if "additionalItems" in schema:
            schema["items"] = schema["additionalItems"]
    if schema.get("items") is False:
        del schema["items"]
        prefix = schema.get("prefixItems")
        schema.setdefault("maxItems", len(cast("list[object]", prefix)) if isinstance(prefix, list | tuple) else 0)
    # In draft 4, the bounds are exclusive by a flag beside them.
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(flag), bool) and schema.pop(flag) and bound in schema:
            schema[flag] = schema.pop(bound)
    # Draft 7 has one keyword for what are two today.
    dependencies = schema.pop("dependencies", None)
    if isinstance(dependencies, Mapping):
        for name, dependency in cast("Mapping[str, object]", dependencies).items():
            keyword = "dependentRequired" if isinstance(dependency, list) else "dependentSchemas"
            schema[keyword] = {**schema.get(keyword, {}), name: dependency}
    # In draft 3, a property says itself that it is required.
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        named = cast("Mapping[str, object]", properties).items()
        schemas = [(name, cast("Schema", item)) for name, item in named if isinstance(item, Mapping)]
        if flagged := [name for name, item in schemas if item.get("required") is True]:
            listed = schema.get("required")
            schema["required"] = [*listed, *flagged] if isinstance(listed, list) else flagged


def _modernize_references_and_examples(schema: Schema) -> None:
    for keyword in ("$dynamicRef", "$recursiveRef"):
        if keyword in schema:
            schema.setdefault("$ref", schema.pop(keyword))
    # OpenAPI 3.0 has one `example`, or `examples` by name.
    if "example" in schema and "examples" not in schema:
        schema["examples"] = [schema["example"]]
    if isinstance(schema.get("examples"), Mapping):
        del schema["examples"]
