"""Copying ended runs to another journal, in a file or on a server, with their chains."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.chain import chain_start
from ez_ptc.journal.rows import append, read_start, verify_run
from ez_ptc.journal.states import CHANGES, ENDINGS, FINISHED
from ez_ptc.journal.stores.protocol import RunRow, require_types
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from ez_ptc.journal.chain import Event
    from ez_ptc.journal.stores.protocol import RunRows, RunStore

__all__ = ["copy_runs"]

_BATCH: Final = 50
_MAX_NAMED: Final = 10


def copy_runs(source: RunStore, target: RunStore) -> tuple[int, int]:
    """Copy the ended runs of a journal, the first first; return how many, and how many were there already.

    Unfinished runs stay where they are: in two journals, they would double their effects. Raises JournalCorruptError,
    after the others are copied, for runs that do not fit their chains; the later runs of their sessions are left out
    too, since a session is rebuilt from all of its runs. Raises JournalError if the target has another run of the same
    id.
    """
    copied = present = last = 0
    damaged, later = list[JournalCorruptError](), list[str]()
    broken = set[str]()  # the sessions with a damaged run
    while batch := source.read(lambda rows, last=last: rows.after(last, _BATCH)):
        last = batch[-1].number
        for row in batch:
            try:
                require_types(row)  # of its state above all: it decides whether the run stays
                if row.state in CHANGES and row.state not in FINISHED:  # with any other state, it is damaged
                    continue
                events = source.read(partial(verify_run, row=row))
            except JournalCorruptError as error:  # the others are copied: this may be how they are saved
                damaged.append(error)
                broken |= source.read(partial(_sessions_of, row=row))
                continue
            if row.session in broken:
                later.append(row.id)
                continue
            is_new = target.transact(partial(_add, row, events))
            copied, present = copied + is_new, present + (not is_new)
    if damaged:
        raise _left_out(copied, present, damaged, later) from damaged[0]
    return copied, present


def _sessions_of(rows: RunRows, row: RunRow) -> set[str]:
    """Return the sessions that a damaged run may be of: by its row, and by its first event."""
    names: list[Any] = [row.session]
    with suppress(JournalError):
        # Whatever is wrong with the row: its number and its id find the event.
        names.append(read_start(rows, RunRow(row.number, row.id, "", "", 0.0, 0.0, 0, "", 0, b"")).get("session"))
    return {name for name in names if isinstance(name, str) and name}


def _left_out(copied: int, present: int, damaged: list[JournalCorruptError], later: list[str]) -> JournalCorruptError:
    message = (
        f"{copied:,} ended runs were copied, {present:,} were there already, and {len(damaged):,} damaged ones were "
        f"left out"
    )
    if later:
        names = ", ".join(later[:_MAX_NAMED]) + (", ..." if len(later) > _MAX_NAMED else "")
        message += f", with {len(later):,} later ones of their sessions ({names})"
    return JournalCorruptError(f"{message}: {damaged[0]}")


def _add(row: RunRow, events: list[Event], rows: RunRows) -> bool:
    """Add a run, and return whether it was not there."""
    if rows.number_of(row.id) is not None:
        known = rows.find(row.id)
        if known is not None and known.head != row.head:
            message = f"there is another run {safe_repr(row.id)} in the journal to copy to: nothing of it was copied"
            raise JournalError(message)
        return False
    empty = row._replace(state="running", changed=row.created, events=0, head=chain_start(row.id))
    added = rows.insert(empty)
    if added is None:  # by another process, since the look above
        return False
    if append(rows, added, events, ENDINGS[row.state]).head != row.head:
        message = f"run {row.id} was changed while it was copied: nothing of it was copied"
        raise JournalCorruptError(message)
    return True
