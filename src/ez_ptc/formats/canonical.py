"""Our records as JSON, and the digest of a call: equal for equal calls, different for any two that differ."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final, cast

from ez_ptc.formats.content import as_json
from ez_ptc.formats.encoding import MAX_DEPTH
from ez_ptc.messages import Printable, Usage
from ez_ptc.schema.standard.sentences import without_surrogates

__all__ = ["call_digest", "json_record"]

# JSON's encoder writes smaller integers in linear time.
_MAX_DECIMAL_BITS: Final = 1_000


def call_digest(tool: str, arguments: Mapping[str, object]) -> str:
    """Return a call's SHA-256 in hexadecimal digits, of the tool's name and the JSON of its arguments.

    Values have the JSON that stands in a journal, so the digest is the same before and after. Keys are in order. Takes
    time in proportion to the size of the arguments.
    """
    text = f"[{json.dumps(tool)},{_write_object(arguments, 0)}]"
    return hashlib.sha256(text.encode()).hexdigest()


def json_record(record: Printable) -> dict[str, Any]:
    """Return the fields that a record's `repr` shows as JSON's types, after its class's name as `type`."""
    shown = [field.name for field in fields(cast("Any", record)) if field.repr]
    return {"type": type(record).__name__, **{name: _json_field(getattr(record, name)) for name in shown}}


def _json_field(value: object) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, Printable):
        return json_record(value)
    if isinstance(value, Usage):
        return asdict(value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        if any(isinstance(item, Printable) for item in items):
            return [_json_field(item) for item in items]
    return as_json(cast("object", value))


def _write(value: Any, depth: int) -> str:  # noqa: ANN401 - any value
    """Return a value's text: JSON in ASCII, but for integers that are too long for it.

    Only what has no JSON of its own is left to `as_json`, which replaces large values by a sentence about their size.
    """
    cls = cast("type[object]", type(value))
    if depth <= MAX_DEPTH:
        if cls is dict and all(map(_is_plain_text, value)):
            return _write_object(value, depth + 1)
        if cls in {list, tuple}:
            return f"[{_joined(_write(item, depth + 1) for item in value)}]"
    if cls is str:
        return json.dumps(without_surrogates(value))
    if cls is int and value.bit_length() > _MAX_DECIMAL_BITS:
        return hex(value)
    return json.dumps(as_json(value), sort_keys=True, separators=(",", ":"))


def _write_object(items: Mapping[str, Any], depth: int) -> str:
    return f"{{{_joined(f'{json.dumps(key)}:{_write(items[key], depth)}' for key in sorted(items))}}}"


def _is_plain_text(key: object) -> bool:
    return type(key) is str and without_surrogates(key) == key


def _joined(texts: Iterable[str]) -> str:
    return ",".join(texts)
