"""What goes into an execution and what comes out of it; the shapes every sandbox backend shares."""

from __future__ import annotations

import html
from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ez_ptc._lazy import lazy
from ez_ptc.errors import CodeError
from ez_ptc.messages import ImageMessage, Printable, robust_repr
from ez_ptc.sandbox.output_text import shortened
from ez_ptc.sandbox.worker.values import codec as values
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ez_ptc.messages import ToolResult
    from ez_ptc.sandbox.isolation import Report
    from ez_ptc.tools.call_lifetime import CallLife

__all__ = ["CallRecord", "Channel", "ExecutionResult", "Grant", "Grants", "Limits", "Sandbox", "SandboxSession"]

_MIB = 1 << 20
_LONGEST = 366 * 24 * 3600
_LEAST_TEXT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one execution may use.

    Attributes:
        timeout: Seconds of wall time. Then the program gets a TimeoutError, and `grace` seconds later it is killed.
        grace: Seconds that a program has for its `finally` blocks.
        approval_timeout: Seconds that a person has to answer when a call must be approved. They do not count against
            `timeout`; a call about which nobody has answered is refused.
        cpu_time: Seconds of CPU time, rounded up; None for what all cores together have in `timeout` and `grace`.
        memory: Bytes that the program may allocate, beyond the interpreter's own.
        output: Bytes of standard output and error together; the rest is dropped and counted. A value, an error and a
            tool's result have no more characters either in what a model reads of them.
        calls: Tool calls in all.
        outstanding: Tool calls that may wait for their answer at one time.
        frame: Bytes of one message between program and host: a call with its arguments, a return value.
        elements: Elements of one value that a tool, or the program, passes on: items, keys, and what is in them. A
            table has one for each of its cells and rows.
        images: Bytes of the pictures that a program makes, all together; one that does not fit is left out.
        seed: Pins what differs from one run to the next (clocks, random numbers, ids, the order of sets of values) to
            what follows from this number; None for the real things. Where objects lie, and so the order of a set of
            objects that are told apart by `id()`, is not pinned.
    """

    timeout: float = 30.0
    grace: float = 0.5
    approval_timeout: float = 3600.0
    cpu_time: float | None = None
    memory: int = 256 * _MIB
    output: int = _MIB
    calls: int = 1_000
    outstanding: int = 64
    frame: int = 16 * _MIB
    elements: int = values.MAX_NODES
    images: int = 4 * _MIB
    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that limit nothing."""
        for name in (
            "timeout",
            "approval_timeout",
            "memory",
            "output",
            "calls",
            "outstanding",
            "frame",
            "elements",
            "images",
        ):
            value = getattr(self, name)
            what, kinds = ("a number", {int, float}) if "timeout" in name else ("a whole number", {int})
            if type(value) not in kinds or not value > 0:
                message = f"Limits.{name} must be {what} more than 0, not {safe_repr(value)}"
                raise ValueError(message)
        if type(self.grace) not in {int, float} or not self.grace >= 0:
            message = f"Limits.grace must be a number from 0 on, not {safe_repr(self.grace)}"
            raise ValueError(message)
        if not self.timeout + self.grace <= _LONGEST:
            message = f"Limits.timeout and grace together must be at most {_LONGEST:,} s, not {safe_repr(self.timeout)}"
            raise ValueError(message)
        if not self.approval_timeout <= _LONGEST:
            message = f"Limits.approval_timeout must be at most {_LONGEST:,} s, not {self.approval_timeout!r}"
            raise ValueError(message)
        if type(self.seed) not in {int, type(None)}:
            message = f"Limits.seed must be a whole number or None, not {safe_repr(self.seed)}"
            raise ValueError(message)

    @property
    def max_text(self) -> int:
        """Characters of a value, an error or a result that a model reads: `output`, but enough for an error."""
        return max(self.output, _LEAST_TEXT)


