"""What JSON has no form for: bytes come as base64 text, an iterable as a list, a member of an Enum by its value."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal, cast

from pydantic import EncodedBytes
from pydantic_core import (
    CoreSchema,
    PydanticKnownError,
    PydanticSerializationError,
    SchemaValidator,
    core_schema,
    to_jsonable_python,
)

from ez_ptc.schema.json_text import check_value

__all__ = ["decoding_validator"]

_ErrorType = Literal["int_type", "float_type", "complex_type", "time_delta_type"]

# Parts of a core schema that hold values or instructions, not further schemas.
_NO_SCHEMAS: Final = frozenset({"metadata", "default", "expected", "serialization", "config", "cls", "members"})
# To Python a truth value is a number, to JSON it is none.
_NUMBERS: Final[Mapping[str, _ErrorType]] = {
    "int": "int_type",
    "float": "float_type",
    "complex": "complex_type",
    "timedelta": "time_delta_type",
}
# The other alphabet of base64, which some write.
_URL_SAFE: Final = str.maketrans("-_", "+/")
_PLAIN: Final = (str, int, float, bool, type(None))


def decoding_validator(schema: CoreSchema) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the validation of a type that decodes what JSON has no form for.

    Text where bytes are wanted is decoded as base64, as the JSON Schema says; bytes stay what they are. An iterable
    becomes a list, so that its items are checked before the function runs and not while it does. A `Literal` with
    members of an Enum takes their values too, and an Enum the JSON of values that are not plain. A truth value is no
    number, and half a surrogate pair no text. What may be anything is still what JSON may carry, if it is a dict or a
    list: no deeper than is allowed.
    """
    changed = _changed(schema)
    try:
        # Else pydantic uses the validators that nested models were built with, which do not decode.
        validator = SchemaValidator(cast("CoreSchema", changed), _use_prebuilt=False)
    except TypeError:  # pydantic-core before 2.30 has no such validators
        validator = SchemaValidator(cast("CoreSchema", changed))
    return validator.validate_python


def _changed(part: object) -> object:
    """Return a part of a core schema with another validation of some types, or the part itself."""
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
    if isinstance(kind, str) and (decode := _decoder(kind, fields)) is not None:
        # What refers to the schema is to find what decodes.
        inner = {key: value for key, value in fields.items() if key != "ref"}
        ref = cast("str | None", fields.get("ref"))
        return core_schema.no_info_before_validator_function(decode, cast("CoreSchema", inner), ref=ref)
    if kind == "str":
        # Any constraint makes pydantic look at the characters, and refuse half a surrogate pair.
        return {"min_length": 0, **fields}
    if _decodes_itself(fields):
        return fields
    # Only a schema has a type that is text; a dict of fields by name may have a field of any name.
    skipped = _NO_SCHEMAS if isinstance(kind, str) else ()
    changed = {key: value if key in skipped else _changed(value) for key, value in fields.items()}
    if kind == "generator":
        return {**changed, "type": "list"}
    if kind == "union":
        return {**changed, "choices": sorted(cast("list[object]", changed["choices"]), key=_is_decoded)}
    return fields if all(changed[key] is fields[key] for key in fields) else changed


def _decoder(kind: str, fields: dict[str, object]) -> Callable[[object], object] | None:
    """Return what is to be done with a value before pydantic sees it."""
    if kind == "bytes":
        return _decoded
    if kind == "any":
        return check_value
    if kind in _NUMBERS:
        return None if fields.get("strict") else _Number(_NUMBERS[kind])
    if kind == "literal":
        return _chosen(cast("list[object]", fields["expected"]), "literal_error")
    return _chosen(cast("list[object]", fields["members"]), "enum") if kind == "enum" else None


def _is_decoded(choice: object) -> bool:
    """Whether a branch of a union decodes text: text that another branch wants is not for it."""
    schema: Any = cast("tuple[object, str]", choice)[0] if isinstance(choice, tuple) else choice
    function: object = schema.get("function")
    return isinstance(function, dict) and cast("dict[str, object]", function).get("function") is _decoded


def _decodes_itself(fields: dict[str, object]) -> bool:
    function = fields.get("function")
    called = cast("dict[str, object]", function).get("function") if isinstance(function, dict) else None
    return isinstance(getattr(called, "__self__", None), EncodedBytes)


class _Number:
    """Refuses truth values where a number is wanted."""

    def __init__(self, error: _ErrorType) -> None:
        self._error: _ErrorType = error

    def __repr__(self) -> str:  # what pydantic calls it in an error
        return "number"

    def __call__(self, value: object) -> object:
        if value is True or value is False:
            raise PydanticKnownError(self._error)
        return value


def _chosen(expected: list[object], error: Literal["literal_error", "enum"]) -> "_Chosen | None":
    """Return what turns JSON into one of the values, or None where pydantic does so itself."""
    members = [each for each in expected if isinstance(each, Enum | bytes)]
    if error == "enum" and all(type(_value_of(each)) in (str, bool, type(None)) for each in members):
        return None
    forms = [(_form(_value_of(each)), each) for each in members]
    values = list(map(_value_of, expected))
    has_numbers = any(type(each) in (int, float) for each in values)
    is_told_apart = has_numbers and not any(type(each) is bool for each in values)
    return _Chosen(forms, error if is_told_apart else None, values) if forms or is_told_apart else None


def _value_of(expected: object) -> object:
    return cast("object", expected.value) if isinstance(expected, Enum) else expected


class _Chosen:
    """Turns the JSON of a value into the member or the bytes, and refuses truth values that stand for no number."""

    def __init__(
        self,
        members: Sequence[tuple[object, object]],
        error: Literal["literal_error", "enum"] | None,
        values: list[object],
    ) -> None:
        self._members = members
        self._error: Literal["literal_error", "enum"] | None = error
        self._values = values

    def __repr__(self) -> str:  # what pydantic calls it in an error
        return "chosen"

    def __call__(self, value: object) -> object:
        if self._error is not None and (value is True or value is False):
            raise PydanticKnownError(self._error, {"expected": " or ".join(map(repr, self._values))})
        chosen = (member for known, member in self._members if type(known) is type(value) and known == value)
        return next(chosen, value)


def _form(value: object) -> object:
    """Return a member's value as JSON has it."""
    if isinstance(value, _PLAIN):
        return value
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:
        return value


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value.translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        message = "base64 text is wanted"
        raise ValueError(message) from None
