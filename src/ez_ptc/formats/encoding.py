"""Plain substitutes for values of any class: the one rule by which tool results are passed on.

A result reaches a sandboxed program as Python values, and a model, a client or a saved conversation as JSON.
`plain_value` is the step both share: it returns the record, value or text for an instance of another class, without
changing its parts. The caller continues with these, counts them, and stops at `MAX_ELEMENTS`.
"""

import dataclasses
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final, cast

from ez_ptc.sandbox.protocol.values.kinds import KINDS_BY_TYPE
from ez_ptc.sandbox.protocol.values.substitutes import UNKNOWN, TooManyError, of_base, of_special
from ez_ptc.schema.safe_repr import safe_repr

__all__ = [
    "MAX_DEPTH",
    "MAX_ELEMENTS",
    "SCALAR_TEXTS",
    "TOO_DEEP",
    "TOO_MANY",
    "NotEncodableError",
    "TooManyError",
    "distinct_keys",
    "plain_value",
    "undeliverable",
]

# The maximum nesting depth of a result.
MAX_DEPTH: Final = 100
# The maximum number of elements of a result; shared references count each time.
MAX_ELEMENTS: Final = 500_000
TOO_DEEP: Final = f"the value refers to itself or is nested deeper than {MAX_DEPTH} levels"
TOO_MANY: Final = f"the value is too large: it has more than {MAX_ELEMENTS:,} elements"

_MAX_STEPS: Final = 10
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+(?=[>;, )])")
_SCALARS: Final = frozenset({type(None), bool, int, float, str})
_CONTAINERS: Final = frozenset({list, dict, tuple, set, frozenset})


class NotEncodableError(ValueError):
    """A value is too large or too deep to be passed on; the message says which."""


def _as_pydantic_writes(value: object) -> str:
    from pydantic_core import to_jsonable_python

    return cast("str", to_jsonable_python(value))


# Values without parts, other than JSON's, and how each is written.
SCALAR_TEXTS: Final[Mapping[type, Callable[[Any], str]]] = {
    cls: value_kind.json_text or _as_pydantic_writes
    for cls, value_kind in KINDS_BY_TYPE.items()
    if value_kind.json_format
}
_PLAIN: Final = _SCALARS | _CONTAINERS | SCALAR_TEXTS.keys()


def undeliverable(tool: str, problem: str) -> str:
    """Return the error for a model if a tool has run and its result cannot be passed on."""
    return f"{tool!r} has run, but what it returned cannot be passed on: {problem}; do not call it again for the result"


def plain_value(value: object, most: int = MAX_ELEMENTS, known: Collection[type] = _PLAIN) -> object:
    """Return the plain substitute of a value, an instance of exactly one of Python's own types, with any parts in it.

    These types are None, bool, int, float, str, bytes, bytearray, date, datetime, time, timedelta, Decimal, UUID, list,
    tuple, set, frozenset and dict. An Enum becomes its value. Dataclasses, named tuples, pydantic models, attrs and
    msgspec classes become dicts, with the names a parameter of that class accepts. Mappings become dicts, other
    collections lists, numpy arrays and numbers Python's own, pandas tables records. Paths, addresses, patterns,
    fractions, complex numbers and time zones become text, secrets a masked text. So does any other object, and one that
    cannot be read.

    Instances of the types in `known` stay unchanged.

    Raises TooManyError if this step already makes more than `most` elements, and NotEncodableError for too much depth.
    """
    simpler = value
    for _ in range(_MAX_STEPS):
        if type(simpler) in known:
            return simpler
        try:
            simpler = _simplify(simpler, most)
        except (NotEncodableError, TooManyError):
            raise
        except Exception:  # noqa: BLE001 - foreign code: an object may raise anything when it is looked into
            break
    return _object_text(value)


def _object_text(value: object) -> str:
    """Return an object's text without the memory address that Python writes into some."""
    try:
        return _ADDRESS.sub("", str.__str__(str(value)))
    except Exception:  # noqa: BLE001 - foreign code: an object may raise anything when it is written out
        return f"<{type(value).__name__}>"


