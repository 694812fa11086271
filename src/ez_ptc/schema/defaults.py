"""The defaults of parameters and fields as JSON."""

import json
import math
from enum import Enum
from typing import Final, cast

__all__ = ["NO_DEFAULT", "json_default", "plain_value"]

# The result for a default JSON cannot carry.
NO_DEFAULT: Final = object()


def json_default(value: object) -> object:
    """Return a default as JSON, or `NO_DEFAULT` if JSON cannot carry it.

    JSON carries no objects, infinities or lone surrogates. A member of an Enum becomes its value, a tuple a list.
    """
    plain = plain_value(value)
    if not _is_json(plain):
        return NO_DEFAULT
    try:
        text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError):
        return NO_DEFAULT
    return cast("object", json.loads(text))


def _is_json(value: object) -> bool:
    if type(value) in (list, tuple):
        return all(map(_is_json, cast("list[object]", value)))
    if type(value) is dict:
        pairs = cast("dict[object, object]", value).items()
        return all(type(key) is str and _is_json(inner) for key, inner in pairs)
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (str, bool, int)


def plain_value(value: object) -> object:
    """Return the value of a member of an Enum, and anything else as it is."""
    if isinstance(value, Enum):
        return cast("object", value.value)
    return value
