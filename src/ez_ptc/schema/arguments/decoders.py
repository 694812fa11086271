"""What turns the JSON of a value into the value, where pydantic does not do so itself."""

import base64
import binascii
import cmath
import json
import math
import re
from collections.abc import Callable, Hashable, Mapping
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

# The other alphabet of base64, which some write.
_URL_SAFE: Final = str.maketrans("-_", "+/")
# A thousand digits are more than anybody writes out; with the four thousand that Python reads, ten letters of JSON take
# eighty microseconds.
_LARGEST_EXPONENT: Final = 1000
_EXPONENT: Final = re.compile(r"[eE][+-]?([\d_]+)\s*\Z")
_PLAIN: Final = (str, int, float, bool, type(None))


class Number:
    """Refuses truth values where a number is wanted."""

    def __init__(self, error: ErrorType) -> None:
        self._error: ErrorType = error

    def __repr__(self) -> str:  # what pydantic calls it in an error
        return "number"

    def __call__(self, value: object) -> object:
        """Return the value."""
        if value is True or value is False:
            raise PydanticKnownError(self._error)
        return value


def finite(number: complex) -> complex:
    """Return the number, of which neither part is infinite or NaN."""
    if not cmath.isfinite(number):
        kind = "finite_number"
        raise PydanticKnownError(kind)
    return number


class Ratio(Number):
    """Refuses truth values and huge exponents, and takes a float for the decimal number that it is in JSON."""

    def __call__(self, value: object) -> object:
        """Return the value."""
        number = super().__call__(value)
        if isinstance(number, str) and (exponent := _EXPONENT.search(number)):
            digits = exponent[1].replace("_", "").lstrip("0")
            if len(digits) > len(str(_LARGEST_EXPONENT)) or int(digits or "0") > _LARGEST_EXPONENT:
                kind = "huge_exponent"
                message = "should have an exponent of at most {most}"
                raise PydanticCustomError(kind, message, {"most": _LARGEST_EXPONENT})
        if type(number) is not float or not math.isfinite(number):
            return number
        return Fraction(repr(number))


class FromText:
    """Reads text as pydantic's JSON mode does, to which it is exactly what a date or a UUID is.

    In Python's mode it is never quite that, and another branch of a union that takes any text would always be chosen.
    """

    def __init__(self, schema: CoreSchema) -> None:
        self._validator = SchemaValidator(schema)

    def __repr__(self) -> str:  # what pydantic calls it in an error
        return "text"

    def __call__(self, value: object, validate: Callable[[object], object]) -> object:
        """Return the value that a text stands for."""
        if type(value) is str:
            try:
                return self._validator.validate_json(json.dumps(value), strict=True)
            except ValidationError:  # it may be right for the more lenient
                pass
        return validate(value)


def choice_decoder(expected: list[object], error: Literal["literal_error", "enum"]) -> "Chosen | None":
    """Return what turns JSON into one of the values, or None where pydantic does so itself."""
    members = [item for item in expected if isinstance(item, Enum | bytes)]
    if error == "enum" and all(type(_value_of(member)) in (str, bool, type(None)) for member in members):
        return None
    has_numbers = any(type(_value_of(item)) in (int, float) for item in expected)
    if members or has_numbers:
        return Chosen(expected, error if has_numbers else None)
    return None


def _value_of(expected: object) -> object:
    if isinstance(expected, Enum):
        return cast("object", expected.value)
    return expected