def distinct_keys(items: Mapping[Any, object], plain: Callable[[object], Hashable]) -> dict[Hashable, object]:
    """Return a mapping with plain keys, without losing entries.

    A key whose plain form exists already gets the name of its plain type added. Text keeps its own form.
    """
    used_keys: set[Hashable] = {key for key in items if type(key) is str and plain(key) == key}
    distinct: dict[Hashable, object] = {}
    for key, value in items.items():
        name = plain(key)
        if type(key) is not str or name != key:
            text = name if isinstance(name, str) else safe_repr(name)
            type_name = type(plain_value(key)).__name__
            number = 1
            while name in used_keys:
                name = f"{text} ({type_name})" if number == 1 else f"{text} ({type_name} {number})"
                number += 1
        used_keys.add(name)
        distinct[name] = value
    return distinct


def _simplify(value: Any, most: int) -> object:  # noqa: ANN401 - any object
    cls = cast("type[object]", type(value))
    if (special := of_special(value, most)) is not UNKNOWN:
        return special
    if (record := _record(value, cls, most)) is not None:
        return record
    for base, read in _READERS.items():
        if issubclass(cls, base):
            return read(value, most)
    if cls is complex or (plain := of_base(value, most)) is UNKNOWN:
        from pydantic_core import to_jsonable_python

        if issubclass(cls, type | Iterator):
            return _object_text(value)
        return to_jsonable_python(value, fallback=_object_text)
    return plain


_READERS: Final[Mapping[type, Callable[[Any, int], object]]] = {
    range: lambda items, most: list(items) if abs(items.stop - items.start) // abs(items.step) < most else str(items),
    SimpleNamespace: lambda namespace, _: namespace.__dict__.copy(),
}


# Records --------------------------------------------------------------------------------------------------------------


def _record(value: Any, kind: Any, most: int) -> object | None:  # noqa: ANN401 - any object and its class
    """Return the fields of a record, or None."""
    if hasattr(kind, "__pydantic_serializer__"):
        # Pydantic dumps all levels at once, shared ones each time they occur.
        _Measure(most).take(value, 0)
        if hasattr(kind, "model_dump"):
            fields = value.model_dump(by_alias=True, warnings=False)
        else:
            fields = kind.__pydantic_serializer__.to_python(value, by_alias=True, warnings=False)
        return fields
    if hasattr(kind, "__dataclass_fields__"):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    if hasattr(kind, "__attrs_attrs__"):
        return {_attribute_key(attr): getattr(value, attr.name) for attr in kind.__attrs_attrs__}
    if hasattr(kind, "__struct_config__"):
        return _of_msgspec(value, kind)
    if issubclass(kind, tuple):
        names: object = getattr(value, "_fields", None)
        items = tuple[object, ...].__iter__(value)
        return dict(zip(cast("tuple[str, ...]", names), items, strict=True)) if isinstance(names, tuple) else None
    return value.model_dump() if hasattr(kind, "model_dump") else None


def _attribute_key(attribute: Any) -> str:  # noqa: ANN401 - of attrs
    if not attribute.init:
        return attribute.name
    return getattr(attribute, "alias", None) or attribute.name.lstrip("_")


def _of_msgspec(value: Any, kind: Any) -> object:  # noqa: ANN401 - a class of msgspec and its instance
    config = kind.__struct_config__
    pairs = [
        (key, getattr(value, name))
        for key, name in zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    ]
    tag = [] if config.tag is None else [(config.tag_field, config.tag)]
    if config.array_like:
        return [item for _, item in (*tag, *pairs)]
    # An omitted field has a marker as its value.
    return {key: item for key, item in (*tag, *pairs) if type(item).__name__ != "UnsetType"}


class _Measure:
    """Counts the contents of an object that is dumped at once. Raises as `plain_value` does if there are too many."""

    def __init__(self, most: int) -> None:
        self._left = self._most = most

    def take(self, value: object, depth: int) -> None:
        cls = type(value)
        items: Sequence[object] = ()
        if cls is dict:
            items = [*cast("dict[object, object]", value).values()]
        elif cls in _CONTAINERS:
            items = [*cast("Iterable[object]", value)]
        elif hasattr(cls, "__pydantic_serializer__") or hasattr(cls, "__dataclass_fields__"):
            fields: dict[str, object] = getattr(value, "__dict__", {})
            extra: dict[str, object] = getattr(value, "__pydantic_extra__", None) or {}
            items = [*fields.values(), *extra.values()]
        self._left -= len(items) + 1
        if self._left < 0:
            message = f"the value is too large: it has more than {self._most:,} elements"
            raise TooManyError(message)
        if depth > MAX_DEPTH:
            raise NotEncodableError(TOO_DEEP)
        for item in items:
            if type(item) not in _SCALARS:
                self.take(item, depth + 1)
