"""Traversing pydantic's core schemas: dicts with a `type`, nested in dicts and lists of several shapes."""

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

__all__ = ["Node", "has_pattern", "inner_schemas", "map_inner_schemas", "map_schemas", "runs_code", "wrapped_schema"]

Node = dict[str, Any]
"""A core schema; pydantic's own types have one class for each kind."""

# Parts of a core schema with values or instructions, not further schemas.
_NO_SCHEMAS: Final = frozenset(
    {"metadata", "default", "expected", "serialization", "computed_fields", "config", "cls", "members"}
)

_NESTED: Final = (dict, list, tuple)
_CALLED: Final = ("custom_init", "default_factory", "post_init")


def map_schemas(part: Any, change: Callable[[Node], Any]) -> Any:  # noqa: ANN401 - any part of a core schema
    """Return a part of a core schema with each schema in it changed, or the part itself if nothing changes.

    `change` gets every schema, outer ones first. It returns the replacement, or None to keep the schema and go on with
    its inner ones.
    """
    if isinstance(part, dict):
        fields = cast("Node", part)
        instead = change(fields) if isinstance(fields.get("type"), str) else None
        if instead is None:
            return map_inner_schemas(fields, change)
        return instead
    if not isinstance(part, list | tuple):
        return part
    items = cast("Sequence[object]", part)
    changed = [map_schemas(item, change) for item in items]
    if all(new is old for new, old in zip(changed, items, strict=True)):
        return items
    if isinstance(items, tuple):
        return tuple(changed)
    return changed


def map_inner_schemas(fields: Node, change: Callable[[Node], Any]) -> Node:
    """Return a schema with its inner schemas changed as by `map_schemas`, but not itself."""
    changed = {key: new for key, inner in _parts(fields) if (new := map_schemas(inner, change)) is not inner}
    if changed:
        return {**fields, **changed}
    return fields


def inner_schemas(part: object) -> list[Node]:
    """Return the schemas directly within a part of a core schema, without following references."""
    schemas: list[Node] = []
    pending: list[Any] = [part]
    while pending:
        outer = pending.pop()
        inside: Sequence[Any] = [item for _, item in _parts(cast("Node", outer))] if isinstance(outer, dict) else outer
        for inner in inside:
            if isinstance(inner, dict) and isinstance(cast("Node", inner).get("type"), str):
                schemas.append(cast("Node", inner))
            elif isinstance(inner, _NESTED):
                pending.append(inner)
    return schemas


def _parts(fields: Node) -> list[tuple[str, Any]]:
    """Return the parts that may contain further schemas."""
    # Only a schema has a textual type; a dict of fields may have a field of any name.
    skipped = _NO_SCHEMAS if isinstance(fields.get("type"), str) else ()
    return [(key, field) for key, field in fields.items() if isinstance(field, _NESTED) and key not in skipped]


def has_pattern(schema: Node) -> bool:
    """Return whether a schema contains a regular expression."""
    pending = [schema]
    while pending:
        node = pending.pop()
        if "pattern" in node:
            return True
        if len(node) > 1:
            pending += inner_schemas(node)
    return False


def runs_code(schema: Node) -> bool:
    """Return whether validating by a schema calls functions of its author or of a library."""
    is_called = str(schema.get("type")).startswith(("function", "call"))
    return is_called or any(map(schema.get, _CALLED)) or any(map(runs_code, inner_schemas(schema)))


def wrapped_schema(node: Node) -> Node:
    """Return the schema of the values that the functions around it accept."""
    while node["type"].startswith("function-") and "schema" in node:
        node = node["schema"]
    return node