class CallRecord(dict[str, Any]):
    """The record of a call. It can be printed whatever integers are in it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return robust_repr(dict(self))


@dataclass(slots=True, kw_only=True, repr=False)
class ExecutionResult(Printable):
    """How a program ended.

    Attributes:
        output: What the program printed.
        error_output: What it wrote to standard error, and its traceback.
        return_value: The value of its last expression, or None.
        described: The value of its last expression as Python writes it, and why it cannot be returned; empty where it
            is the `return_value`.
        tool_calls: One dict a call, in order of arrival: `name`, `args` (tuple), `kwargs`, `result`, `error`,
            `duration_ms`, `path` (where in the program the call stands).
        success: Whether it ran to its end.
        error: What went wrong, in a line that a model can act on; None after a success.
        status: `"done"`, `"failed"` or `"paused"`.
        duration_ms: From the start of the program to its end, in milliseconds.
        images: The pictures that it made, in PNG: what it has shown, the figures that were open at its end, and those
            that its last expression is.
        truncated: What is missing here, by name: `{"output": 1024}` says that 1,024 bytes were dropped, and
            `{"images": 2}` that two pictures were left out.
        max_text: Characters that `to_string()` and `value_text()` have at most, and a sentence where that leaves
            something out.
    """

    output: str = ""
    error_output: str = ""
    return_value: Any = None
    described: str = ""
    tool_calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    success: bool = True
    error: str | None = None
    status: Literal["done", "failed", "paused"] = "done"
    duration_ms: float = 0.0
    images: list[ImageMessage] = field(default_factory=list[ImageMessage])
    truncated: dict[str, int] = field(default_factory=dict[str, int])
    max_text: int = field(default=_MIB, repr=False, compare=False)

    def to_string(self) -> str:
        """Return what a model should read of this: the output or the value, or else what went wrong."""
        if not self.success:
            return shortened(self.error_output or self.error or "", self.max_text)
        return self.output or self.value_text() or self.pictures_text()

    def pictures_text(self) -> str:
        """Return how many pictures there are, and how many were left out, for a model; nothing where there are none."""
        made, left_out = len(self.images), self.truncated.get("images", 0)
        told = [f"Pictures made: {made}."] if made or left_out else []
        if left_out:
            told.append(f"Left out, as too large or too many: {left_out}. Draw smaller ones.")
        return f"[{' '.join(told)}]" if told else ""

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows of it: nothing of its own where there are no pictures."""
        if not self.images:
            return None
        shown = "".join(
            f'<img src="data:{each.media_type};base64,{b64encode(each.data or b"").decode()}">' for each in self.images
        )
        return f"<pre>{html.escape(self.to_string())}</pre>{shown}"

    def value_text(self) -> str:
        """Return the value as Python writes it, or nothing where there is none."""
        if self.return_value is None:
            return shortened(self.described, self.max_text)
        try:
            return shortened(repr(self.return_value), self.max_text)
        except ValueError:
            # CPython shows no integer of more than 4,300 digits in decimal.
            return "(a value with an integer of too many digits to show: print a part of it)"

    def raise_for_error(self) -> None:
        """Raise CodeError with the program's error if it did not succeed."""
        if not self.success:
            raise CodeError(self.error or "the program did not succeed")


@dataclass(frozen=True, slots=True)
class Grant:
    """A tool as the sandbox knows it: a name that programs may call, and what to tell them of it.

    `returned` says what it returns, where that is more than the signature says, as a model reads it; programs are
    checked against it before they run. `read_only` says that it is declared a reader: only such tools are in programs
    that the sandbox proposes.
    """

    name: str
    signature: str = ""
    documentation: str = ""
    is_async: bool = False
    returned: str = ""
    read_only: bool = False


class Grants:
    """The tools that one program may call, and how a worker is told of them."""

    def __init__(self, grants: Iterable[Grant]) -> None:
        self.by_name: Mapping[str, Grant] = {grant.name: grant for grant in grants}
        self._told: tuple[Limits, bytes] | None = None

    @lazy
    def encoded(self) -> bytes:
        """Encode the part of a run frame that describes the tools, which is the same for every program over them."""
        rows = [
            [grant.name, grant.signature, grant.documentation, grant.is_async, grant.returned, grant.read_only]
            for grant in self.by_name.values()
        ]
        return values.dumps(rows)

    def once_for(self, limits: Limits, tell: Callable[[Limits, bytes], bytes]) -> bytes:
        """Return what ``tell`` makes of ``limits`` and :attr:`encoded`; it is asked once while the limits stay."""
        told = self._told
        if told is None or told[0] is not limits:
            self._told = told = (limits, tell(limits, self.encoded))
        return told[1]


class Channel(Protocol):
    """Where the calls of one program go. The sandbox checks frames; the channel checks arguments."""

    @property
    def grants(self) -> Grants:
        """The tools that programs may call, each name once."""
        ...

    @property
    def is_heard(self) -> bool:
        """Whether `ended` does anything."""
        ...

    def call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Run the granted tool `name` and return its result; never raises for the tool's or the program's mistakes.

        `life` says whether the program still wants the call, and stops the program's time while a person is asked.
        """
        ...

    async def acall(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Do the same as `call`, but await."""
        ...

    def ended(self, record: dict[str, Any]) -> None:
        """Take the record of a call that has ended, as it will stand in `ExecutionResult.tool_calls`."""
        ...


class Sandbox(Protocol):
    """A place where programs run."""

    @property
    def isolation(self) -> Report:
        """What is enforced around programs here, found by trying."""
        ...

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run `code` to its end. Raises SandboxError when the sandbox, not the program, fails."""
        ...

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Do the same as `execute`, but await; cancelling it kills the program."""
        ...

    def session(self) -> SandboxSession:
        """Return a place for programs that share their names."""
        ...

    def close(self) -> None:
        """End every process of this sandbox. It must not be used afterwards."""
        ...


class SandboxSession(Protocol):
    """A place where programs run one after another and share their names; each has the limits to itself."""

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run `code` to its end. Raises SandboxError when the sandbox fails, or runs a program here already."""
        ...

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Do the same as `execute`, but await; cancelling it ends the program, and the names with it."""
        ...

    def close(self) -> None:
        """End the session. It must not be used afterwards."""
        ...
