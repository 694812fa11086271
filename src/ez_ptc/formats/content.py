"""What a tool gave back, as JSON and as the text that a model reads; and what can be sent of any text."""

import base64
import json
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, cast

from ez_ptc.formats.lowering.sentences import without_surrogates
from ez_ptc.messages import ToolResult

__all__ = ["as_json", "as_text", "error_text", "sendable"]

_DEEPEST: Final = 100
_LONGEST_INTEGER: Final = 10_000


def as_text(output: object) -> str:
    """Return what a tool gave back as text: text as it is, anything else as compact JSON. `None` is `null`.

    Never raises; what has no JSON form is its `str()`.
    """
    plain = as_json(output)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def as_json(value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a value as JSON's own types.

    Dataclasses, named tuples, pydantic, attrs and msgspec records and mappings become objects; sets and sequences
    lists; bytes base64; dates, UUIDs and the like what pydantic makes of them. A number that JSON does not have is the
    text `NaN`, `Infinity` or `-Infinity`. What has no JSON form, and what lies deeper than 100 levels or contains
    itself, is its `str()`. Never raises.
    """
    return _plain(value, ())


def error_text(result: ToolResult) -> str:
    """Return why a call failed, for a model to read."""
    return without_surrogates(result.error or "the tool failed and did not say why")


def sendable(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request without halves of characters, which JSON has a spelling for and UTF-8 has not."""
    text = json.dumps(body, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return cast("dict[str, Any]", json.loads(without_surrogates(text)))
    return body


def _plain(value: object, inside: tuple[int, ...]) -> Any:  # noqa: ANN401 - any JSON
    if value is None or isinstance(value, bool):
        return value
    scalar = next((make for kind, make in _SCALARS.items() if isinstance(value, kind)), None)
    if scalar is not None:
        return scalar(value)
    if id(value) in inside or len(inside) > _DEEPEST:
        return _text(value)
    inside = (*inside, id(value))
    try:
        return _collection(value, inside)
    except Exception:  # noqa: BLE001 - a tool's own object may raise anything when it is looked into
        return _text(value)


def _collection(value: object, inside: tuple[int, ...]) -> object:
    if (record := _record(value)) is not None:
        value = record
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {_key(key): _plain(each, inside) for key, each in pairs}
    if isinstance(value, Sequence | AbstractSet | deque) and not isinstance(value, range):  # which may be endless
        return [_plain(each, inside) for each in cast("Sequence[object]", value)]
    return _other(value, inside)


def _record(value: Any) -> Mapping[str, object] | None:  # noqa: ANN401 - any object
    kind = cast("Any", type(value))
    if is_dataclass(kind):
        return {each.name: getattr(value, each.name) for each in fields(kind)}
    if isinstance(value, tuple):
        return kind._asdict(value) if hasattr(kind, "_asdict") else None
    attributes: Sequence[Any] = getattr(kind, "__attrs_attrs__", ())
    names: Sequence[str] = [each.name for each in attributes] or getattr(kind, "__struct_fields__", ())
    return {name: getattr(value, name) for name in names} if names else None


def _other(value: object, inside: tuple[int, ...]) -> object:
    if isinstance(value, Iterator):
        return _text(cast("object", value))  # which would be used up, and may be endless
    from pydantic_core import to_jsonable_python

    plain: object = to_jsonable_python(value, fallback=_text)
    return _plain(plain, inside) if type(plain) is not type(value) else _text(value)


def _key(key: object) -> str:
    if isinstance(key, Enum):
        key = cast("object", key.value)
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    plain = _text(cast("object", key)) if isinstance(key, tuple) else _plain(key, ())
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _text(value: object) -> str:
    try:
        return without_surrogates(str(value))
    except Exception:  # noqa: BLE001 - a tool's own object may raise anything when it is written out
        return f"<{type(value).__name__}>"


def _integer(value: int) -> object:
    # Python writes out no integer of more than a few thousand digits, and no model reads one.
    return int(value) if value.bit_length() <= _LONGEST_INTEGER else f"<an integer of {value.bit_length()} bits>"


def _float(value: float) -> object:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _base64(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode("ascii")


_SCALARS: Final[Mapping[type, Callable[[Any], object]]] = {
    Enum: lambda value: _plain(value.value, ()),
    str: lambda value: without_surrogates(str.__str__(value)),
    int: _integer,
    float: _float,
    bytes: _base64,
    bytearray: _base64,
    memoryview: _base64,
}
