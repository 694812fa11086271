"""What JSON has no form for: bytes come as base64 text, an iterable as a list, a member of an Enum by its value."""

import base64
import binascii
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, cast

from pydantic import EncodedBytes
from pydantic_core import CoreSchema, SchemaValidator, core_schema

__all__ = ["decoding_validator"]

# Parts of a core schema that hold values or instructions, not further schemas.
_NO_SCHEMAS: Final = frozenset({"metadata", "default", "expected", "serialization", "config", "cls", "members"})


def decoding_validator(schema: CoreSchema) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return the validation of a type in which there is something to decode; None for one that has nothing.

    Text where bytes are wanted is decoded as base64, as the JSON Schema says; bytes stay what they are. An iterable
    becomes a list, so that its items are checked before the function runs and not while it does. A `Literal` with
    members of an Enum takes their values too.
    """
    changed = _changed(schema)
    if changed is schema:
        return None
    try:
        # Else pydantic uses the validators that nested models were built with, which do not decode.
        validator = SchemaValidator(cast("CoreSchema", changed), _use_prebuilt=False)
    except TypeError:  # pydantic-core before 2.30 has no such validators
        validator = SchemaValidator(cast("CoreSchema", changed))
    return validator.validate_python


def _changed(part: object) -> object:
    """Return a part of a core schema with another validation of bytes and iterables, or the part itself."""
    if isinstance(part, dict):
        return _changed_fields(cast("dict[str, object]", part))
    if not isinstance(part, list | tuple):
        return part
    items = cast("Sequence[object]", part)
    changed = [_changed(each) for each in items]
    if all(new is old for new, old in zip(changed, items, strict=True)):
        return items
    return tuple(changed) if isinstance(items, tuple) else changed


def _changed_fields(fields: dict[str, object]) -> object:
    kind = fields.get("type")
    if kind == "bytes":
        return core_schema.no_info_before_validator_function(_decoded, cast("CoreSchema", fields))
    if kind == "literal" and (members := _members(cast("list[object]", fields["expected"]))):
        return core_schema.no_info_before_validator_function(_Chosen(members), cast("CoreSchema", fields))
    if _decodes_itself(fields):
        return fields
    # Only a schema has a type that is text; a dict of fields by name may have a field of any name.
    skipped = _NO_SCHEMAS if isinstance(kind, str) else ()
    changed = {key: value if key in skipped else _changed(value) for key, value in fields.items()}
    if kind == "generator":
        return {**changed, "type": "list"}
    return fields if all(changed[key] is fields[key] for key in fields) else changed


def _decodes_itself(fields: dict[str, object]) -> bool:
    function = fields.get("function")
    called = cast("dict[str, object]", function).get("function") if isinstance(function, dict) else None
    return isinstance(getattr(called, "__self__", None), EncodedBytes)


def _members(expected: list[object]) -> list[tuple[object, Enum]]:
    return [(cast("object", each.value), each) for each in expected if isinstance(each, Enum)]


class _Chosen:
    """Turns the value of a member of an Enum into the member, as JSON has it."""

    def __init__(self, members: list[tuple[object, Enum]]) -> None:
        self._members = members

    def __call__(self, value: object) -> object:
        chosen = (member for known, member in self._members if type(known) is type(value) and known == value)
        return next(chosen, value)


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        message = "base64 text is wanted"
        raise ValueError(message) from None
