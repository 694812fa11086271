"""Mistakes as text for a model, with the corrected program where it can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol.both_ends.copying import CORRECTED, MAX_PROGRAM, program_block
from ..protocol.both_ends.quoting import MAX_LINE, on_one_line
from .check import is_right
from .following.analysis import MAX_MISTAKES
from .mistakes import apply_suggestions, describe_changes, parse_quietly
from .read_only import reads_only

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .mistakes import ProgramMistake
    from .signatures import Shapes

__all__ = ["BEGUN", "MAX_HINT", "describe_mistakes", "program_to_copy", "proposal", "sole_correction"]

_MAX_MISTAKES = 5
MAX_HINT = 3_000
BEGUN = "Where the task does not say that value, begin like this:"


def describe_mistakes(
    mistakes: Sequence[ProgramMistake], text: str, shapes: Shapes, taken: Collection[str] = ()
) -> tuple[str, str]:
    """Return ``(error, text)`` of mistakes found before the program ran: the first one.

    And several with their hints.
    """
    # As bytes, because text has more kinds of line ends than a program.
    lines = text.encode().splitlines()
    errors: list[str] = []
    trace = "The program was checked and has not run: nothing was called.\n"
    different: dict[tuple[int, str], ProgramMistake] = {}
    for mistake in mistakes:
        different.setdefault((mistake.line, mistake.error), mistake)
    for mistake in [*different.values()][:_MAX_MISTAKES]:
        error = on_one_line(mistake.error, MAX_LINE)
        if mistake.hint:
            error += f"\nHint: {on_one_line(mistake.hint, MAX_HINT)}"
        errors.append(error)
        trace += f"  line {mistake.line}: {on_one_line(lines[mistake.line - 1].decode().strip(), 200)}\n{error}\n"
    return errors[0], trace + (proposal(mistakes, text, shapes, taken) or "")


def proposal(mistakes: Sequence[ProgramMistake], text: str, shapes: Shapes, taken: Collection[str] = ()) -> str | None:
    """Return the corrected program, or its beginning, as text for a model, or None.

    A program that may do more than read is corrected only where nothing else can be meant. `taken` are the names bound
    by earlier programs.
    """
    corrected: str | None = None
    if 0 < len(mistakes) < MAX_MISTAKES:
        corrected = apply_suggestions(text, mistakes)
    if corrected is not None and is_right(parse_quietly(corrected), shapes, taken):
        suggestions = [mistake.suggestion for mistake in mistakes if mistake.suggestion is not None]
        introduction = f"{describe_changes(text, suggestions)}\n{CORRECTED}"
        are_forced = all(suggestion.is_forced for suggestion in suggestions)
        proposed = program_to_copy(introduction, corrected, None if are_forced else shapes, taken)
        if proposed:
            return proposed
    begin = next((mistake.begin for mistake in mistakes if mistake.begin), None)
    return program_to_copy(BEGUN, begin, shapes, taken)


def sole_correction(
    mistakes: Sequence[ProgramMistake], text: str, shapes: Shapes, taken: Collection[str] = ()
) -> str | None:
    """Return the corrected program if no other change can correct it, also of one with effects, or None.

    Propose it only where its calls are not made again.
    """
    if not 0 < len(mistakes) < MAX_MISTAKES:
        return None
    suggestions = [mistake.suggestion for mistake in mistakes]
    if not all(suggestion is not None and (suggestion.is_forced or suggestion.is_only) for suggestion in suggestions):
        return None
    corrected = apply_suggestions(text, mistakes)
    if corrected is None or len(corrected) > MAX_PROGRAM or "```" in corrected:
        return None
    return corrected if is_right(parse_quietly(corrected), shapes, taken) else None


def program_to_copy(
    introduction: str, program: str | None, shapes: Shapes | None, taken: Collection[str]
) -> str | None:
    """Return a program in a block for a model to copy; None if it would end the block.

    With `shapes`, also if it may do more than read.
    """
    block = program_block(introduction, program)
    if block is None or shapes is None:
        return block
    readers = shapes.readers
    names = {name for name in taken if name not in readers and not name.startswith("__")}
    return block if reads_only((program or "").strip(), readers, names) else None
