"""Inlining the definitions a JSON Schema refers to."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

__all__ = ["inline_definitions", "inline_single_uses", "without_null"]

_PREFIX: Final = "#/$defs/"
_USE: Final = re.compile(r"'#/\$defs/([^'/]+)")
# Keywords that check nothing: beside a reference, they describe one use instead of all.
_ABOUT: Final = frozenset({"description", "default", "examples", "deprecated"})


def inline_definitions(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with its definitions inlined; only recursive ones stay in `$defs`."""
    body = {key: value for key, value in schema.items() if key != "$defs"}
    inliner = _Inliner(schema.get("$defs", {}))
    body = cast("dict[str, Any]", inliner.of(body))
    if inliner.kept:
        return {**body, "$defs": inliner.kept}
    return body


def inline_single_uses(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with each definition that is used once inlined; unused ones go, the others stay in `$defs`.

    A recursive definition is used at least twice, and stays. So does one that contradicts a keyword beside its
    reference. The schema is changed in place, so the caller must own it.
    """
    definitions: dict[str, dict[str, object]] = schema.get("$defs", {})
    uses = Counter(_USE.findall(str(schema)))
    for name in definitions.keys() - uses.keys():
        del definitions[name]
    for reference in list(_with_references(schema)):
        while (name := _referenced_name(reference)) in definitions and uses[name] == 1:
            definition = definitions[name]
            beside = {key: value for key, value in reference.items() if key != "$ref"}
            if not beside.keys() & definition.keys() <= _ABOUT:
                break
            reference.clear()  # the dict that held the reference now holds the definition
            reference.update({**definition, **beside})
            del definitions[name]
    return {key: value for key, value in schema.items() if key != "$defs" or value}


def _with_references(part: object) -> Iterator[dict[str, object]]:
    if isinstance(part, dict):
        fields = cast("dict[str, object]", part)
        if "$ref" in fields:
            yield fields
        for value in fields.values():
            yield from _with_references(value)
    elif isinstance(part, list):
        for value in cast("list[object]", part):
            yield from _with_references(value)


def without_null(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without null as one of its types: the schema of X for that of `X | None`.

    Null within the schema stays, and so does a schema of null alone.
    """
    siblings = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
    name = _referenced_name(schema)
    if name is not None and name in definitions:
        target: Mapping[str, Any] = definitions[name]
        shorter = without_null(target, definitions)
        if shorter == target:
            return dict(schema)
        return {**shorter, **siblings}
    branches: list[Mapping[str, Any]] = schema.get("anyOf", [])
    others = [branch for branch in branches if branch.get("type") != "null"]
    if not others:
        return dict(schema)
    if len(others) > 1:
        return {key: others if key == "anyOf" else value for key, value in schema.items()}
    return without_null({**others[0], **siblings}, {})


class _Inliner:
    def __init__(self, definitions: Mapping[str, object]) -> None:
        self.kept: dict[str, object] = {}
        self._definitions = definitions

    def of(self, part: object) -> object:
        if isinstance(part, list):
            return [self.of(item) for item in cast("list[object]", part)]
        if not isinstance(part, dict):
            return part
        fields = cast("dict[str, object]", part)
        name = _referenced_name(fields)
        if name is None or name not in self._definitions:
            return {key: self.of(value) for key, value in fields.items()}
        if self._contains_itself(name):
            if name not in self.kept:
                self.kept[name] = None  # the definition's own references to itself end here
                self.kept[name] = self.of(self._definitions[name])
            return fields
        beside = {key: value for key, value in fields.items() if key != "$ref"}
        return {**cast("dict[str, object]", self.of(self._definitions[name])), **beside}

    def _contains_itself(self, name: str) -> bool:
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            for reference in _with_references(self._definitions.get(waiting.pop())):
                inner = _referenced_name(reference)
                if inner == name:
                    return True
                if inner is not None and inner not in reached:
                    reached.add(inner)
                    waiting.append(inner)
        return False


def _referenced_name(fields: Mapping[str, object]) -> str | None:
    ref = fields.get("$ref")
    if isinstance(ref, str) and ref.startswith(_PREFIX):
        return ref.removeprefix(_PREFIX)
    return None
