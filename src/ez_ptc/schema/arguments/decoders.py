"""Converting JSON to values where pydantic does not."""

import base64
import binascii
import cmath
import json
import math
import re
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from enum import Enum, Flag
from fractions import Fraction
from typing import Any, Final, Literal, cast

from pydantic import ValidationError
from pydantic_core import (
    CoreSchema,
    PydanticCustomError,
    PydanticKnownError,
    PydanticSerializationError,
    SchemaValidator,
    to_jsonable_python,
)

from ez_ptc.schema.annotations.records import rename_keys
from ez_ptc.schema.arguments.json_text import parse_value

__all__ = [
    "Chosen",
    "ErrorType",
    "FromText",
    "JsonKey",
    "Number",
    "Ratio",
    "Renamed",
    "Sum",
    "choice_decoder",
    "finite",
    "from_base64",
    "no_number",
]

ErrorType = Literal["int_type", "float_type", "complex_type", "fraction_type", "time_delta_type"]
_ChoiceError = Literal["literal_error", "enum"]

# To the standard alphabet from the URL-safe one.
_URL_SAFE: Final = str.maketrans("-_", "+/")
# Longer numbers are not written by hand; with the four thousand digits Python accepts, ten letters of JSON take eighty
# microseconds.
_MAX_EXPONENT: Final = 1000
_EXPONENT: Final = re.compile(r"[eE][+-]?([\d_]+)\s*\Z")
_BOOLEANS: Final = {"True": "true", "False": "false"}
_PLAIN: Final = (str, int, float, bool, type(None))


class Number:
    """Refuses booleans for numbers."""

    def __init__(self, error: ErrorType) -> None:
        self._error: ErrorType = error

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return "number"

    def __call__(self, value: object) -> object:
        """Return the value."""
        if value is True or value is False:
            raise PydanticKnownError(self._error)
        return value


def finite(number: complex) -> complex:
    """Return the number if both parts are finite."""
    if not cmath.isfinite(number):
        error_type = "finite_number"
        raise PydanticKnownError(error_type)
    return number


class Ratio(Number):
    """Refuses booleans and huge exponents, and converts a float to the decimal number in its JSON."""

    def __call__(self, value: object) -> object:
        """Return the value."""
        number = super().__call__(value)
        if isinstance(number, str) and (exponent := _EXPONENT.search(number)):
            digits = exponent[1].replace("_", "").lstrip("0")
            if len(digits) > len(str(_MAX_EXPONENT)) or int(digits or "0") > _MAX_EXPONENT:
                error_type = "huge_exponent"
                message = "should have an exponent of at most {most}"
                raise PydanticCustomError(error_type, message, {"most": _MAX_EXPONENT})
        if type(number) is not float or not math.isfinite(number):
            return number
        return Fraction(repr(number))


class FromText:
    """Reads text as pydantic's JSON mode does, in which it is an exact match for a date or a UUID.

    In Python mode it never is, and a branch of a union that accepts any text would always win.
    """

    def __init__(self, schema: CoreSchema) -> None:
        self._validator = SchemaValidator(schema)

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return "text"

    def __call__(self, value: object, validate: Callable[[object], object]) -> object:
        """Return the value of a text."""
        if type(value) is str:
            try:
                return self._validator.validate_json(json.dumps(value), strict=True)
            except ValidationError:  # the lenient validator may accept it
                pass
        return validate(value)


def choice_decoder(expected: list[object], error: _ChoiceError, *, reads_text: bool = False) -> "Chosen | None":
    """Return a decoder for one of the values, or None if pydantic needs none.

    With `reads_text`, it also reads the text of a number or boolean, as pydantic does for all numbers and booleans.
    """
    members = [item for item in expected if isinstance(item, Enum | bytes)]
    if error == "enum" and all(type(_value_of(member)) in (str, bool, type(None)) for member in members):
        return None
    has_numbers = any(type(_value_of(item)) in (int, float) for item in expected)
    reads_text = reads_text and any(type(_value_of(item)) in (bool, int, float) for item in expected)
    if members or has_numbers or reads_text:
        return Chosen(expected, error if has_numbers else None, reads_text=reads_text)
    return None


def _value_of(expected: object) -> object:
    if isinstance(expected, Enum):
        return cast("object", expected.value)
    return expected


