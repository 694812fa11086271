"""The schemas that apply to one and the same value, counted through the references of a document.

Definitions that refer twice to the next one double these at each step. A validator would try all of them, with no way
to stop it, and descriptions write them out.
"""

from collections.abc import Iterator, Mapping
from typing import Final, cast

from ez_ptc.schema.standard.keywords import Schema
from ez_ptc.schema.standard.references import PREFIX, refuse

__all__ = ["check_in_place"]

_MAX_SCHEMAS: Final = 100_000
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
            if counts[name] > _MAX_SCHEMAS or depths[name] > _MAX_DEPTH:
                problem = (
                    f"its references apply more than {_MAX_SCHEMAS:,} schemas to one value, or a chain of more than "
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
