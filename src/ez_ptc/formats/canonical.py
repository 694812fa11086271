"""The digest of a call: equal for equal calls, and different for any two that would be shown or run differently."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from ez_ptc.formats.content import as_json
from ez_ptc.formats.encoding import MAX_DEPTH
from ez_ptc.schema.standard.sentences import without_surrogates

__all__ = ["call_digest"]

# JSON's encoder writes smaller integers in linear time.
_MAX_DECIMAL_BITS: Final = 1_000


def call_digest(tool: str, arguments: Mapping[str, object]) -> str:
    """Return a call's SHA-256 in hexadecimal digits, of the tool's name and the JSON of its arguments.

    Values have the JSON that stands in a journal, so the digest is the same before and after. Keys are in order. Takes
    time in proportion to the size of the arguments.
    """
    text = f"[{json.dumps(tool)},{_write_object(arguments, 0)}]"
    return hashlib.sha256(text.encode()).hexdigest()


def _write(value: Any, depth: int) -> str:  # noqa: ANN401 - any value
    """Return a value's text: JSON in ASCII, but for integers that are too long for it.

    Only what has no JSON of its own is left to `as_json`, which replaces large values by a sentence about their size.
    """
    kind = cast("type[object]", type(value))
    if depth <= MAX_DEPTH:
        if kind is dict and all(map(_is_plain_text, value)):
            return _write_object(value, depth + 1)
        if kind in {list, tuple}:
            return f"[{_joined(_write(item, depth + 1) for item in value)}]"
    if kind is str:
        return json.dumps(without_surrogates(value))
    if kind is int and value.bit_length() > _MAX_DECIMAL_BITS:
        return hex(value)
    return json.dumps(as_json(value), sort_keys=True, separators=(",", ":"))


def _write_object(items: Mapping[str, Any], depth: int) -> str:
    return f"{{{_joined(f'{json.dumps(key)}:{_write(items[key], depth)}' for key in sorted(items))}}}"


def _is_plain_text(key: object) -> bool:
    return type(key) is str and without_surrogates(key) == key


def _joined(texts: Iterable[str]) -> str:
    return ",".join(texts)
