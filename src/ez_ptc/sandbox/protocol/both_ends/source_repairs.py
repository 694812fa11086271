"""How a program's source was repaired before it ran: the keys that a worker sends, and what a result says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["REPAIRS", "SOURCE_RULES", "repair_note"]

# The version of the rules by which sources are repaired. A recorded run is read by those that it began with.
SOURCE_RULES = 2

REPAIRS = {
    "block": "only its code block was read",
    "blocks": "only the first of its code blocks was run",
    "calls": "each call became a line that prints what it returns",
    "comment": "// became #",
    "entities": "HTML's escapes became the signs they stand for",
    "indentation": "its indentation was evened out",
    "json": "it was read from JSON",
    "language": "the line that names the language was left out",
    "marks": "the marks around it were left out",
    "newlines": "escaped line ends became line ends",
    "numbers": "line numbers were left out",
    "quotation": "the > before its lines were left out",
    "reasoning": "the reasoning around it was left out",
    "signs": "signs and commands that Python cannot read were replaced or left out",
    "statements": "each statement was put on a line of its own",
    "string": "it was read from a string",
    "transcript": "only the inputs of a transcript were read",
}


def repair_note(keys: Iterable[str]) -> str:
    """Return the note about a repaired program for its model; "" for none, and for what is no key of a repair."""
    repairs = [REPAIRS[key] for key in dict.fromkeys(keys) if key in REPAIRS]
    return f"[Your program's source was repaired before it ran: {'; '.join(repairs)}.]" if repairs else ""