class Chosen:
    """Converts JSON to the matching member or bytes, and distinguishes `1`, `1.0` and `True`.

    An integer may be written as a float and vice versa; a boolean is never a number.
    """

    def __init__(self, expected: list[object], error: _ChoiceError | None, *, reads_text: bool = False) -> None:
        self._error: _ChoiceError | None = error
        self._reads_text = reads_text
        self._values = list(map(_value_of, expected))
        self._hashable: dict[tuple[type, object], object] = {}
        self._others: list[tuple[object, object]] = []
        for value in expected:
            form = _value_of(value)
            if not isinstance(form, _PLAIN):
                with suppress(PydanticSerializationError):  # otherwise only the value itself matches
                    form = to_jsonable_python(form)
            if isinstance(form, Hashable):
                self._hashable.setdefault((type(form), form), value)
            else:
                self._others.append((form, value))

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return "chosen"

    def __call__(self, value: object) -> object:
        """Return the member, or the value itself for pydantic to decide."""
        try:
            if (key := (type(value), value)) in self._hashable:
                return self._hashable[key]
        except TypeError:  # not hashable
            others = (member for form, member in self._others if type(form) is type(value) and form == value)
            return next(others, value)
        if self._reads_text and type(value) is str and value not in self._values:
            number = parse_value(_BOOLEANS.get(value, value))
            numbers = [item for item in self._values if isinstance(item, bool) is isinstance(number, bool)]
            return self(number) if type(number) in (bool, int, float) and number in numbers else value
        if self._error is None or type(value) not in (bool, int, float):
            return value
        # It may be another spelling of a number.
        other_type = int
        if type(value) is int:
            other_type = float
        if type(value) is not bool and (other_type, value) in self._hashable:
            return self._hashable[other_type, value]
        if value in self._values:
            # pydantic compares by `==`, so it would accept it.
            raise PydanticKnownError(cast("Any", self._error), {"expected": " or ".join(map(repr, self._values))})
        return value


def from_base64(value: object) -> object:
    """Return the bytes of a base64 text, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value.translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        message = "expected a base64 string"
        raise ValueError(message) from None


class Sum:
    """Refuses a number that is not a sum of a Flag's members."""

    def __init__(self, flag: type[Flag]) -> None:
        self._mask = 0
        for member in flag:
            self._mask |= member.value
        self._expected = " + ".join(f"{member.value} ({member.name})" for member in flag)

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return "sum"

    def __call__(self, value: object) -> object:
        """Return the value."""
        if type(value) is bool or (type(value) is int and (value < 0 or value & ~self._mask)):
            error_type, message = "flag", "should be a sum of members"
            raise PydanticCustomError(error_type, message, {"expected": f"a sum of any of {self._expected}"})
        return value


class JsonKey:
    """Reads a dict key of another type than str from its JSON text."""

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return "key"

    def __call__(self, value: object, validate: Callable[[object], object]) -> object:
        """Return the key."""
        try:
            return validate(value)
        except ValidationError:
            key = value
            if type(value) is str:
                key = parse_value(value)
            # A number too long for a float (`1e-400`) would change.
            is_rounded = type(key) is float and repr(key) != value
            if type(key) is str or (key is None and value != "null") or is_rounded:
                raise
            return validate(key)


class Renamed:
    """Renames the keys of a dict from a record's Python names to its JSON names.

    So a tool's result can be passed to another tool, although only one of the names is in the schema. Fields filled by
    the class itself, `made`, are dropped: a result has them, and no parameter takes them.
    """

    def __init__(self, names: Mapping[str, str], made: frozenset[str]) -> None:
        self._names = names
        self._made = made
        self._changed = names.keys() | made

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return "renamed"

    def __call__(self, value: object) -> object:
        """Return the dict with JSON names, and any other value unchanged."""
        if type(value) is not dict:
            return value
        passed = cast("dict[object, object]", value)
        if passed.keys().isdisjoint(self._changed):
            return passed
        return rename_keys(passed, self._names, self._made)


def no_number(value: object) -> object:
    """Return a value other than a number; in strict mode a number is never a time."""
    if isinstance(value, int | float):
        error_type, message = "no_number", "should be text, not a number"
        raise PydanticCustomError(error_type, message)
    return value
