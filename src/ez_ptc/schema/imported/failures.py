"""Finding the values that fail a JSON Schema, without collecting all errors at once.

The validation library decides quickly whether a value is valid, but lists every error of every branch of every union:
for 64 KB that can be 12 GB. So the failing parts of a value are searched one by one, each with its part of the schema,
and errors are collected only for a value whose inner values are valid.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from time import thread_time
from typing import Any, Final, cast

import jsonschema_rs

from ez_ptc._lazy import lazy
from ez_ptc.schema.imported.branches import Branches
from ez_ptc.schema.imported.compiling import WHOLE, Compiler
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.references import PREFIX

__all__ = ["Failure", "Failures"]

_Schema = Mapping[str, Any]
_SPECIAL: Final = re.compile(r"[^/~.\w-]+", re.ASCII)
_Path = tuple[str | int, ...]
# CPU seconds after which the search ends: a value may have to be checked against thousands of branches. But the first
# checks are always made: a garbage collection in a large process may take that long.
_SECONDS: Final = 0.08
_CHECKS: Final = 16
# CPU seconds of compiling after which validators are no longer cached: a millisecond makes a megabyte at most.
_SECONDS_KEPT: Final = 0.02

# Keywords with schemas for the same value or for values in it: if one fails, a part fails. And `enum`, whose errors
# contain all of its values.
_WITHIN: Final = frozenset(
    {"$defs", "$ref", "allOf", "anyOf", "enum", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
    | {"items", "prefixItems", "unevaluatedItems", "contains", "minContains", "maxContains"}
    | {"propertyNames", "unevaluatedProperties"}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing value: its path, its schema, and the error.

    `keyword` is the failing one, or "" if unknown; `is_property` says that a schema names the key of the value. `kind`
    has the details, unless it is a union or an enumeration. `fitting_count` is the number of branches of a `oneOf` that
    the value fits, where it fits several.
    """

    path: _Path
    value: object
    schema: _Schema
    keyword: str
    is_property: bool = False
    kind: jsonschema_rs.ValidationErrorKind | None = None
    message: str = ""
    fitting_count: int = 0


@dataclass(frozen=True, slots=True)
class _Part:
    """A value with its schema, and the locations of both."""

    pointer: str
    schema: Any
    value: object
    path: _Path
    is_property: bool = False

    def at(self, pointer: str, schema: object) -> "_Part":
        return replace(self, pointer=f"{self.pointer}/{pointer}", schema=schema)

    def item(self, pointer: str, schema: object, step: str | int, value: object) -> "_Part":
        is_property = pointer.startswith("properties/")
        return _Part(f"{self.pointer}/{pointer}", schema, value, (*self.path, step), is_property)


@dataclass(slots=True)
class _Search:
    """One search for failures: its end, on the clock of `time.thread_time`, its checks, and the parts visited.

    Several paths may lead to one part, and a reference back to one in progress.
    """

    ends_at: float
    checks: int = 0
    is_done: dict[tuple[str, _Path], bool] = field(default_factory=dict[tuple[str, _Path], bool])

    def has_ended(self) -> bool:
        """Count one more check, and return whether it is too late for it."""
        self.checks += 1
        return self.checks > _CHECKS and thread_time() > self.ends_at


