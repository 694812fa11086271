"""Corrections of failed programs by token, where one function, agent or connection may serve several chats.

Theory of operation. The text of a failure names a token. A program with it continues the failed one, as with
`execute(after=...)`, and a program without one continues nothing, so that no chat gets the results of another.

A token has 96 random bits, is known to one toolkit in one process, and serves one caller: to any other, it never
existed. It stands for a chain of programs: where a correction fails too, the chain goes on from there, under the same
token and with all that is done. A chain is in one of four states:

    failed     -- begin -->    running    a second program at the same time is refused: a client may have sent it twice
    running    -- failed -->   failed     also if the program was interrupted, or could not run
    running    -- done -->     corrected  for good
    running    -- paused -->   waiting    for good: the result of the resumed run names a token of its own
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ez_ptc._closing import ProcessBound
from ez_ptc._forks import on_fork
from ez_ptc.errors import ContinuationError
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.sandbox.protocol.host_codec import memory_of
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.execution.callers import Caller
from ez_ptc.toolkit.execution.continuing import FailedProgram
from ez_ptc.toolkit.execution.earlier_calls import CORRECTION_RUNS

if TYPE_CHECKING:
    from collections.abc import Generator

    from ez_ptc.sandbox.protocol.replies import DoneCall
    from ez_ptc.toolkit.execution.callers import CallerIdentity

__all__ = ["AFTER", "Correction", "Corrections"]

AFTER: Final = "Only with a corrected program: the token that the error of the failed one named."
"""The description of the argument for a token."""
_TOKEN_BYTES: Final = 12
_MAX_CHAINS: Final = 1_000
_MAX_BYTES: Final = 64 << 20
_MAX_AGE_SECONDS: Final = 24 * 3600.0
# What a call without arguments and result takes at most.
_CALL_BYTES: Final = 2_000
# What is kept of a program holds no one's context.
_NO_ONE: Final = Caller(None, NO_CONTEXT)
# Models copy it with what stands around it.
_AROUND: Final = " \t\r\n'\"`"
_UNKNOWN: Final = (
    "expected after to be the token in the text of a failed program, got {token}: there is no such program of this "
    "caller; nothing was run. Copy the token, or leave after out: each call is made again then"
)
_REFUSALS: Final = {
    "running": CORRECTION_RUNS,
    "waiting": "a correction of that program waits for a person's decision; nothing was run",
    "corrected": "that program has been corrected; nothing was run. Leave after out: each call is made again then",
}


@dataclass(slots=True, eq=False)
class _Chain:
    """A failed program and its corrections: what is done so far, the last error, and the bytes of both."""

    token: str
    owner: CallerIdentity
    progress: FailedProgram | None = None
    error: str = ""
    size: int = 0
    state: Literal["failed", "running", "waiting", "corrected"] = "running"
    changed_at: float = 0.0

    def note(self, result: ExecutionResult) -> None:
        """Take note of the result of the last program."""
        self.progress, self.error, self.size = None, "", 0
        if result.status != "failed":
            self.state = "corrected" if result.status == "done" else "waiting"
        elif isinstance(result.progress, FailedProgram):
            self.state, self.error = "failed", result.error_output
            self.progress = result.progress.of_caller(_NO_ONE)
            self.size = len(self.error) + sum(_bytes_of(call) for call in self.progress.calls)


class Corrections(ProcessBound):
    """The failed programs of a toolkit by token; any thread may use it."""

    def __init__(self) -> None:
        self._begin()
        # In a fork, the calls of a chain could be made beside those of the parent.
        on_fork(self, Corrections._begin)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        # The one that was changed least recently first.
        self._chains: OrderedDict[str, _Chain] = OrderedDict()
        self._used = 0

    @contextmanager
    def begin(self, token: object, owner: Caller, caller: Caller | None = None) -> Generator[Correction]:
        """Run a program inside: the correction of the failed one with this token, or with None or "" a first program.

        Args:
            token: The token, as a model has passed it.
            owner: For whom the program is: its token is bound to the owner.
            caller: The principal and the context with which the program runs, if they differ from the owner's.

        Raises ContinuationError if the owner has no failed program with this token, or it cannot be corrected now.
        """
        chain = self._take(token, owner)
        try:
            yield Correction(self, owner, caller or owner, chain)
        finally:
            if chain is not None and chain.state == "running":
                chain.state = "failed"

    def _take(self, token: object, owner: Caller) -> _Chain | None:
        if token is None or token == "":
            return None
        chain = None
        with self._lock:
            self._drop_expired()
            if isinstance(token, str):
                chain = self._chains.get(token.strip(_AROUND).removeprefix("after=").strip(_AROUND))
            if chain is None or not chain.owner.is_same(owner.identity()):
                message = _UNKNOWN.format(token=safe_repr(token))
                raise ContinuationError(message)
            if chain.state != "failed":
                raise ContinuationError(_REFUSALS[chain.state])
            chain.state = "running"
        return chain

    def open(self, owner: Caller) -> _Chain:
        """Return a new chain of an owner, to be kept."""
        return _Chain(f"p_{secrets.token_hex(_TOKEN_BYTES)}", owner.identity())

    def keep(self, chain: _Chain, result: ExecutionResult) -> bool:
        """Keep a chain with the result of its last program; return whether it can be continued."""
        with self._lock:
            self._drop(chain.token)
            chain.note(result)
            if chain.size > _MAX_BYTES:
                return False
            chain.changed_at = time.monotonic()
            self._chains[chain.token] = chain
            self._used += chain.size
            self._drop_expired()
            while len(self._chains) > _MAX_CHAINS or self._used > _MAX_BYTES:
                self._drop(next(iter(self._chains)))
        return chain.state == "failed"

    def _drop_expired(self) -> None:
        oldest = time.monotonic() - _MAX_AGE_SECONDS
        while self._chains and next(iter(self._chains.values())).changed_at < oldest:
            self._drop(next(iter(self._chains)))

    def _drop(self, token: str) -> None:
        chain = self._chains.pop(token, None)
        if chain is not None:
            self._used -= chain.size


class Correction:
    """A program that may correct a failed one: `failed` is that one's result, for `execute(after=...)`, or None."""

    def __init__(self, corrections: Corrections, owner: Caller, caller: Caller, chain: _Chain | None) -> None:
        """Use `Corrections.begin` instead."""
        self.failed: ExecutionResult | None = None
        self._corrections = corrections
        self._owner = owner
        self._chain = chain
        if chain is not None and chain.progress is not None:
            progress = chain.progress.of_caller(caller)
            self.failed = ExecutionResult(
                success=False, status="failed", error_output=chain.error, run_id=progress.run_id, progress=progress
            )

    def end(self, result: ExecutionResult) -> str | None:
        """Take note of the program's result; return the token with which the next one continues it, or None."""
        if self._chain is None:
            progress = result.progress
            if result.status != "failed" or result.is_denied or not isinstance(progress, FailedProgram):
                return None
            if not progress.calls and not (progress.run_id and result.tool_calls):  # nothing is done
                return None
            self._chain = self._corrections.open(self._owner)
        is_continued = self._corrections.keep(self._chain, result)
        return self._chain.token if is_continued and not result.is_denied else None


def _bytes_of(call: DoneCall) -> int:
    """Return about how many bytes a call takes: its arguments, and its result in two forms."""
    size = _CALL_BYTES + memory_of((call.args, call.kwargs), _MAX_BYTES)
    if call.reply is not None:
        size += len(call.reply.body) + memory_of(call.reply.result, _MAX_BYTES)
    return size
