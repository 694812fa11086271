"""The standard form of a JSON Schema: a self-contained schema of draft 2020-12, whatever the draft it was written in.

Descriptions for providers, signatures in prompts and stubs, the binding of arguments and their validation all read this
form, so that none of them resolves a reference, or understands a keyword, in a way of its own.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ez_ptc._warnings import warn_caller
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.dialects import Dialect
from ez_ptc.schema.standard.keywords import KEYWORDS, LISTED, NAMED, NUMBERS, SINGLE, TYPES, Schema, join_path
from ez_ptc.schema.standard.patterns import portable_pattern
from ez_ptc.schema.standard.references import (
    PREFIX,
    REFERENCES,
    DynamicReferenceError,
    References,
    SchemaLocation,
    refuse,
)
from ez_ptc.schema.standard.sentences import without_surrogates
from ez_ptc.schema.standard.unions import OWN_RULES, OwnRules, merge_alternatives

__all__ = ["MAX_DEPTH", "check_in_place", "standard_form"]

_MAX_APPLIED: Final = 100_000
_MAX_DEPTH: Final = 100
_LISTED: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")


def check_in_place(tool: str, document: Schema) -> None:
    """Raise SchemaError if too many schemas of a document in the standard form apply to one value.

    A definition that leads back to itself counts once.
    """
    definitions: Mapping[str, Schema] = document.get("$defs", {})
    counts: dict[str, int] = {}
    depths: dict[str, int] = {}
    visited: set[str] = set()
    for start in definitions:
        waiting = [start]
        while waiting:
            name = waiting[-1]
            listed = list(_references_in(definitions[name]))
            if name not in visited:
                visited.add(name)
                waiting += [inner for inner, _ in listed if inner not in visited]
                continue
            waiting.pop()
            if name in counts:
                continue
            counts[name] = 1 + sum(counts.get(inner, 1) for inner, _ in listed)
            depths[name] = max((depth + depths.get(inner, 0) for inner, depth in listed), default=0)
            if counts[name] > _MAX_APPLIED or depths[name] > _MAX_DEPTH:
                problem = (
                    f"its references apply more than {_MAX_APPLIED:,} schemas to one value, or a chain of more than "
                    f"{_MAX_DEPTH}: write it with fewer"
                )
                refuse(tool, f"$defs.{name}", problem)


def _references_in(schema: Schema) -> Iterator[tuple[str, int]]:
    """Yield the definitions that a schema applies to its own value, each with the number of steps to it."""
    waiting: list[tuple[object, int]] = [(schema, 1)]
    while waiting:
        item, depth = waiting.pop()
        if not isinstance(item, Mapping):
            continue
        fields = cast("Schema", item)
        if isinstance(reference := fields.get("$ref"), str):
            yield reference.removeprefix(PREFIX), depth
        for key in _LISTED:
            waiting.extend((inner, depth + 1) for inner in fields.get(key, ()))
        waiting.extend((fields[key], depth + 1) for key in _SINGLE if key in fields)
        waiting.extend((inner, depth + 1) for inner in fields.get("dependentSchemas", {}).values())


MAX_DEPTH: Final = 100
# A schema's own size bounds it otherwise, but each set of dynamic anchors makes another copy of a definition.
_MAX_SCHEMAS: Final = 20_000
# They are merged one by one.
_MAX_CONJUNCTS: Final = 2_000
# Each of these takes about half a second to read.
_MAX_PATTERNS: Final = 1_000
_MAX_ENUM_VALUES: Final = 50_000
_COUNTS: Final = frozenset(
    f"{bound}{thing}" for bound in ("min", "max") for thing in ("Items", "Length", "Properties", "Contains")
)
_TEXTS: Final = frozenset({"contentEncoding", "contentMediaType", "description", "format", "pattern"})
_FLAGS: Final = frozenset(
    {"deprecated", "readOnly", "uniqueItems", "writeOnly"}
    | {"additionalProperties", "unevaluatedItems", "unevaluatedProperties"}  # they may also be schemas
)
_LABELS: Final = frozenset({"default", "deprecated", "description", "examples", "example", "readOnly", "writeOnly"})
_DROPPED: Final = object()


def standard_form(tool: str, schema: object, *, for_checks: bool = False) -> Schema:
    """Return a copy of a schema in plain JSON Schema of draft 2020-12.

    Every `$ref` in it is `#/$defs/…` and has a target; unused definitions and unknown keywords are dropped. A recursive
    schema stays recursive through its `$ref`. Raises `SchemaError`, naming `tool`, for an invalid schema, a `$ref`
    without target, and more than `MAX_DEPTH` levels.

    With `for_checks`, invalid values of keywords stay, for the validator to refuse; a property that is forbidden stays;
    and `OWN_RULES` has those of another draft, such as that a format is checked.
    """
    try:
        return _FormReader(tool, schema, for_checks=for_checks, is_dynamic=False).document()
    except DynamicReferenceError:
        return _FormReader(tool, schema, for_checks=for_checks, is_dynamic=True).document()


class _FormReader:
    def __init__(self, tool: str, root: object, *, for_checks: bool, is_dynamic: bool) -> None:
        self._tool = tool
        self._root = root
        self._is_for_checks = for_checks
        self._is_dynamic = is_dynamic
        self._references = References(tool, root, is_dynamic=is_dynamic)
        self._count = self._pattern_count = self._value_count = 0
        self._unions: list[Schema] = []

    def document(self) -> Schema:
        body = self._within(self._root, self._references.start, "", 0)
        definitions: dict[str, Schema] = {}
        while self._references.waiting:
            name, target, place = self._references.waiting.popleft()
            definitions[name] = self._within(target, place, f"$defs.{name}", 0)
        for union in self._unions:
            merge_alternatives(union, definitions, for_checks=self._is_for_checks)
        if definitions:
            body["$defs"] = definitions
            check_in_place(self._tool, body)
        return body

    def _schema(self, schema: object, around: SchemaLocation, path: str, depth: int) -> Schema:
        return self._within(schema, self._references.enter(schema, around, path), path, depth)

    def _within(self, schema: object, place: SchemaLocation, path: str, depth: int) -> Schema:
        """Return the form of a schema, given the place within it."""
        if schema is True:
            return {}
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping):
            problem = f"{safe_repr(schema)} is not a JSON Schema: write an object such as {{'type': 'string'}}"
            refuse(self._tool, path, problem)
        self._check_limits(path, depth)
        modern, own_rules = _modernize(cast("Mapping[str, Any]", schema), place.dialect)
        done = self._references_of(modern, place, path)
        for key, value in modern.items():
            if key in KEYWORDS and key not in ("$defs", "$ref"):  # definitions are read when a $ref reaches them
                read = self._keyword(key, value, place, join_path(path, key), depth + 1)
                if read is not _DROPPED:
                    done[key] = read
        if own_rules and self._is_for_checks:
            done[OWN_RULES] = OwnRules(own_rules)
        if "oneOf" in done:
            self._unions.append(done)
        if modern.get("nullable") is True:
            return _nullable(done)
        return done

    def _check_limits(self, path: str, depth: int) -> None:
        self._count += 1
        if depth > MAX_DEPTH:
            problem = f"it is nested more than {MAX_DEPTH} levels deep: describe the tool with a flatter schema"
            refuse(self._tool, path, problem)
        if self._is_dynamic and self._count > _MAX_SCHEMAS:
            problem = f"its dynamic references have more than {_MAX_SCHEMAS} meanings: write a schema without them"
            refuse(self._tool, path, problem)

    def _references_of(self, schema: Schema, place: SchemaLocation, path: str) -> Schema:
        """Return the references of a schema, as one `$ref` or, of several, in an `allOf`."""
        listed = [
            {"$ref": self._references.renamed(keyword, schema[keyword], place, join_path(path, keyword))}
            for keyword in REFERENCES
            if keyword in schema
        ]
        if not listed:
            return {}
        first, *further = listed
        if further:
            schema["allOf"] = [*further, *self._list(schema.get("allOf", []), path)]
        return first

    def _keyword(self, key: str, value: object, place: SchemaLocation, path: str, depth: int) -> object:
        """Return a keyword's value, or `_DROPPED` if it is invalid or empty."""
        if key == "type":
            return self._type(value, path)
        if key in NAMED:
            if not isinstance(value, Mapping):
                refuse(self._tool, path, f"expected an object of schemas there, got {safe_repr(value)}")
            by_name = cast("Mapping[object, object]", value)
            if without_surrogates(joined := "".join(map(str, by_name))) != joined:
                refuse(self._tool, path, "a name contains a lone surrogate: give it another name")
            named = {
                str(name): self._schema(schema, place, f"{path}.{name}", depth)
                for name, schema in by_name.items()
                if schema is not False or self._is_for_checks
            }
            return self._with_portable_names(named, path) if key == "patternProperties" else named
        if key in LISTED:
            listed = self._list(value, path)
            if key == "allOf" and len(listed) > _MAX_CONJUNCTS:
                refuse(self._tool, path, f"expected at most {_MAX_CONJUNCTS:,} schemas there, got {len(listed):,}")
            return [
                self._schema(item, place, f"{path}[{at}]", depth) for at, item in enumerate(listed)
            ] or self._invalid(value)
        if key in SINGLE and not _is_flag(key, value):
            return self._schema(value, place, path, depth)
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
            if item.lower() not in types or self._is_for_checks:
                types.append(item.lower())
        if len(types) == 1:
            return types[0]
        return types or self._invalid(types)

    def _plain(self, key: str, value: object, path: str) -> object:
        """Return the value of a keyword without schemas."""
        if key in ("enum", "examples"):
            values = self._list(value, path)
            self._value_count += len(values)
            if self._value_count > _MAX_ENUM_VALUES:
                problem = f"expected at most {_MAX_ENUM_VALUES:,} values in all its enums: describe a string instead"
                refuse(self._tool, path, problem)
            if key == "enum" and not all(map(_is_json, values)):
                problem = f"{safe_repr(values)} has values that JSON has no form for: list strings or numbers"
                refuse(self._tool, path, problem)
            # By their JSON text, since True, 1 and 1.0 are equal in Python.
            unique = {json.dumps(item, sort_keys=True): _copy_json(item) for item in values if _is_json(item)}
            return list(unique.values()) or self._invalid(values)
        if key == "required" and isinstance(value, list) and not self._is_for_checks:
            names = [name for name in cast("list[object]", value) if isinstance(name, str)]
            return list(dict.fromkeys(names)) or _DROPPED
        if key in _TEXTS and isinstance(value, str):
            text = without_surrogates(value)
            return text if key != "pattern" else self._pattern(text, path) or _DROPPED
        is_lists = key == "dependentRequired" and isinstance(cast("object", value), Mapping)
        if (is_lists or key in ("const", "default")) and _is_json(value):
            return _copy_json(cast("object", value))
        is_kept = _is_flag(key, cast("object", value)) or _is_limit(key, cast("object", value))
        return cast("object", value) if is_kept else self._invalid(cast("object", value))

    def _invalid(self, value: object) -> object:
        return value if self._is_for_checks else _DROPPED

    def _pattern(self, pattern: str, path: str) -> str | None:
        """Return a pattern as other engines than JavaScript's read it, or None, with a warning, if they cannot."""
        self._pattern_count += 1
        if self._pattern_count > _MAX_PATTERNS:
            refuse(self._tool, path, f"expected at most {_MAX_PATTERNS:,} patterns in a schema: write it with fewer")
        portable = portable_pattern(pattern)
        if portable is None and self._is_for_checks:
            message = (
                f"{self._tool}: the pattern {safe_repr(pattern)} at {safe_repr(path)} of its schema cannot be read, "
                "and is left out: check the text in the function"
            )
            warn_caller(message)
        return portable

    def _with_portable_names(self, by_pattern: Mapping[str, Schema], path: str) -> dict[str, Schema]:
        named: dict[str, Schema] = {}
        for pattern, schema in by_pattern.items():
            portable = self._pattern(pattern, path)
            # Any name may match a pattern that cannot be read.
            name, described = ("", {}) if portable is None else (portable, schema)
            named[name] = {"allOf": [named[name], described]} if name in named else described
        return named


