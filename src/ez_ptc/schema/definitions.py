"""Definitions that a JSON Schema refers to, put where they are referred to."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

__all__ = ["inlined"]

_PREFIX: Final = "#/$defs/"


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with its definitions where they are referred to; only what contains itself stays in `$defs`."""
    body = {key: value for key, value in schema.items() if key != "$defs"}
    inliner = _Inliner(schema.get("$defs", {}))
    body = cast("dict[str, Any]", inliner.of(body))
    return {**body, "$defs": inliner.kept} if inliner.kept else body


class _Inliner:
    def __init__(self, definitions: Mapping[str, object]) -> None:
        self.kept: dict[str, object] = {}
        self._definitions = definitions

    def of(self, part: object) -> object:
        if isinstance(part, list):
            return [self.of(each) for each in cast("list[object]", part)]
        if not isinstance(part, dict):
            return part
        fields = cast("dict[str, object]", part)
        name = _referred(fields)
        if name is None or name not in self._definitions:
            return {key: self.of(value) for key, value in fields.items()}
        if self._contains_itself(name):
            self._keep(name)
            return fields
        beside = {key: value for key, value in fields.items() if key != "$ref"}
        return {**cast("dict[str, object]", self.of(self._definitions[name])), **beside}

    def _keep(self, name: str) -> None:
        if name not in self.kept:
            self.kept[name] = None  # the definition's own references to itself end here
            self.kept[name] = self.of(self._definitions[name])

    def _contains_itself(self, name: str) -> bool:
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            for inner in _references(self._definitions.get(waiting.pop())):
                if inner == name:
                    return True
                if inner not in reached:
                    reached.add(inner)
                    waiting.append(inner)
        return False


def _references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        fields = cast("dict[str, object]", part)
        if (name := _referred(fields)) is not None:
            yield name
        for value in fields.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in cast("list[object]", part):
            yield from _references(value)


def _referred(fields: Mapping[str, object]) -> str | None:
    ref = fields.get("$ref")
    return ref.removeprefix(_PREFIX) if isinstance(ref, str) and ref.startswith(_PREFIX) else None
