"""What a program gets of a tool's result: the payload of the reply to its call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ez_ptc.formats.content import key_text
from ez_ptc.formats.encoding import distinct_keys, plain_value, undeliverable
from ez_ptc.sandbox import codec
from ez_ptc.sandbox.worker.values import codec as values

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable

__all__ = ["Payload", "payload"]

_HASHED = frozenset({tuple, frozenset, values.Row})


class Payload(NamedTuple):
    """The kind and the bytes of a reply and, where the result cannot be passed on, why."""

    kind: bytes
    body: bytes
    problem: str | None = None


def payload(tool: str, output: object, most: int, elements: int = values.MAX_NODES) -> Payload:
    """Return what a program gets of what a tool returned, in at most so many bytes and elements.

    This runs the code of foreign objects, and may take as long as that does.
    """
    try:
        if type(output) is str:
            kind, body = b"s", output.encode("utf-8", "surrogatepass")
        else:
            tree = values.encode(output, _simpler, most_text=4 * most, plain_members=_plain_members, most=elements)
            body = codec.dumps(tree)
            kind = b"m" if b'"$"' in body else b"v"
    except Exception as error:  # noqa: BLE001 - foreign code: an object may raise anything when it is looked into
        return _refused(tool, str(error))
    if len(body) > most:
        return _refused(tool, f"it has {len(body):,} bytes, and at most {most:,} can reach the program")
    return Payload(kind, body)


def _refused(tool: str, problem: str) -> Payload:
    message = undeliverable(tool, problem)
    return Payload(b"e", codec.dumps(("RuntimeError", "RuntimeError", message)), message)


def _plain_members(items: Any) -> object:  # noqa: ANN401 - a dict or a set
    """Return a dict with keys, or a set with members, that a program can have; a list where there is no such set."""
    if type(items) is dict:
        return distinct_keys(cast("dict[Any, object]", items), _plain_key)
    try:
        plain: Collection[object] = type(items)(map(_plain_member, items))
    except TypeError:  # a record has no hash
        return list(items)
    return plain if len(plain) == len(items) else list(items)


def _plain_member(member: object) -> object:
    plain = _plain(member)
    return _mapped(_plain_member, plain) if type(plain) in _HASHED else plain


def _plain_key(key: object) -> Hashable:
    plain = _plain(key)
    kind = type(plain)
    if kind in _HASHED:
        return cast("Hashable", _mapped(_plain_key, plain))
    return cast("Hashable", plain) if kind in values.KEYS else key_text(plain)


def _simpler(value: object, most: int = values.MAX_NODES) -> object:
    # Only a range that is too long to cross comes here.
    return plain_value(value, most) if type(value) is range else plain_value(value, most, values.KINDS)


def _plain(value: object) -> object:
    """Return what reaches the program as a value of its own type, or what stands for it."""
    if type(value) in values.KEYS:
        return value
    names = values.names_of(value)
    return _simpler(value) if names is None else values.Row(*names, cast("Iterable[object]", value))


def _mapped(function: Callable[[object], object], items: Any) -> object:  # noqa: ANN401 - a tuple or a frozenset
    inner = map(function, cast("Iterable[object]", items))
    names = values.names_of(items)
    return type(items)(inner) if names is None else values.Row(*names, inner)
