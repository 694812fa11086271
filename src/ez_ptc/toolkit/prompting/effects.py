"""What a failed program has done already, so that a corrected one does not do it again."""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.formats.content import as_text
from ez_ptc.results.json_writer import base_of
from ez_ptc.results.notes import escape_notes
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.stubs import type_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.tools.tool import Tool

__all__ = [
    "REPEATABLE",
    "SAME_ERROR",
    "describe_done_calls",
    "describe_repetition",
    "effect_lines",
    "effects_of",
    "shape_text",
]

_MAX_KEYS: Final = 8
_MAX_DEPTH: Final = 3
_MAX_SHAPE_LENGTH: Final = 300
_MAX_NAME: Final = 40
_CONTAINERS: Final[dict[Any, str]] = {dict: "dict", list: "list"}
_NAMES: Final[dict[type, str]] = {str: "str", int: "int", float: "float", bool: "bool", type(None): "None"}


def shape_text(value: object) -> str | None:
    """Return the shape of a dict or list, such as "{history: list[int]}"; None for another value, or a large shape.

    No code of a value's class is run.
    """
    base = base_of(value)
    if base not in _CONTAINERS or not base.__len__(value):
        return None
    text = _shape(value, _MAX_DEPTH)
    return text if len(text) <= _MAX_SHAPE_LENGTH else None


def _shape(value: object, depth: int) -> str:
    base = base_of(value)
    if base not in _CONTAINERS:
        return _NAMES.get(type(value), "Any")
    count: int = base.__len__(value)
    if not depth or not count:
        return _CONTAINERS[base]
    if isinstance(value, list):
        return f"list[{_shape(next(list[object].__iter__(cast('list[object]', value))), depth - 1)}]"
    members = dict[object, object].items(cast("dict[object, object]", value))
    parts = [f"{_key(key)}: {_shape(member, depth - 1)}" for key, member in islice(members, _MAX_KEYS)]
    if count > _MAX_KEYS:
        parts.append("…")
    return f"{{{', '.join(parts)}}}"


def _key(key: object) -> str:
    if type(key) is str and key.isidentifier() and len(key) <= _MAX_NAME:
        return key
    return safe_repr(key)


_DONE: Final = "These calls have succeeded before the error. Do not repeat them:"
REPEATABLE: Final = "These calls are already done; the same call returns its result again:"
_REPEATABLE_AFTER: Final = 'These calls are already done. With after="{token}", the same call returns its result again:'
SAME_ERROR: Final = "The correction fails with the same error, because it does not change what fails."
_MAX_LINES: Final = 10
_MAX_LENGTH: Final = 200
_MAX_HINTS: Final = 2


def describe_done_calls(
    result: ExecutionResult, tools: Sequence[Tool[..., Any]], *, continues: bool, token: str | None = None
) -> str:
    """Return the succeeded calls of a failed program and whether to repeat them; "" without succeeded calls.

    If the next program continues it, by itself or with a token, the keys of results that no type documents are named
    as well.
    """
    if not (continues or token) or result.is_denied:
        done = effects_of(result.tool_calls, tools)
        lines = [_DONE, *map(escape_notes, effect_lines(done, tools))]
        return "\n".join(lines) if done else ""
    done = [call for call in result.tool_calls if call["error"] is None]
    undocumented = {tool.name for tool in tools if "{" not in type_text(tool.return_schema or {})}
    lines = [_REPEATABLE_AFTER.format(token=token) if token else REPEATABLE]
    for call, line in zip_longest(done, effect_lines(done, tools, "    ")):
        if line is None:
            break
        shape = shape_text(call.get("result")) if call and call["name"] in undocumented else None
        lines.append(escape_notes(f"{line} -> {shape}" if shape else line))
    return "\n".join(lines) if done else ""


def describe_repetition(details: str, result: ExecutionResult) -> str:
    """Return that a correction fails with the error of the program before, and the hints again; "" if it does not."""
    if result.is_denied or not getattr(result.progress, "is_repeated", False):
        return ""
    # Foreign text in an error is indented.
    hints = [line for line in details.splitlines() if line.startswith("Hint: ")]
    return "\n".join([SAME_ERROR, *hints[:_MAX_HINTS]])


def effects_of(calls: Iterable[Mapping[str, Any]], tools: Iterable[Tool[..., Any]]) -> list[dict[str, Any]]:
    """Return the records of the calls that have succeeded, of tools that are not declared read-only.

    Those answered from an earlier program are left out.
    """
    readers = {tool.name for tool in tools if tool.read_only is True}
    made = (cast("dict[str, Any]", call) for call in calls if call["error"] is None and not call.get("already_done"))
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