def _is_flag(key: str, value: object) -> bool:
    return key in _FLAGS and isinstance(value, bool)


def _is_limit(key: str, value: object) -> bool:
    if key not in NUMBERS | _COUNTS or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (isinstance(value, int) or math.isfinite(value)) and (key in NUMBERS or (value == int(value) and value >= 0))


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
    if isinstance(type_, str) and schema.keys().isdisjoint(("anyOf", "const", OWN_RULES)):
        if type_ == "null":
            return schema
        if "enum" in schema:
            schema["enum"] = [*(item for item in schema["enum"] if item is not None), None]
        return {**schema, "type": [type_, "null"]}
    beside = {key: schema.pop(key) for key in ("description", "default", "examples") if key in schema}
    if schema:
        return {"anyOf": [schema, {"type": "null"}], **beside}
    return beside  # anything, null included


def _modernize(schema: Mapping[str, Any], dialect: Dialect) -> tuple[Schema, Schema]:
    """Return the keywords that count in a schema, in the present spelling, and the rules that only its draft has."""
    modern = {str(key): value for key, value in schema.items()}
    if "$ref" in modern and dialect.has_lone_references:
        modern = {key: value for key, value in modern.items() if key == "$ref" or key in _LABELS}
    own_rules = dialect.own_rules(modern)
    modern = {key: value for key, value in modern.items() if dialect.has(key)}
    _modernize_constraints(modern, dialect)
    # OpenAPI 3.0 has one `example`, or `examples` by name.
    if "example" in modern and "examples" not in modern:
        modern["examples"] = [modern["example"]]
    if isinstance(modern.get("examples"), Mapping):
        del modern["examples"]
    return modern, own_rules


