"""Limits, results and tool grants of an execution, and the interface of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from ez_ptc._wrong_calls import explain_calls, unknown_name
from ez_ptc.errors import CodeError
from ez_ptc.formats.previews import Previews
from ez_ptc.messages import ImageMessage, PendingCall, Printable
from ez_ptc.results.bounds import MAX_TEXT, ResultKeeper, bounded_error, bounded_text, bounded_value, fit_text
from ez_ptc.results.json_writer import extent
from ez_ptc.results.notes import escape_notes
from ez_ptc.results.robust_repr import robust_repr
from ez_ptc.sandbox.protocol.both_ends.limits import LIMITS, limit_error
from ez_ptc.sandbox.protocol.output_text import add_lines, shorten
from ez_ptc.sandbox.protocol.records.call_record import CallRecord
from ez_ptc.sandbox.protocol.records.grants import Grant, Grants
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.call_settings import check_max_text
from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ez_ptc.sandbox.protocol.frames import DoneFrame
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["ExecutionResult", "Grant", "Grants", "Limits", "add_ending", "error_and_trace", "read_limits"]

_MIN_KEPT = 1_000
# Beyond a year, clocks and waits of the operating system overflow; beyond 63 bits, its counts do.
_MAX_SECONDS = 366 * 24 * 3600
_MAX_AMOUNT = (1 << 63) - 1
# As many as Python reads and writes: it was the limit of earlier versions, whose runs go on.
_MAX_SEED = 10**4300 - 1


def _is_number(value: object) -> bool:
    return type(value) in {int, float}


def _most(name: str) -> int:
    """Return the largest number that a limit may be."""
    if name == "seed":
        return _MAX_SEED
    return _MAX_SECONDS if LIMITS[name].unit == "seconds" else _MAX_AMOUNT


# What `Limit.expected` accepts. The types are exact, since True is an int, and `>` refuses NaN too.
_IS_EXPECTED: Final[Mapping[str, Callable[[Any], bool]]] = {
    "a positive number": lambda value: _is_number(value) and value > 0,
    "a positive number or None": lambda value: value is None or (_is_number(value) and value > 0),
    "a number >= 0": lambda value: _is_number(value) and value >= 0,
    "a positive int": lambda value: type(value) is int and value > 0,
    "an int of <= 4,300 digits or None": lambda value: (
        value is None or (type(value) is int and -_MAX_SEED <= value <= _MAX_SEED)
    ),
}


@explain_calls(checks="__init__() max_text timeout")
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The resources one execution may use.

        toolkit = Toolkit([price_of], limits=Limits(timeout=10, calls=100, memory=256 * 1024**2))

    Attributes:
        timeout: Seconds of wall time. Then the program gets a TimeoutError, and `grace` seconds later it is killed.
        grace: Seconds the program has for its `finally` blocks.
        approval_timeout: Seconds the approver has to answer. They do not count against `timeout`. Then the call is
            refused.
        cpu_time: Seconds of CPU time, rounded up; by default, those of all cores in `timeout` and `grace`.
        memory: Bytes the program may allocate in addition to the interpreter's own.
        program: Characters of one program. A longer one does not start; nor does one over `frame`.
        text: Characters of the text that a model reads of one program or one call. What is longer is shortened, with a
            note about the rest.
        output: Bytes of standard output and error together; the rest is dropped and counted.
        calls: Tool calls in total.
        outstanding: Tool calls waiting for their results at a time.
        frame: Bytes of one message between program and host, such as a call's arguments or a return value.
        elements: Elements of one value passed between program and host: items and keys at all depths. A table counts
            each of its cells and rows.
        images: Total bytes of the program's pictures; a picture that exceeds it is left out.
        recorded: Bytes that the journal records of one run. Over it, calls fail before they take effect.
        seed: Makes runs repeatable: clocks, random numbers, ids and the order of sets of values follow from this
            number. The order of a set of objects hashed by `id()` does not. None turns it off.
    """

    timeout: float = LIMITS["timeout"].default
    grace: float = LIMITS["grace"].default
    approval_timeout: float = LIMITS["approval_timeout"].default
    cpu_time: float | None = LIMITS["cpu_time"].default
    memory: int = LIMITS["memory"].default
    program: int = LIMITS["program"].default
    text: int = LIMITS["text"].default
    output: int = LIMITS["output"].default
    calls: int = LIMITS["calls"].default
    outstanding: int = LIMITS["outstanding"].default
    frame: int = LIMITS["frame"].default
    elements: int = LIMITS["elements"].default
    images: int = LIMITS["images"].default
    recorded: int = LIMITS["recorded"].default
    seed: int | None = LIMITS["seed"].default

    def __post_init__(self) -> None:
        """Validate the limits. Raises ValueError."""
        for name, limit in LIMITS.items():
            value = getattr(self, name)
            if not _IS_EXPECTED[limit.expected](value):
                message = f"Limits.{name} must be {limit.expected}, got {safe_repr(value)}"
                if isinstance(value, timedelta):
                    message += ": write .total_seconds()"
                raise ValueError(message)
            most = _most(name)
            if value is not None and value > most:
                message = f"Limits.{name} must be <= {most:,}, got {safe_repr(value)}"
                raise ValueError(message)
        if self.timeout + self.grace > _MAX_SECONDS:
            message = (
                f"Limits.timeout + grace must be <= {_MAX_SECONDS:,}, got {self.timeout:,} + {self.grace:,}: "
                f"write a smaller timeout"
            )
            raise ValueError(message)

    def with_timeout(self, timeout: float | None) -> Limits:
        """Return these limits with another timeout, unless it is None."""
        if timeout is None:
            return self
        return replace(self, timeout=timeout)

    def with_text(self, max_text: int | None) -> Limits:
        """Return these limits with another bound for texts, unless it is None. Raises ValueError unless positive."""
        check_max_text(max_text)
        if max_text is None:
            return self
        return replace(self, text=max_text)


