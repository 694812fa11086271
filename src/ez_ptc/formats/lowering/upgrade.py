"""Upgrading JSON Schema of any draft, or of OpenAPI, to a self-contained schema of draft 2020-12."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.keywords import KEYWORDS, LISTED, NAMED, SINGLE, TYPES, Schema
from ez_ptc.formats.lowering.references import References
from ez_ptc.formats.lowering.sentences import without_surrogates
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["MAX_DEPTH", "upgrade"]

MAX_DEPTH: Final = 100

_COUNTS: Final = frozenset(
    f"{bound}{thing}" for bound in ("min", "max") for thing in ("Items", "Length", "Properties", "Contains")
)
_NUMBERS: Final = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"})
_TEXTS: Final = frozenset({"contentEncoding", "contentMediaType", "description", "format", "pattern"})
_FLAGS: Final = frozenset({"deprecated", "readOnly", "uniqueItems", "writeOnly"})
_BOOLEANS_STAY: Final = frozenset({"additionalProperties", "unevaluatedItems", "unevaluatedProperties"})


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
        while (waiting := self._references.next()) is not None:
            name, target = waiting
            definitions[name] = self._schema(target, f"$defs.{name}", 0)
        if definitions:
            return {**body, "$defs": definitions}
        return body

    def _schema(self, part: object, path: str, depth: int) -> Schema:
        if isinstance(part, bool):
            return {} if part else {"not": {}}
        if not isinstance(part, Mapping):
            self._refuse(path, f"{safe_repr(part)} is not a JSON Schema: write an object such as {{'type': 'string'}}")
        if depth > MAX_DEPTH:
            self._refuse(
                path, f"it is nested more than {MAX_DEPTH} levels deep: describe the tool with a flatter schema"
            )
        modern = _modern(cast("Mapping[str, Any]", part))
        done: Schema = {}
        for key, value in modern.items():
            if key in KEYWORDS and key != "$defs":
                done |= self._keyword(key, value, f"{path}.{key}" if path else key, depth + 1)
        if modern.get("nullable") is True:
            return _nullable(done)
        return done

    def _keyword(self, key: str, value: object, path: str, depth: int) -> Schema:
        if key == "$ref":
            return {"$ref": self._references.renamed(value, path)}
        if key == "type":
            return self._type(value, path)
        if key in NAMED:
            return {key: self._schemas_by_name(value, path, depth)}
        if key in LISTED:
            listed = self._list(value, path)
            return (
                {key: [self._schema(item, f"{path}[{at}]", depth) for at, item in enumerate(listed)]} if listed else {}
            )
        if key in _BOOLEANS_STAY and isinstance(value, bool):
            return {key: value}
        return {key: self._schema(value, path, depth)} if key in SINGLE else self._plain(key, value, path)

    def _schemas_by_name(self, value: object, path: str, depth: int) -> dict[str, Schema]:
        if not isinstance(value, Mapping):
            self._refuse(path, f"expected an object of schemas there, got {safe_repr(value)}")
        schemas = cast("Mapping[object, object]", value)
        if without_surrogates(joined := "".join(map(str, schemas))) != joined:
            self._refuse(path, "a name contains a lone surrogate: give it another name")
        return {
            str(name): self._schema(schema, f"{path}.{name}", depth)
            for name, schema in schemas.items()
            if schema is not False
        }

    def _list(self, value: object, path: str) -> list[object]:
        if not isinstance(value, list | tuple):
            self._refuse(path, f"a list is wanted there, got {safe_repr(value)}")
        return list(cast("list[object]", value))

    def _type(self, value: object, path: str) -> Schema:
        kinds = [
            self._one_type(item, path) for item in (cast("list[object]", value) if isinstance(value, list) else [value])
        ]
        unique = list(dict.fromkeys(kinds))
        if not unique:
            return {}
        return {"type": unique[0] if len(unique) == 1 else unique}

    def _one_type(self, value: object, path: str) -> str:
        type_ = ""
        if isinstance(value, str):
            type_ = value.lower()
        if type_ not in TYPES:
            self._refuse(path, f"{safe_repr(value)} is no type of JSON Schema: write one of {', '.join(sorted(TYPES))}")
        return type_

    def _plain(self, key: str, value: object, path: str) -> Schema:
        if key in ("enum", "examples"):
            return self._values(key, self._list(value, path), path)
        if key == "required":
            if isinstance(value, list):
                names = [item for item in cast("list[object]", value) if isinstance(item, str)]
            else:
                names = []
            return {key: list(dict.fromkeys(names))} if names else {}
        if key in ("const", "default"):
            return {key: _copy_json(value)} if _is_json(value) else {}
        if key == "dependentRequired":
            return {key: _copy_json(cast("object", value))} if isinstance(value, Mapping) and _is_json(value) else {}
        if key in _TEXTS:
            return {key: without_surrogates(value)} if isinstance(value, str) else {}
        return {key: value} if _fits(key, value) else {}

    def _values(self, key: str, values: list[object], path: str) -> Schema:
        if key == "enum" and not all(map(_is_json, values)):
            self._refuse(path, f"{safe_repr(values)} has values that JSON has no form for: list strings or numbers")
        unique = {json.dumps(value, sort_keys=True): _copy_json(value) for value in values if _is_json(value)}
        if unique:
            return {key: list(unique.values())}
        return {}

    def _refuse(self, path: str, problem: str) -> NoReturn:
        subject = "its schema"
        if path:
            subject = f"its schema at {safe_repr(path)}"
        message = f"{self._tool}: {subject}: {problem}"
        raise SchemaError(message)


def _fits(key: str, value: object) -> bool:
    if key in _FLAGS:
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return key in _NUMBERS or (key in _COUNTS and value == int(value) and value >= 0)


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
        if "enum" in schema:
            choices = {"enum": [*(item for item in schema["enum"] if item is not None), None]}
        else:
            choices = {}
        if type_ != "null":
            return {**schema, "type": [type_, "null"], **choices}
        return schema
    beside = {key: schema.pop(key) for key in ("description", "default", "examples") if key in schema}
    if schema:
        return {"anyOf": [schema, {"type": "null"}], **beside}
    return beside


# Spellings of older drafts, one function each -------------------------------------------------------------------------


def _modern(part: Mapping[str, Any]) -> Schema:
    modern = {str(key): value for key, value in part.items()}
    for rewrite in _REWRITES:
        rewrite(modern)
    return modern


def _tuples(part: Schema) -> None:
    if isinstance(part.get("items"), list | tuple):
        prefix = part.pop("items")
        part.setdefault("prefixItems", prefix)
        if "additionalItems" in part:
            part["items"] = part["additionalItems"]
    if part.get("items") is False:
        del part["items"]
        prefix: object = part.get("prefixItems")
        part.setdefault("maxItems", len(cast("list[object]", prefix)) if isinstance(prefix, list | tuple) else 0)


def _exclusive_flags(part: Schema) -> None:
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(part.get(flag), bool) and part.pop(flag) and bound in part:
            part[flag] = part.pop(bound)


def _dependencies(part: Schema) -> None:
    dependencies = part.pop("dependencies", None)
    if isinstance(dependencies, Mapping):
        for name, dependency in cast("Mapping[str, object]", dependencies).items():
            keyword = "dependentSchemas"
            if isinstance(dependency, list):
                keyword = "dependentRequired"
            part[keyword] = {**part.get(keyword, {}), name: dependency}


def _convert_required_flags(part: Schema) -> None:
    properties = part.get("properties")
    if not isinstance(properties, Mapping):
        return
    named = cast("Mapping[str, object]", properties)
    flagged = [name for name, item in named.items() if isinstance(item, Mapping) and item.get("required") is True]  # pyright: ignore[reportUnknownMemberType] - the keys of a foreign schema
    if flagged:
        listed = part.get("required")
        part["required"] = [*(cast("list[object]", listed) if isinstance(listed, list) else []), *flagged]


def _other_references(part: Schema) -> None:
    for keyword in ("$dynamicRef", "$recursiveRef"):
        if keyword in part:
            part.setdefault("$ref", part.pop(keyword))


def _example(part: Schema) -> None:
    if "example" in part and "examples" not in part:
        part["examples"] = [part["example"]]
    if isinstance(part.get("examples"), Mapping):
        del part["examples"]


_REWRITES: Final[tuple[Callable[[Schema], None], ...]] = (
    _tuples,
    _exclusive_flags,
    _dependencies,
    _convert_required_flags,
    _other_references,
    _example,
)
