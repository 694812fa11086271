"""Walking pydantic's core schemas: dicts with a `type`, nested in dicts and lists of several shapes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

__all__ = ["Node", "inner_schemas", "mapped", "mapped_inside", "runs_code"]

Node = dict[str, Any]
"""A core schema; pydantic's own types for them are one for each kind."""

# Parts of a core schema that hold values or instructions, not further schemas.
_NO_SCHEMAS: Final = frozenset(
    {"metadata", "default", "expected", "serialization", "computed_fields", "config", "cls", "members"}
)

_CALLED: Final = ("custom_init", "default_factory", "post_init")


def mapped(part: Any, change: Callable[[Node], Any]) -> Any:  # noqa: ANN401 - any part of a core schema
    """Return a part of a core schema with each schema in it changed, or the part itself where nothing changes.

    `change` gets every schema, outer ones first. It returns what stands in its place, or None to leave the schema as it
    is and go on with those in it.
    """
    if isinstance(part, dict):
        return _mapped_fields(cast("Node", part), change)
    if not isinstance(part, list | tuple):
        return part
    items = cast("Sequence[object]", part)
    changed = [mapped(item, change) for item in items]
    if all(new is old for new, old in zip(changed, items, strict=True)):
        return items
    return tuple(changed) if isinstance(items, tuple) else changed


def _mapped_fields(fields: Node, change: Callable[[Node], Any]) -> Any:  # noqa: ANN401 - any part of a core schema
    if _is_schema(fields) and (instead := change(fields)) is not None:
        return instead
    return mapped_inside(fields, change)


def mapped_inside(fields: Node, change: Callable[[Node], Any]) -> Node:
    """Return a schema with each schema in it changed, as `mapped` does, but not itself."""
    skipped = _NO_SCHEMAS if _is_schema(fields) else ()
    changed = {key: value if key in skipped else mapped(value, change) for key, value in fields.items()}
    return fields if all(changed[key] is fields[key] for key in fields) else changed


def _is_schema(fields: Mapping[str, Any]) -> bool:
    # Only a schema has a type that is text; a dict of fields by name may have a field of any name.
    return isinstance(fields.get("type"), str)


def inner_schemas(part: object) -> Iterator[Node]:
    """Yield the schemas directly within a part of a core schema; references are not followed."""
    if isinstance(part, Mapping):
        fields = cast("Node", part)
        skipped = _NO_SCHEMAS if _is_schema(fields) else ()
        parts: Iterator[object] = (value for key, value in fields.items() if key not in skipped)
    elif isinstance(part, list | tuple):
        parts = iter(cast("Sequence[object]", part))
    else:
        return
    for inner in parts:
        if isinstance(inner, dict) and _is_schema(cast("Node", inner)):
            yield cast("Node", inner)
        else:
            yield from inner_schemas(cast("object", inner))


def runs_code(schema: Node) -> bool:
    """Whether validating by a schema calls functions: those of its author, or of a library that knows the type."""
    is_called = str(schema.get("type")).startswith(("function", "call"))
    return is_called or any(map(schema.get, _CALLED)) or any(map(runs_code, inner_schemas(schema)))