def read_limits(recorded: Mapping[str, Any]) -> Limits:
    """Return the limits of a recorded run. Raises ValueError.

    Earlier versions accepted any amount: one beyond the largest means the same as that.
    """
    return Limits(**{name: min(value, _most(name)) if _is_number(value) else value for name, value in recorded.items()})


# What other libraries call them.
_OTHER_NAMES: Mapping[str, str] = {
    "calls": "tool_calls",
    "is_paused": "status, which is 'paused'",
    "pending_tool_calls": "pending",
    "result": "return_value",
    "returned": "return_value",
    "stderr": "error_output",
    "stdout": "output",
    "text": "to_string()",
    "value": "return_value",
}


@explain_calls(checks="__init__() max_text")
@dataclass(slots=True, kw_only=True, repr=False)
class ExecutionResult(Printable, Viewable):
    """A program's output, calls and error.

        result = toolkit.execute("print(price_of('lamp'))")
        print(result.output if result.success else result.error, [call["name"] for call in result.tool_calls])

    Attributes:
        output: The program's standard output.
        error_output: Its standard error, and the traceback.
        return_value: The value of its last expression, or None.
        described: The `repr` of its last expression's value, with the reason if it cannot be returned; "" if it is
            the `return_value`. For a program that did nothing by mistake, such as never calling its `main`, a note.
        tool_calls: One dict, a `CallRecord`, per call, in order of arrival: `name`, `args` (tuple), `kwargs`, `result`,
            `error`, `duration_ms`, `path` (the call's position in the program), and `already_done` for a call of a
            correction with the result of an earlier call. Secret arguments are masked.
        success: Whether the program ran to completion.
        error: The error in one line, for a model to act on; None after success.
        is_denied: Whether it failed because a call was not approved: by that call's error, or by one raised from it or
            while it was handled. No corrected program can be expected then.
        status: `"done"`, `"failed"`, or `"paused"`, if calls wait for a decision.
        run_id: The id of the run in the journal, or None without one.
        pending: The calls that wait for a decision, if the program is paused.
        facts: What explains a program's error, for a model, such as the call that returned an empty list.
        correction: The corrected program, if there is one fix, for a model whose next program continues this one.
        attempts: The results of the programs that failed before this one, a correction.
        duration_ms: The program's duration in milliseconds.
        images: Its pictures, as PNG: those it showed, figures still open at its end, and its last expression's.
        notes: For a model, how its source was repaired, the repairs that changed its calls, such as a null that was
            left out (one a tool and kind), and which of Python's functions find nothing in the sandbox.
        truncated: The amounts left out, by attribute: `{"output": 1024}` is 1,024 bytes, `{"images": 2}` two pictures.
        max_text: The maximum characters of `to_string()`, `value_text()` and `Toolkit.answer`.
        keeper: Keeps what these leave out, and returns its name.
        progress: The calls of a failed program for `execute(after=...)`; for no other use.
    """

    output: str = ""
    error_output: str = ""
    return_value: Any = None
    described: str = ""
    tool_calls: list[CallRecord] = field(default_factory=list[CallRecord])
    success: bool = True
    error: str | None = None
    is_denied: bool = False
    status: Literal["done", "failed", "paused"] = "done"
    run_id: str | None = None
    pending: tuple[PendingCall, ...] = ()
    facts: tuple[str, ...] = ()
    correction: str = ""
    attempts: tuple[ExecutionResult, ...] = ()
    duration_ms: float = 0.0
    images: list[ImageMessage] = field(default_factory=list[ImageMessage])
    notes: list[str] = field(default_factory=list[str])
    truncated: dict[str, int] = field(default_factory=dict[str, int])
    max_text: int = field(default=MAX_TEXT, repr=False, compare=False)
    keeper: ResultKeeper | None = field(default=None, repr=False, compare=False)
    progress: Any = field(default=None, repr=False, compare=False)

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, with what to write instead."""
            names = [name for name in dir(type(self)) if not name.startswith("_")]
            advice = unknown_name(name, names)
            if name in _OTHER_NAMES:
                advice = f"write .{_OTHER_NAMES[name]}"
            message = f"an ExecutionResult has no attribute {name!r}: {advice}"
            raise AttributeError(message, name=name, obj=self)

        def __getitem__(self, key: object) -> NoReturn:
            """Raise TypeError, with what to write instead."""
            name = next((name for name in _FIELD_NAMES if name == key), "output")
            message = f"an ExecutionResult is no dict or list: write result.{name}"
            raise TypeError(message)

    def __str__(self) -> str:
        from ez_ptc.view.markup import visible_text

        return visible_text(self.to_string()) or f"{self.status}, without output or a value"

    def to_string(self, max_text: int | None = None) -> str:
        """Return the output or the value, or else the error or stderr, as text that says what was cut.

        It has at most `max_text` characters, by default those of the attribute. `Toolkit.answer` is the text to send to
        a model: with advice, and with what the program did before its error. Raises ValueError if `max_text` is not a
        positive int.
        """
        check_max_text(max_text)
        most = max_text or self.max_text
        notes = add_lines("", self.cut_text(), *self.notes)
        if self.output and "images" in self.truncated:
            notes = add_lines(notes, self.pictures_text())
        room = max(most - len(notes) - 1, 0)
        if not self.success:
            text = self.failure_text(room, corrected=bool(getattr(self.progress, "is_continued", False)))
        elif self.output:
            text = self.output_text(room)
        else:
            text = self.value_text(room) or self.pictures_text() or self.failure_text(room)
        return fit_text(add_lines(text, notes or None), most)

    def output_text(self, max_length: int) -> str:
        """Return the output in at most `max_length` characters."""
        is_whole = "output" not in self.truncated
        return bounded_text(self.output, max_length, source="output", keeper=self.keeper, is_whole=is_whole)

    def failure_text(self, max_length: int, *, corrected: bool = False) -> str:
        """Return stderr with the error, its facts, and its correction if `corrected`, in `max_length` characters."""
        text = self.error_output or self.error or ""
        is_whole = "output" not in self.truncated
        ending = ""
        for addition in ("\n".join(self.facts), self.correction * corrected):
            if addition and 2 * (len(ending) + len(addition)) < max_length:
                ending = add_lines(f"{ending}\n", addition)
        room = max_length - len(ending)
        text = bounded_error(text, room, source="error", keeper=self.keeper, is_whole=is_whole)
        return text.rstrip("\n") + ending if ending else text

    def cut_text(self) -> str | None:
        """Return how much of the output was cut, as text for a model; None if it is whole."""
        cut = self.truncated.get("output", 0)
        if not cut:
            return None
        return limit_error("output", cut=cut)

    def pictures_text(self) -> str | None:
        """Return the number of pictures, and of those left out, as text for a model; None without pictures."""
        count, left_out = len(self.images), self.truncated.get("images", 0)
        if left_out:
            return limit_error("images", count=count, cut=left_out)
        if count:
            return f"[Pictures made: {count}.]"
        return None

    def _view_parts(self) -> Iterator[ViewPart]:
        """Return the output, the value, the error, the questions, the pictures and the calls."""
        from ez_ptc.tools.approvals.questions import write_question
        from ez_ptc.view.objects.results import result_parts

        return result_parts(self, [write_question(call) for call in self.pending])

    def value_text(self, max_length: int | None = None) -> str:
        """Return the `repr` of the last expression's value, or the sketch of a large value; "" without a value.

        It has at most `max_length` characters, by default `max_text`.
        """
        most = self.max_text if max_length is None else max_length
        value = self.return_value
        if value is None:
            return bounded_text(self.described, most, source="value", keeper=self.keeper)
        if extent(value, most) <= most:
            text = escape_notes(robust_repr(value))
            if len(text) <= most:
                return text
        return bounded_value(value, most, source="value", keeper=self.keeper, plain=Previews(most))

    def raise_for_error(self) -> None:
        """Raise CodeError with the program's error if it did not succeed."""
        if not self.success:
            raise CodeError(self.error or "the program did not succeed")


