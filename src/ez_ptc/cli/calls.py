"""A tool call as a line of text."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["call_text", "outcome_text", "printable"]

_LONGEST: Final = 60
_SHOWN: Final = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = _LONGEST


def call_text(call: Mapping[str, Any], *, in_full: bool = False) -> str:
    """Return the call of a tool as Python writes it, from its record: `list_orders(2, status='open')`.

    Of long arguments there is only a part, unless they are wanted `in_full`.
    """
    show = repr if in_full else _SHOWN.repr
    positional: Iterable[object] = call["args"]
    named: Mapping[str, object] = call["kwargs"]
    given = (f"{printable(name)}={show(value)}" for name, value in named.items())
    return f"{printable(call['name'])}({', '.join([*map(show, positional), *given])})"


def printable(text: str, *, kept: str = "") -> str:
    """Return a model's text without what a terminal would obey: a forged question must not look like ours.

    It is part of a line, unless ends of lines are among the characters that are `kept`.
    """
    return "".join(each if each in kept or each.isprintable() else "�" for each in text)


def outcome_text(call: Mapping[str, Any]) -> str:
    """Return in a few words what came of a call, from its record: `3 records`, `{'units': 4}`, `error: …`."""
    if call["error"] is not None:
        return f"error: {call['error']}"
    result: object = call["result"]
    if isinstance(result, Sequence) and not isinstance(result, (str, bytes)):
        items = cast("Sequence[object]", result)
        noun = "record" if items and all(isinstance(item, Mapping) for item in items) else "item"
        return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"
    return _SHOWN.repr(result)
