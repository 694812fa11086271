"""The calls of a failed program: they answer equal calls of its correction; `continuing` has the theory."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from ez_ptc._forks import on_fork
from ez_ptc.errors import ArgumentsError, NotApprovedError, OutcomeUnknownError, RunInProgressError, ToolError
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.schema.arguments.replacement import detach

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence

    from ez_ptc.sandbox.protocol.replies import DoneCall, EncodedResult
    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.tools.approvals.changes import RawCall
    from ez_ptc.tools.call_lifetime import CallLife
    from ez_ptc.tools.definitions.definition import Definition

    Bind = Callable[[str, tuple[object, ...], dict[str, object]], tuple[BoundCall, RawCall]]

__all__ = ["CORRECTION_RUNS", "CorrectionTurn", "EarlierCalls", "call_identity", "outcome_of"]

CORRECTION_RUNS: Final = "another correction of that program is running; nothing was run. Wait for its result"
"""Why a program cannot continue a failed one: each record serves one correction at a time."""


class EarlierCalls:
    """The calls of a failed program, for one correction of it."""

    def __init__(
        self,
        bind: Bind,
        calls: Sequence[DoneCall],
        *,
        run_id: str | None = None,
        reread: bool = False,
        taken: Collection[str] = (),
        error: str = "",
    ) -> None:
        """Take the failed program's calls, and the function to check their arguments again, `ToolChannel.bind`.

        `run_id` is its run in the journal. `reread` leaves the calls of read-only tools out. `taken` are the sources of
        calls that the correction has taken in an earlier execution, and the keys of those it has repeated. `error` is
        the failed program's error output.
        """
        self.error: Final = error
        self.turn = CorrectionTurn()
        self.calls: Final = tuple(calls)
        self.run_id: Final = run_id
        self.reread: Final = reread
        self._bind: Final = bind
        self._lock: Final = threading.Lock()
        self._unread: Final[dict[str, list[DoneCall]]] = {}
        self._sealed: Final[dict[str, list[DoneCall]]] = {}
        self._matches: Final[dict[str, dict[bytes, _Matches]]] = {}
        # Of the calls with one key, the last one says what came of it.
        for call in {call.key: call for call in calls}.values():
            if call.source not in taken and (call.reply is not None or call.key not in taken):
                calls_of = self._unread if call.unseal is None else self._sealed
                calls_of.setdefault(call.tool, []).append(call)

    def answer(self, tool: Definition, bound: BoundCall, raw: RawCall, life: CallLife) -> Callable[[], object] | None:
        """Return the outcome of an equal call, as a function; `EarlierAnswers` documents it."""
        if life.repeated_key is not None:  # it began to repeat an earlier call in an earlier execution
            return None
        matches = self._matches_of(tool, raw).get(call_identity(tool, bound, raw))
        call = matches and matches.take()
        if call is None:
            return None
        reply = call.reply
        if reply is None and tool.idempotent:
            life.repeated_key = call.key
            return None
        if reply is not None:
            life.reply = reply._replace(result=detach(reply.result), source=call.source, duration_ms=0.0)
        return partial(outcome_of, tool.name, reply)

    def _matches_of(self, tool: Definition, raw: RawCall) -> dict[bytes, _Matches]:
        """Return a tool's earlier calls by their identity, read when the correction first calls the tool.

        Those with secrets are read once a call has the same ones.
        """
        with self._lock:
            matches = self._matches.setdefault(tool.name, {})
            for call in (*self._unread.pop(tool.name, ()), *self._unseal(tool, raw)):
                if tool.read_only is True and (self.reread or call.reply is None):
                    continue
                try:
                    bound, passed = self._bind(call.tool, call.args, call.kwargs)
                except ArgumentsError:  # the tool has changed: no call of it is equal
                    continue
                matches.setdefault(call_identity(tool, bound, passed), _Matches()).add(call, tool)
            return matches

    def _unseal(self, tool: Definition, raw: RawCall) -> Iterator[DoneCall]:
        """Yield the earlier calls that have the secrets of a call, each of them once."""
        sealed = self._sealed.get(tool.name)
        if not sealed:
            return
        passed = {**dict(zip(tool.binder.positional, raw.args, strict=False)), **raw.kwargs}
        for call in tuple(sealed):
            arguments = call.unseal and call.unseal(passed)
            if arguments:
                sealed.remove(call)
                yield call._replace(args=tuple(arguments[0]), kwargs=arguments[1])


class CorrectionTurn:
    """The turn of the corrections of one failed program, and of theirs. With a journal, its locks give the turns."""

    def __init__(self) -> None:
        self._renew()
        # The thread of a correction does not run in a fork, which would wait for it indefinitely.
        on_fork(self, CorrectionTurn._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def taken(self) -> Generator[None]:
        """Return a context for a correction. Raises RunInProgressError if another one runs."""
        lock = self._lock  # the program may go on in a fork
        if not lock.acquire(blocking=False):
            raise RunInProgressError(CORRECTION_RUNS)
        try:
            yield
        finally:
            lock.release()


@dataclass(slots=True)
class _Matches:
    """The earlier calls of one tool with the same arguments."""

    returned: deque[DoneCall] = field(default_factory=deque["DoneCall"])
    repeatable: deque[DoneCall] = field(default_factory=deque["DoneCall"])
    """The calls of unknown outcome of an idempotent tool: each key serves once."""
    final: DoneCall | None = None
    """A refused call, or one of unknown outcome: it answers every further call."""

    def add(self, call: DoneCall, tool: Definition) -> None:
        if call.reply is not None and call.reply.has_returned:
            self.returned.append(call)
        elif call.reply is None and tool.idempotent:
            self.repeatable.append(call)
        elif self.final is None or call.reply is None:
            self.final = call

    def take(self) -> DoneCall | None:
        for calls in (self.returned, self.repeatable):
            with contextlib.suppress(IndexError):  # in one step: other threads take as well
                return calls.popleft()
        return self.final


def outcome_of(tool: str, reply: EncodedResult | None) -> object:
    """Return what an earlier call returned, or raise its refusal, its failure, or OutcomeUnknownError."""
    if reply is None:
        message = (
            f"{tool} was not run again: the failed program made the same call, and it is unknown whether it took "
            f"effect; a person has to find out"
        )
        raise OutcomeUnknownError(message)
    if reply.error is None:
        return reply.result
    if reply.has_returned:
        raise ToolError(reply.error)
    message = f"{tool} was refused before, and the same call stays refused"
    raise NotApprovedError(message)


# Identity of calls ----------------------------------------------------------------------------------------------------


def call_identity(tool: Definition, bound: BoundCall, raw: RawCall) -> bytes:
    """Return bytes that are equal for equal calls of a tool, and for no others.

    Arguments are compared as the tool's schema has converted them, with their defaults: `1` and `1.0` are equal only
    for a parameter that makes them so. Values without an exact form, such as secrets, are compared as the program has
    passed them. A default made for each call is not compared.
    """
    passed: dict[str, object] = {**dict(zip(tool.binder.positional, raw.args, strict=False)), **raw.kwargs}
    converted, defaults = tool.arguments_of(bound)
    properties = tool.properties
    exact: dict[str, object] = {}
    for name, value in {**converted, **defaults}.items():
        schema = properties.get(name)
        is_fixed = name in passed or name in defaults or value is None or (type(schema) is dict and "default" in schema)
        if not is_fixed:
            continue
        try:
            exact[name] = host_codec.exact_form(value)
        except host_codec.NoExactFormError:
            exact[name] = ["passed", host_codec.exact_form(passed.get(name))]
    return host_codec.dumps([exact[name] for name in sorted(exact)]) + host_codec.dumps(sorted(exact))