_FIELD_NAMES = frozenset(field.name for field in fields(ExecutionResult))


def add_ending(result: ExecutionResult, done: DoneFrame, notes: list[str], code: str) -> None:
    """Add notes, and what the done frame of a program `code` has besides an error."""
    if done.repaired:
        from ez_ptc.sandbox.protocol.both_ends.source_repairs import repair_note  # few programs need it

        notes = [repair_note(done.repaired), *notes]
    if "import" in code:
        from ez_ptc.sandbox.protocol.records.silent_lacks import explain_lacks  # few programs need it

        notes = [*notes, *filter(None, [explain_lacks(code)])]
    result.notes = notes
    missing = {"output": done.dropped, "images": done.images_left}
    result.truncated = {name: count for name, count in missing.items() if count}
    if result.success:
        result.return_value, result.described = done.value, done.described
    elif done.correction:
        from ez_ptc.sandbox.protocol.both_ends.copying import correction_text  # few programs need it

        result.correction = correction_text(code, done.correction, result.tool_calls)


def error_and_trace(
    done: DoneFrame | None, reason: str | None, limits: Limits, *, late: str | None
) -> tuple[str | None, str]:
    """Return a program's error, or None, and its traceback.

    `reason` says why its worker ended without a done frame, and `late` that its time was up.
    """
    kept = max(limits.output, _MIN_KEPT)
    if late is not None:
        error = f"TimeoutError: {late}"
        if done and done.error:
            return error, shorten(done.trace, kept)
        return error, error + "\n"
    if done is None:
        error = reason or ""
        return error, error + "\n"
    if done.error is None:
        return None, ""
    error = done.error
    if done.kind == "memory":
        error += f" ({limit_error('memory', limit=limits.memory >> 20)})"
    return bounded_error(error, limits.text, source="error"), shorten(done.trace, kept)
