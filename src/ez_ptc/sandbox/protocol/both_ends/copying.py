"""Programs for a model to copy, on both ends: a worker may say anything, and proposes small changes only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .quoting import MAX_LINE, on_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CORRECTED", "MAX_PROGRAM", "change_text", "correction_text", "program_block"]

# The maximum characters of a corrected program; a longer one would be cut, and is not copied.
MAX_PROGRAM = 5_000
CORRECTED = "Run this corrected program instead, if it solves the task:"
_MAX_CHANGED = 5
_MAX_ADDED = 150


def program_block(introduction: str, program: str | None) -> str | None:
    """Return a program in a block for a model to copy; None without one, or for one too long or with a fence."""
    program = (program or "").strip()
    if not program or len(program) > MAX_PROGRAM or "```" in program:
        return None
    return f"{introduction}\n```python\n{program}\n```\n"


def change_text(line: int, before: str, after: str) -> str:
    """Return the change of a line: `line 2: row["a"] -> row["b"]`."""
    return f"line {line}: {on_one_line(before, MAX_LINE)} -> {on_one_line(after, MAX_LINE)}"


def correction_text(code: str, corrected: str, calls: Sequence[Mapping[str, Any]]) -> str:
    """Return a worker's corrected program as text for a model, with its changes; "" for one not to be proposed.

    It differs from the program in at most five lines, each of about the same length. After a call that has failed,
    other than the last one, none is proposed: it would make the call again.
    """
    before, after = code.encode().splitlines(), corrected.encode().splitlines()
    if not corrected or len(corrected) > MAX_PROGRAM or len(before) != len(after):
        return ""
    if any(call["error"] is not None for call in calls[:-1]):
        return ""
    changes: list[str] = []
    for number, (old, new) in enumerate(zip(before, after, strict=True), 1):
        if len(new) > len(old) + _MAX_ADDED:
            return ""
        if old != new:
            changes.append(change_text(number, old.decode().strip(), new.decode().strip()))
    if not 0 < len(changes) <= _MAX_CHANGED:
        return ""
    return program_block(f"Changed: {'; '.join(changes)}\n{CORRECTED}", corrected) or ""