class Failures:
    """Finds the values that fail one schema, which is in the standard form."""

    def __init__(self, schema: _Schema, compiler: Compiler) -> None:
        self._schema = schema
        self._compiler = compiler
        self._own: dict[str, jsonschema_rs.Validator] = {}
        self._of_parts: dict[str, jsonschema_rs.Validator | None] = {}
        self._seconds = 0.0

    def of(self, value: object, most: int) -> Iterator[Failure]:
        """Yield the first failures of an invalid value; none if that takes long."""
        return islice(self._failures(_Part("#", self._schema, value, ()), _Search(thread_time() + _SECONDS)), most)

    @lazy
    def _registry(self) -> jsonschema_rs.Registry:
        return self._compiler.registry(self._schema)

    def _validator(self, pointer: str) -> jsonschema_rs.Validator | None:
        """Return the validator of a part, or None if there is no such part.

        Each contains the schemas it refers to, so all of them may take seconds and hundreds of megabytes.
        """
        if pointer in self._of_parts:
            return self._of_parts[pointer]
        started = thread_time()
        validator = None
        with contextlib.suppress(ValueError):
            # Quoted for a URI (RFC 6901, 6).
            quoted = _SPECIAL.sub(
                lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode(errors="replace")), pointer[1:]
            )
            validator = self._compiler.part(self._registry, f"{WHOLE}#{quoted}")
        self._seconds += thread_time() - started
        if self._seconds < _SECONDS_KEPT:
            self._of_parts[pointer] = validator
        return validator

    def _failures(self, part: _Part, search: _Search) -> Iterator[Failure]:
        """Yield the failures of a failing part."""
        schema = _mapping(part.schema)
        search.is_done[part.pointer, part.path] = has_failures = False
        for inner in self._parts(part, schema):
            if search.has_ended():
                return
            is_done = search.is_done.get((inner.pointer, inner.path))
            if is_done is not None:
                has_failures = has_failures or is_done
            elif (validator := self._validator(inner.pointer)) is not None and not validator.is_valid(inner.value):
                has_failures = True
                yield from self._failures(inner, search)
        for error in self._errors(part, schema):
            has_failures = True
            path = (*part.path, *error.instance_path)
            is_property = part.is_property and not error.instance_path
            yield Failure(path, part.value, schema, error.kind.name, is_property, error.kind, error.message)
        if "enum" in schema and not self._fits(f"{part.pointer}/enum", {"enum": schema["enum"]}, part.value):
            has_failures = True
            yield Failure(part.path, part.value, schema, "enum", part.is_property)
        if not has_failures:
            yield self._failure_of_whole(part, schema, search)
        search.is_done[part.pointer, part.path] = True

    def _failure_of_whole(self, part: _Part, schema: _Schema, search: _Search) -> Failure:
        """Return the failure of a value whose inner values are valid by themselves: of a union, or of a `not`."""
        fitting_count = self._count_fitting(part, schema, search)
        keyword = next((keyword for keyword in ("anyOf", "oneOf", "not") if keyword in schema), "")
        if not fitting_count and keyword in ("anyOf", "oneOf"):
            naming = self._branches(schema, keyword).naming_texts(part.value)
            if naming is not None:
                key, texts = naming
                value = _mapping(part.value)[key]
                return Failure((*part.path, key), value, {"enum": texts}, "enum", is_property=True)
        elif fitting_count:
            keyword = "oneOf"
        elif not keyword and (message := self._explain_whole(part, schema)):
            return Failure(part.path, part.value, schema, "", part.is_property, message=message)
        whole = {**schema, "$defs": self._schema.get("$defs", {})}  # its branches may refer to definitions
        return Failure(part.path, part.value, whole, keyword, part.is_property, fitting_count=fitting_count)

    def _explain_whole(self, part: _Part, schema: _Schema) -> str:
        """Return what is wrong with the keys or the items of a value; "" for another problem."""
        names = self._validator(f"{part.pointer}/propertyNames") if "propertyNames" in schema else None
        for key in _mapping(part.value):
            if names is not None and not names.is_valid(key):
                return f"has the key {safe_repr(key)}, which its schema does not allow"
        if "contains" in schema and isinstance(part.value, list):
            return "does not contain the items that its schema asks for"
        return ""

    def _count_fitting(self, part: _Part, schema: _Schema, search: _Search) -> int:
        """Return the number of branches of a `oneOf` that a value fits, or 0 unless there are several."""
        count = 0
        for number in range(len(_list(schema.get("oneOf")))):
            if search.has_ended():
                return 0
            validator = self._validator(f"{part.pointer}/oneOf/{number}")
            count += validator is not None and validator.is_valid(part.value)
        return count * (count > 1)

    def _branches(self, schema: _Schema, keyword: str) -> Branches:
        return Branches(_list(schema.get(keyword)), _mapping(self._schema.get("$defs")))

    def _errors(self, part: _Part, schema: _Schema) -> Iterator[jsonschema_rs.ValidationError]:
        """Yield the errors of the keywords about the value itself, including its known properties."""
        if part.pointer not in self._own:
            keywords = {key: value for key, value in schema.items() if key not in _WITHIN}
            for keyword in keywords.keys() & {"properties", "patternProperties"}:
                keywords[keyword] = {name: {} for name in _mapping(keywords[keyword])}
            if isinstance(keywords.get("additionalProperties"), dict):
                del keywords["additionalProperties"]
            self._own[part.pointer] = self._compiler.validator(keywords)
        return self._own[part.pointer].iter_errors(part.value)

    def _fits(self, key: str, schema: _Schema, value: object) -> bool:
        """Return whether a value fits a small schema, compiled once under its key."""
        if key not in self._own:
            self._own[key] = self._compiler.validator(schema)
        return self._own[key].is_valid(value)

    def _parts(self, part: _Part, schema: _Schema) -> Iterator[_Part]:
        if isinstance(schema.get("$ref"), str):
            name = schema["$ref"].removeprefix(PREFIX)
            yield replace(part, pointer=f"#/$defs/{name}", schema=self._schema["$defs"][name])
        for number, branch in enumerate(_list(schema.get("allOf"))):
            yield part.at(f"allOf/{number}", branch)
        for keyword in ("anyOf", "oneOf"):
            number = self._branches(schema, keyword).meant_for(part.value)
            if number is not None:
                yield part.at(f"{keyword}/{number}", schema[keyword][number])
        yield from self._conditions(part, schema)
        if isinstance(part.value, dict):
            yield from self._properties(part, schema)
        elif isinstance(part.value, list):
            yield from _items(part, schema)

    def _conditions(self, part: _Part, schema: _Schema) -> Iterator[_Part]:
        """Yield the schemas that a value has to fit because of other ones that it fits."""
        if "if" in schema and (condition := self._validator(f"{part.pointer}/if")) is not None:
            keyword = "then" if condition.is_valid(part.value) else "else"
            if keyword in schema:
                yield part.at(keyword, schema[keyword])
        for key, dependent in _mapping(schema.get("dependentSchemas")).items():
            if key in _mapping(part.value):
                yield part.at(f"dependentSchemas/{_escape(key)}", dependent)

    def _properties(self, part: _Part, schema: _Schema) -> Iterator[_Part]:
        properties = _mapping(schema.get("properties"))
        patterns = _mapping(schema.get("patternProperties"))
        additional = schema.get("additionalProperties")
        for key, inner in _mapping(part.value).items():
            if key in properties:
                yield part.item(f"properties/{_escape(key)}", properties[key], key, inner)
            matching = [pattern for pattern in patterns if self._fits(f"pattern/{pattern}", {"pattern": pattern}, key)]
            for pattern in matching:
                yield part.item(f"patternProperties/{_escape(pattern)}", patterns[pattern], key, inner)
            if isinstance(additional, dict) and key not in properties and not matching:
                yield part.item("additionalProperties", cast("object", additional), key, inner)


def _items(part: _Part, schema: _Schema) -> Iterator[_Part]:
    places = _list(schema.get("prefixItems"))
    for number, inner in enumerate(_list(part.value)):
        if number < len(places):
            yield part.item(f"prefixItems/{number}", places[number], number, inner)
        elif "items" in schema:
            yield part.item("items", schema["items"], number, inner)


def _list(value: object) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return []


def _mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    return {}


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
