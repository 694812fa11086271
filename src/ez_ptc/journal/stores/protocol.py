"""The protocol of a journal's database: its rows, its locks, its transactions. No SQL stands above it.

Theory of operation
-------------------
A *store* runs jobs with *rows*, in transactions. `transact` locks each run found by the job, so its checks are still
true when it writes; the data is durable when `transact` returns. `append` is for the owner of a run, to add events:
there, `latest` may return the row as this process last wrote it, and the store compares it when it writes. `read` shows
one snapshot and delays no writer.

*Locks* name the owners of runs. A lock ends with its process, however that dies; `require` raises in a live process
after the loss of a lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar, cast

from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.states import FINISHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "MAX_RUNS",
    "EventColumns",
    "RunLocks",
    "RunRow",
    "RunRows",
    "RunStore",
    "StoreJob",
    "require_owner",
    "require_types",
]

R = TypeVar("R")

# The number of a run is also the position of its lock in a file. Behind these is the lock of the file's users, where
# earlier versions look for it, too.
MAX_RUNS: Final = (1 << 62) - 1
_RUN_TYPES: Final = (int, str, str, str, float, float, int, str, int, bytes)

EventColumns = tuple[Any, ...]
"""Position, kind, path, time, data, payload, hash of the content and hash of an event; `events` adds the content."""


# A named tuple, as an event is: two are made for each write.
class RunRow(NamedTuple):
    """A row of the table `runs`: a summary of its events, to find it."""

    number: int
    id: str
    session: str
    state: str
    created: float
    changed: float
    epoch: int
    owner: str
    events: int
    head: bytes


class RunRows(Protocol):
    """The rows of a journal within one transaction.

    Where several are returned, the types of a row may be wrong, but for its number: `require_types` tells.
    """

    def now(self) -> float:
        """Return the present, in seconds since 1970, by the one clock of the journal's users."""
        ...

    def newest(self) -> float:
        """Return the present for removing old runs: not long after the last event, if the clock may be wrong."""
        ...

    def find(self, run_id: str) -> RunRow | None:
        """Return the row of a run."""
        ...

    def latest(self, row: RunRow) -> RunRow | None:
        """Return the row of a run as it is; within `RunStore.append`, as this process knows it."""
        ...

    def number_of(self, run_id: str) -> int | None:
        """Return the number of a run, which may be pruned; None if there was none of this id."""
        ...

    def of_session(self, session: str) -> list[RunRow]:
        """Return the runs of a session, the first first."""
        ...

    def page(self, state: str | None, before: int | None, limit: int) -> list[RunRow]:
        """Return runs, the latest first: finished in `state`, unfinished if it is another one; before a number."""
        ...

    def after(self, number: int, limit: int, *, changed_by: float | None = None) -> list[RunRow]:
        """Return runs after a number, the first first; only those unchanged since a time."""
        ...

    def open_runs(self, number: int, limit: int) -> list[RunRow]:
        """Return unfinished runs after a number, the first first; within `survey`, those of live owners may lack."""
        ...

    def has_same(self, row: RunRow) -> bool:
        """Return whether a run has this row still."""
        ...

    def ids_like(self, prefix: str) -> list[object]:
        """Return the ids with this beginning: the equal one first, then the oldest first; else damaged ones."""
        ...

    def neighbors(self, run_id: str) -> tuple[str | None, str | None]:
        """Return the ids before and after one, in alphabetical order."""
        ...

    def insert(self, row: RunRow) -> RunRow | None:
        """Add a run without events, and return its row, with its number. Return None if there is one of this id."""
        ...

    def write(
        self, before: RunRow, after: RunRow, events: Sequence[EventColumns], contents: Sequence[tuple[bytes, bytes]]
    ) -> None:
        """Add events to a run, with their contents by hash, and change its row."""
        ...

    def events(self, row: RunRow, *, has_contents: bool = True, limit: int | None = None) -> list[EventColumns]:
        """Return the first events of a run, or all; without their contents, None stands for these."""
        ...

    def content(self, row: RunRow, digest: bytes) -> object:
        """Return the content of a run by its hash, or None."""
        ...

    def remove(self, row: RunRow, seconds: float, digest: bytes) -> None:
        """Remove a run; its number, its id, the time and a hash of them are kept."""
        ...

    def version(self) -> object:
        """Return a value to compare with the next: it differs once a run has changed."""
        ...

    def verify(self) -> None:
        """Check the rows outside of single runs. Raises JournalCorruptError."""
        ...


