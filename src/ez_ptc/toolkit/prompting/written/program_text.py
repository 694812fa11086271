"""A program that was read from a model's answer, with what was changed in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ez_ptc.sandbox.protocol.both_ends.source_repairs import repair_note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.sandbox.protocol.execution import ExecutionResult

__all__ = ["ProgramText", "note_changes"]


class ProgramText(str):
    """A program's text, with the keys of `REPAIRS` for what the model wrote otherwise.

    It is a str, because users pass what `extract_code` returns to `execute`, which notes the changes in the result.
    """

    __slots__ = ("repairs",)

    repairs: tuple[str, ...]

    def __new__(cls, text: str, repairs: Iterable[str] = ()) -> Self:
        """Return a program's text."""
        program = super().__new__(cls, text)
        program.repairs = tuple(repairs)
        return program


def note_changes(result: ExecutionResult, program: str) -> None:
    """Add a note to a program's result about what was changed in it, once."""
    note = repair_note(program.repairs) if isinstance(program, ProgramText) else ""
    if note and note not in result.notes:
        result.notes.insert(0, note)
