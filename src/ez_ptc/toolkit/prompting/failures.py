"""What is known of a failure besides its error, and the corrected program at the end of an error's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ez_ptc.sandbox.protocol.records.grants import MAX_SENT
from ez_ptc.toolkit.prompting.effects import SAME_ERROR
from ez_ptc.toolkit.prompting.empty_selections import explain_emptiness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.tools.tool import Tool

__all__ = ["explain_unbound", "failure_facts", "split_proposal"]

_UNBOUND: Final = re.compile(
    r"(?:NameError: name|KeyError:|AttributeError: module 'builtins' has no attribute) '(\w{1,200})'"
)
_NOT_NAMED: Final = (
    "{name} is one of the functions, but with {count:,} of them a program gets only those whose names stand in its "
    "text: write {name} itself, not an expression that makes its name."
)


def failure_facts(
    code: str, result: ExecutionResult, tools: Sequence[Tool[..., object]], *, is_repeated: bool = False
) -> tuple[str, ...]:
    """Return the explanations of the error of a failed program, one sentence each.

    `is_repeated` says that it is a correction, and fails with the error of the program before.
    """
    if result.is_denied:
        return ()
    facts, why, _ = explain_emptiness(code, result, tools)
    facts += [f"No row met a condition: {why}"] if why else []
    facts += explain_unbound(code, result, tools)
    return (*facts, SAME_ERROR) if is_repeated else tuple(facts)


def explain_unbound(code: str, result: ExecutionResult, tools: Sequence[Tool[..., object]]) -> list[str]:
    """Return why a failed program does not have a tool whose name it has computed; nothing after another error."""
    match = _UNBOUND.match(result.error or "")
    if match is None or len(tools) <= MAX_SENT or re.search(rf"\b{match[1]}\b", code):
        return []
    return [_NOT_NAMED.format(name=tool.name, count=len(tools)) for tool in tools if tool.name == match[1]]


def split_proposal(details: str) -> tuple[str, str]:
    """Return an error's text without the program to copy at its end, and that program with its introduction, or ""."""
    if not details.endswith("\n```"):  # no foreign line begins with a fence
        return details, ""
    start = details.rfind("\n", 0, details.rfind("\n```python\n"))
    before = details.rfind("\n", 0, start)
    if details.startswith("Changed: ", before + 1):  # the changes belong to the program, in the line above
        start = before
    if start < 0:
        return details, ""
    return details[:start], details[start + 1 :]
