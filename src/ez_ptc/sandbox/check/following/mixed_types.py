"""Hints for values of types that do not go together, by the error that Python gives."""

from __future__ import annotations

import re

__all__ = ["hint_of_types"]

_MAX_SEARCHED = 1_000
_NUMBER = r"(?:int|float|bool|decimal\.Decimal)"
_DATE = r"datetime\.(?:date|datetime)"
_PAIR = r"'%s' and '%s'"
_BOTH = rf"(?:{_PAIR}|{_PAIR})"
_AS_TEXT = "write a number as text with str(), or use an f-string"
_AS_NUMBER = "one of them is text: float() makes a number of it, str() makes text of a number"
_NO_TEXT = "it is a date, not text: .isoformat() makes text of it"
_ZONES = "one of them has no time zone: write datetime.now(timezone.utc), or .replace(tzinfo=timezone.utc)"
_HINTS = {
    rf'can only concatenate str \(not "{_NUMBER}"\)': _AS_TEXT,
    _BOTH % ("str", _NUMBER, _NUMBER, "str"): _AS_NUMBER,
    "multiply sequence by non-int of type '(?:str|float)'": "one of them is not a number: float() makes one of text",
    _BOTH % ("decimal.Decimal", "float", "float", "decimal.Decimal"): (
        'a Decimal and a float do not mix: write Decimal("1.5"), or float() of the Decimal'
    ),
    _BOTH % ("str", _DATE, _DATE, "str"): "one of them is text: datetime.fromisoformat() makes a datetime of it",
    _BOTH % ("datetime.datetime", "datetime.date", "datetime.date", "datetime.datetime"): (
        "one of them is a datetime: .date() makes a date of it"
    ),
    "can't compare datetime.datetime to datetime.date": "one of them is a datetime: .date() makes a date of it",
    _BOTH % ("datetime.timedelta", "(?:int|float)", "(?:int|float)", "datetime.timedelta"): (
        "one of them is a timedelta: .days and .total_seconds() are numbers"
    ),
    "a bytes-like object is required, not 'str'": "one of them is bytes: .decode() makes text of them",
    "a coroutine or an awaitable is required": "give each call as an argument of its own: asyncio.gather(*calls)",
    "offset-naive and offset-aware": _ZONES,
    rf"strptime\(\) argument 1 must be str, not {_DATE}": "it is a date already, not text: use it as it is",
    f"'{_DATE}' object is not subscriptable": _NO_TEXT,
    "'date(?:time)?' object has no attribute '(?:endswith|find|lower|split|startswith|strip|upper)'": _NO_TEXT,
    "of type (?:date|datetime|Decimal|UUID|set) is not JSON": "json.dumps(..., default=str) writes it as text",
}


def hint_of_types(error: str) -> str:
    """Return how to bring the values together, or ""."""
    return next((hint for pattern, hint in _HINTS.items() if re.search(pattern, error[:_MAX_SEARCHED])), "")