class RunLocks(Protocol):
    """The owners of a journal's runs."""

    def own(self, run: int, holder: object = None) -> bool:
        """Try to become the owner of a run, for `disown_by` on behalf of a holder. Return whether it had none."""
        ...

    def disown(self, run: int) -> None:
        """Stop being the owner of a run."""
        ...

    def disown_by(self, holder: object) -> None:
        """Stop being the owner of what a holder owns, if anything, also after an interrupted `own`."""
        ...

    def is_owned(self, run: int) -> bool:
        """Return whether a run has an owner, in any process."""
        ...

    def require(self, run: int) -> None:
        """Raise JournalError if this process was the owner of a run and has lost it."""
        ...


class RunStore(Protocol):
    """A database with the records of runs, for any thread.

    Every method raises JournalCorruptError if it is damaged, and JournalError if it cannot be used.
    """

    @property
    def name(self) -> str:
        """The file or the address, without any password."""
        ...

    @property
    def locks(self) -> RunLocks:
        """The owners of the runs."""
        ...

    def transact(self, run: Callable[[RunRows], R], /) -> R:
        """Run a job in a transaction, and return its result once it is durable.

        The job may raise an exception before it writes anything.
        """
        ...

    def append(self, run: Callable[[RunRows], R], /) -> R:
        """As `transact`, for a job adding to the record of a run of this process."""
        ...

    def read(self, run: Callable[[RunRows], R], /) -> R:
        """Run a reading job, in one snapshot."""
        ...

    def survey(self, run: Callable[[RunRows], R], /) -> R:
        """Run a job in search of runs to go on with; no other process gets the same ones meanwhile, if possible."""
        ...

    def watch(self, seconds: float | None) -> Iterator[str]:
        """Return an iterator over the ids of runs, as they are decided or change their states from now on."""
        ...

    def key_path(self) -> Path:
        """Return the file with the key of secret arguments. Raises JournalError if there is no place for one."""
        ...

    def create_key(self, create: Callable[[Path], None]) -> None:
        """Create the file with the key, while no one else does. Raises JournalError if that is for the user to do."""
        ...

    def require_room(self, max_bytes: int | None) -> None:
        """Raise JournalError if more bytes are in use than may be."""
        ...

    def make_room(self) -> None:
        """Give room for removals."""
        ...

    def copy(self, path: Path) -> None:
        """Copy the journal to a new file. Raises JournalError if that fails."""
        ...

    def verify(self) -> None:
        """Check the database itself. Raises JournalCorruptError."""
        ...

    def close(self) -> None:
        """Close everything; the next use opens it again."""
        ...


class StoreJob(Generic[R]):
    """One caller's part of a transaction for several callers."""

    __slots__ = ("_outcome", "error", "is_done", "run")

    def __init__(self, run: Callable[[Any], R]) -> None:
        """Take a job with rows."""
        self.run = run
        self.is_done = False
        self.error: BaseException | None = None
        self._outcome: R | None = None

    def do(self, rows: Any) -> None:  # noqa: ANN401 - the rows of one kind of store
        """Do it with the rows of a transaction, and keep its result or error for its caller."""
        try:
            self._outcome = self.run(rows)
        except Exception as error:  # noqa: BLE001 - it is raised again for the job's own caller
            self.error = error

    def result(self) -> R:
        """Return what the job returned. Raises what it has raised."""
        if self.error is not None:
            raise self.error
        return cast("R", self._outcome)


def require_owner(row: RunRow, current: RunRow) -> None:
    """Raise JournalError if the run of a row that this process wrote has another owner by now, or has ended."""
    if current.epoch != row.epoch:
        message = f"run {row.id} was continued elsewhere: this execution of it records nothing more"
        raise JournalError(message)
    if current.state in FINISHED:
        message = f"run {row.id} has ended: nothing more is recorded"
        raise JournalError(message)


def require_types(row: RunRow) -> None:
    """Raise JournalCorruptError if a value of a row has another type than its column, or no lock has its number."""
    if tuple(map(type, row)) != _RUN_TYPES:
        message = f"row {row.number} of the table runs was damaged or changed: its types are wrong"
        raise JournalCorruptError(message)
    if not 0 < row.number < MAX_RUNS:
        message = f"row {row.number} of the table runs was damaged or changed: its number is wrong"
        raise JournalCorruptError(message)