class Chosen:
    """Turns the JSON of a value into the member or the bytes, and tells `1`, `1.0` and `True` apart.

    A whole number may be written as a float and the reverse; a truth value stands for no number.
    """

    def __init__(self, expected: list[object], error: Literal["literal_error", "enum"] | None) -> None:
        self._error: Literal["literal_error", "enum"] | None = error
        self._values = list(map(_value_of, expected))
        self._hashable: dict[tuple[type, object], object] = {}
        self._others: list[tuple[object, object]] = []
        for value in expected:
            form = _form(_value_of(value))
            if isinstance(form, Hashable):
                self._hashable.setdefault((type(form), form), value)
            else:
                self._others.append((form, value))

    def __repr__(self) -> str:  # what pydantic calls it in an error
        return "chosen"

    def __call__(self, value: object) -> object:
        """Return the member, or the value where pydantic shall decide."""
        try:
            if (key := (type(value), value)) in self._hashable:
                return self._hashable[key]
        except TypeError:  # it has no hash
            others = (member for form, member in self._others if type(form) is type(value) and form == value)
            return next(others, value)
        if self._error is not None and type(value) in (bool, int, float):
            return self._number(value)
        return value

    def _number(self, value: object) -> object:
        """Return the member that another spelling of a number stands for; leave it to pydantic where there is none."""
        other = float if type(value) is int else int
        if type(value) is not bool and (other, value) in self._hashable:
            return self._hashable[other, value]
        if value in self._values:
            # To pydantic, which compares by `==`, it would be one of them.
            raise PydanticKnownError(cast("Any", self._error), {"expected": " or ".join(map(repr, self._values))})
        return value


def _form(value: object) -> object:
    """Return a member's value as JSON has it."""
    if isinstance(value, _PLAIN):
        return value
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:
        return value


def from_base64(value: object) -> object:
    """Return the bytes that a text stands for, and what is no text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value.translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        message = "base64 text is wanted"
        raise ValueError(message) from None


class Sum:
    """Refuses a number that is no sum of a Flag's members."""

    def __init__(self, flag: type[Flag]) -> None:
        self._mask = 0
        for member in flag:
            self._mask |= member.value
        self._expected = " + ".join(f"{member.value} ({member.name})" for member in flag)

    def __repr__(self) -> str:  # what pydantic calls it in an error
        return "sum"

    def __call__(self, value: object) -> object:
        """Return the value."""
        if type(value) is bool or (type(value) is int and (value < 0 or value & ~self._mask)):
            kind, message = "flag", "should be a sum of members"
            raise PydanticCustomError(kind, message, {"expected": f"a sum of any of {self._expected}"})
        return value


class JsonKey:
    """Reads the key of a dict that is no text in Python from the JSON text that it is in JSON."""

    def __repr__(self) -> str:  # what pydantic calls it in an error
        return "key"

    def __call__(self, value: object, validate: Callable[[object], object]) -> object:
        """Return the key."""
        try:
            return validate(value)
        except ValidationError:
            key = parse_value(value) if type(value) is str else value
            # What is too long for a float (`1e-400`) is another number as one.
            is_rounded = type(key) is float and repr(key) != value
            if type(key) is str or (key is None and value != "null") or is_rounded:
                raise
            return validate(key)


class Renamed:
    """Renames the keys of a dict that has a record under its names in Python to those in JSON.

    What a tool returned may be passed on to another one so, although only one of the two names is in the schema. Fields
    that the class fills itself, which are `made`, are left out: a result has them, and no parameter takes them.
    """

    def __init__(self, names: Mapping[str, str], made: frozenset[str]) -> None:
        self._names = names
        self._made = made
        self._changed = names.keys() | made

    def __repr__(self) -> str:  # what pydantic calls it in an error
        return "renamed"

    def __call__(self, value: object) -> object:
        """Return the dict with the names in JSON, and what is no dict as it is."""
        if type(value) is not dict:
            return value
        given = cast("dict[object, object]", value)
        if given.keys().isdisjoint(self._changed):
            return given
        return rename_keys(given, self._names, self._made)


def no_number(value: object) -> object:
    """Return a value that is no number; in strict mode a number is no time, in JSON as little as in Python."""
    if isinstance(value, int | float):
        kind, message = "no_number", "should be text, not a number"
        raise PydanticCustomError(kind, message)
    return value
