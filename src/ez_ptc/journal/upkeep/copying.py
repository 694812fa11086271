"""Copying ended runs to another journal, in a file or on a server, with their chains."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.chain import chain_start
from ez_ptc.journal.rows import append, verify_run
from ez_ptc.journal.states import ENDINGS, FINISHED
from ez_ptc.journal.stores.protocol import require_types
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from ez_ptc.journal.chain import Event
    from ez_ptc.journal.stores.protocol import RunRow, RunRows, RunStore

__all__ = ["copy_runs"]

_BATCH: Final = 50


def copy_runs(source: RunStore, target: RunStore) -> tuple[int, int]:
    """Copy the ended runs of a journal, the first first; return how many, and how many were there already.

    Unfinished runs stay where they are: in two journals, they would double their effects. Raises JournalCorruptError,
    after the others are copied, for runs that do not fit their chains, and JournalError if the target has another run
    of the same id.
    """
    copied = present = last = 0
    damaged: list[JournalCorruptError] = []
    while batch := source.read(lambda rows, last=last: rows.after(last, _BATCH)):
        last = batch[-1].number
        for row in batch:
            try:
                require_types(row)  # of its state above all: it decides whether the run stays
                if row.state not in FINISHED:
                    continue
                events = source.read(partial(verify_run, row=row))
            except JournalCorruptError as error:  # the others are copied: this may be how they are saved
                damaged.append(error)
                continue
            is_new = target.transact(partial(_add, row, events))
            copied, present = copied + is_new, present + (not is_new)
    if damaged:
        message = (
            f"{copied:,} ended runs were copied, {present:,} were there already, and {len(damaged):,} damaged ones "
            f"were left out: {damaged[0]}"
        )
        raise JournalCorruptError(message) from damaged[0]
    return copied, present


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
