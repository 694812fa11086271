"""What is shown of a program's result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ez_ptc.view.objects.calls import call_text
from ez_ptc.view.objects.parts import NotePart, PicturesPart, TablePart, TextPart, ValuePart, cell_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["call_row", "result_parts"]

_MAX_CALLS: Final = 50
_MAX_IMAGES: Final = 20
_MAX_ATTEMPTS: Final = 20


def result_parts(result: Any, questions: Iterable[str]) -> Iterator[ViewPart]:  # noqa: ANN401 - of a layer above
    """Yield the parts of an ExecutionResult: its output, value, error, questions, pictures and calls."""
    most: int = result.max_text
    yield TextPart(result.output, most)
    if result.return_value is not None:
        yield ValuePart(result.return_value, result.value_text(), most)
    else:
        yield TextPart(result.described, most)
    yield TextPart(result.error_output or result.error or "", most, "error")
    for question in questions:
        yield TextPart(question, most, "question")
    for note in result.notes:
        yield NotePart(note)
    yield PicturesPart(result.images[:_MAX_IMAGES])
    calls: Sequence[Mapping[str, Any]] = result.tool_calls
    if calls:
        rows = [call_row(call) for call in calls[:_MAX_CALLS]]
        if len(calls) > _MAX_CALLS:
            rows.append(("", f"… {len(calls) - _MAX_CALLS:,} more", ""))
        yield TablePart(("", "call", "result"), rows, title=f"calls: {len(calls):,}")
    attempts: Sequence[Any] = result.attempts
    if attempts:
        rows = [_attempt_row(number, attempt) for number, attempt in enumerate(attempts[:_MAX_ATTEMPTS], 1)]
        yield TablePart(("", "status", "error", "calls"), rows, title=f"programs before: {len(attempts):,}")
    run = ""
    if result.run_id is not None:
        run = f", run {result.run_id}"
    yield NotePart(f"{result.status} in {result.duration_ms:,.0f} ms, calls: {len(calls):,}{run}")


def _attempt_row(number: int, attempt: Any) -> Sequence[str]:  # noqa: ANN401 - of a layer above
    """Return a program before a repair as a row."""
    error = (attempt.error or "").partition("\n")[0]
    return str(number), attempt.status, error, ", ".join(call["name"] for call in attempt.tool_calls[:_MAX_CALLS])


def call_row(call: Mapping[str, Any]) -> Sequence[str]:
    """Return the record of a call as a row: its position, the call, and its result or error."""
    outcome = call["error"] or cell_text(call["result"])
    return call["path"], call_text(call["name"], call["args"], call["kwargs"]), outcome
