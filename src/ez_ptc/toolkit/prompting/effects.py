"""What a failed program has done already, so that a corrected one does not do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ez_ptc.formats.content import as_text
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ez_ptc.tools.tool import Tool

__all__ = ["effect_lines", "effects_of"]

_MAX_LINES: Final = 10
_MAX_LENGTH: Final = 200


def effects_of(calls: Iterable[dict[str, Any]], tools: Iterable[Tool[..., Any]]) -> list[dict[str, Any]]:
    """Return the records of the calls that have succeeded, of tools that are not declared read-only.

    Those answered from an earlier program are left out.
    """
    readers = {tool.name for tool in tools if tool.read_only is True}
    made = (call for call in calls if call["error"] is None and not call.get("already_done"))
    return [call for call in made if call["name"] not in readers]


def effect_lines(
    calls: Sequence[Mapping[str, Any]], tools: Iterable[Tool[..., Any]], prefix: str = "already done: "
) -> list[str]:
    """Return a line for each call, such as "already done: refund(order_id=1)"; ten at most."""
    names = {tool.name: tool.positional_names for tool in tools}
    lines: list[str] = []
    for call in calls[:_MAX_LINES]:
        known, positional = names.get(call["name"], ()), call["args"]
        arguments = [f"{name}={safe_repr(value)}" for name, value in zip(known, positional, strict=False)]
        arguments += [safe_repr(value) for value in positional[len(known) :]]
        arguments += [f"{as_text(name)}={safe_repr(value)}" for name, value in call["kwargs"].items()]
        text = f"{call['name']}({', '.join(arguments)})"
        lines.append(f"{prefix}{text if len(text) <= _MAX_LENGTH else f'{text[: _MAX_LENGTH - 1]}…'}")
    if len(calls) > _MAX_LINES:
        lines.append(f"… and {len(calls) - _MAX_LINES:,} more calls")
    return lines
