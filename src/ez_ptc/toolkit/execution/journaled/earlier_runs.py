"""The runs before a run: those of its session, and the failed one it continues."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.errors import ContinuationError, JournalCorruptError, JournalError, RunInProgressError
from ez_ptc.journal.arguments.sealing import Seal
from ez_ptc.journal.results import calls_to_answer
from ez_ptc.journal.rows import find_run, lost_record, read_start
from ez_ptc.toolkit.execution.earlier_calls import CORRECTION_RUNS, EarlierCalls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.journal.journal import Journal
    from ez_ptc.journal.record import RunRecord
    from ez_ptc.journal.run import Run
    from ez_ptc.journal.stores.protocol import RunRows
    from ez_ptc.sandbox.protocol.replies import DoneCall
    from ez_ptc.toolkit.execution.channel import ToolChannel

__all__ = [
    "SessionPlace",
    "SessionRuns",
    "collect_calls",
    "continuation_data",
    "earlier_calls",
    "own_chain",
    "require_own_run",
]

_SEED_BITS: Final = 62


@dataclass(frozen=True)
class SessionPlace:
    """Where a program stands: its session, or "", its position there, and the seed and first clock of its programs."""

    session: str
    position: int
    seed: int
    clock_ns: int | None

    @classmethod
    def first(cls, session: str, seed: int | None) -> SessionPlace:
        """Return the first place, with a random seed and the present time if there is no seed."""
        if seed is None:
            return cls(session, 0, secrets.randbits(_SEED_BITS), time.time_ns())
        return cls(session, 0, seed, None)

    def following(self) -> SessionPlace:
        """Return the next place."""
        return replace(self, position=self.position + 1)


@dataclass(frozen=True)
class SessionRuns:
    """A session in the journal: the place of its next program, the runs whose variables it has, and one that waits.

    `first` is its first run, and `caller` that run's record of its caller, to whom the variables belong. `results` are
    the names of the kept results for its next program, and `failed` is the last run, if it has failed.
    """

    place: SessionPlace
    kept: tuple[str, ...]
    unfinished: str | None
    first: str
    caller: Mapping[str, Any] | None
    results: tuple[str, ...]
    failed: str | None

    def require_owner(self, channel: ToolChannel) -> None:
        """Raise JournalError if the session began with another principal or context."""
        channel.caller.require_owner(self.first, self.caller)


def continuation_data(channel: ToolChannel) -> dict[str, Any]:
    """Return the failed run to continue, for the first event of a run; empty if there is none."""
    earlier = channel.earlier
    if earlier is None or earlier.run_id is None:
        return {}
    return {"continues": {"run": earlier.run_id, "reread": earlier.reread}}


def earlier_calls(journal: Journal, record: RunRecord, channel: ToolChannel) -> EarlierCalls | None:
    """Return the calls of the failed run before a run, without those it has taken, or None.

    Raises JournalError if the journal no longer has that run.
    """
    continued = record.start.data.get("continues")
    if continued is None:
        return None
    run_id, reread = continued["run"], continued["reread"]
    taken = {taken for call in record.calls.values() for taken in (call.source, call.repeated_key) if taken is not None}
    return EarlierCalls(channel.bind, collect_calls(journal, run_id), run_id=run_id, reread=reread, taken=taken)


def own_chain(journal: Journal, earlier: EarlierCalls | None, holder: object) -> None:
    """Let the holder of a correction own the first of the failed runs it continues, if there is one.

    Raises RunInProgressError if another correction of that run is being executed, in any process.
    """
    if earlier is None or (run_id := earlier.run_id) is None:
        return

    def find_first(rows: RunRows) -> int:
        row, numbers = find_run(rows, run_id), set[int]()
        while row.number not in numbers and (continued := read_start(rows, row).get("continues")) is not None:
            numbers.add(row.number)
            row = find_run(rows, continued["run"])
        return row.number

    if not journal.store.locks.own(journal.store.read(find_first), holder):
        raise RunInProgressError(CORRECTION_RUNS, run_id=run_id)


def collect_calls(journal: Journal, run_id: str) -> list[DoneCall]:
    """Return the calls of a failed run and of those it continues, in order.

    Raises JournalError if the journal does not have one of them, or the key to its secrets.
    """
    runs: list[tuple[str, RunRecord]] = []
    following: str | None = run_id
    while following is not None:
        if following in dict(runs):
            message = f"the journal was damaged or changed: run {run_id} continues itself"
            raise JournalCorruptError(message, run_id=run_id)
        if runs and journal.store.read(lambda rows, name=following: rows.find(name)) is None:
            raise lost_record(following)
        _, record = _known_run(journal, following)
        runs.append((following, record))
        following = record.start.data.get("continues", {}).get("run")
    return [
        call
        for name, record in reversed(runs)
        for call in calls_to_answer(name, record, Seal.of(journal.store, name, record.start.data).open)
    ]


def require_own_run(journal: Journal, run_id: str, channel: ToolChannel) -> RunRecord:
    """Return the record of a failed run.

    Raises JournalError if it is unknown, or not of the channel's caller, and ContinuationError if it has not failed:
    one that goes on would make its calls beside its correction.
    """
    run, record = _known_run(journal, run_id)
    channel.caller.require_identity(run_id, "execute(after=...)")
    channel.caller.require_owner(run_id, record.start.data.get("caller"), is_lookup=True)
    if run.state != "failed":
        message = (
            f"expected after to be the result of a failed program, but run {run_id} is {run.state}; nothing was run"
        )
        raise ContinuationError(message)
    return record


def _known_run(journal: Journal, run_id: str) -> tuple[Run, RunRecord]:
    """Return a run and its record. Raises JournalError if the journal does not have it."""
    known = journal.known_run(run_id)
    if known is None:
        message = f"the journal has no run {run_id}, which this program continues; nothing was run"
        raise JournalError(message)
    return known