# Spellings of older drafts and of OpenAPI -----------------------------------------------------------------------------


def _modernize_constraints(schema: Schema, dialect: Dialect) -> None:
    # Before draft 2020-12, `items` may be a list, and `additionalItems` is for the rest. Some schemas name a newer
    # draft than theirs: a list has no other meaning, nor has a flag below.
    if isinstance(schema.get("items"), list | tuple):
        prefix = schema.pop("items")
        schema.setdefault("prefixItems", prefix)
        if "additionalItems" in schema:
            schema["items"] = schema["additionalItems"]
    if schema.get("items") is False:
        del schema["items"]
        prefix: object = schema.get("prefixItems")
        length = len(cast("list[object]", prefix)) if isinstance(prefix, list | tuple) else 0
        known: object = schema.get("maxItems")
        schema["maxItems"] = min(known, length) if isinstance(known, int | float) else length
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
    if dialect.is_any and isinstance(properties, Mapping):
        named = cast("Mapping[str, object]", properties).items()
        schemas = [(name, cast("Schema", item)) for name, item in named if isinstance(item, Mapping)]
        if flagged := [name for name, item in schemas if item.get("required") is True]:
            listed = schema.get("required")
            schema["required"] = [*listed, *flagged] if isinstance(listed, list) else flagged
