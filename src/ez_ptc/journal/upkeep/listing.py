"""Finding the runs of a page, and those whose ids begin alike."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalError
from ez_ptc.journal.rows import read_start
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ez_ptc.journal.stores.protocol import RunRow, RunRows

__all__ = ["corrected_by", "find_ids", "is_generated", "list_rows", "listed_id", "number_of", "short_id"]

_BATCH: Final = 100
_MIN_ID: Final = 8
_GENERATED_ID: Final = 32


def number_of(rows: RunRows, run_id: str) -> int:
    """Return the number of a run, which may be pruned. Raises JournalError for an unknown id."""
    number = rows.number_of(run_id)
    if number is None:
        message = f"the journal has no run {safe_repr(run_id)}, before which to list others: see Journal.runs()"
        raise JournalError(message)
    return number


def list_rows(rows: RunRows, state: str | None, before: int | None) -> Iterator[RunRow]:
    """Yield the rows of runs that may be in a state, or in any, the latest first; `before` is a run's number.

    The states of unfinished runs follow from their events and owners.
    """
    last = before
    for _ in count():
        page = rows.page(state, last, _BATCH)
        yield from page
        if len(page) < _BATCH:
            return
        last = page[-1].number


def listed_id(row: RunRow) -> str:
    """Return the id by which a run is listed, also if a damaged row has no text there."""
    return _as_listed(row.id)


def _as_listed(run_id: object) -> str:
    if isinstance(run_id, bytes):  # one flipped bit turns a text into bytes, and the index finds the text still
        return run_id.decode("utf-8", "replace")
    return run_id if isinstance(run_id, str) else safe_repr(run_id)


def corrected_by(rows: RunRows, row: RunRow) -> str | None:
    """Return the id of the run corrected by a run, or None; also None for a damaged one."""
    with suppress(JournalError):
        data = read_start(rows, row)
        return data.get("repairs") or data.get("continues", {}).get("run")
    return None


def find_ids(rows: RunRows, prefix: str) -> list[str]:
    """Return the ids of the runs whose ids begin with `prefix`: that one alone if it is an id."""
    ids = [name for run_id in rows.ids_like(prefix) if (name := _as_listed(run_id)).startswith(prefix)]
    return [prefix] if prefix in ids[:1] else ids


def is_generated(run_id: str) -> bool:
    """Return whether an id may have been made for a run, so that its beginning stands for it alone."""
    return len(run_id) == _GENERATED_ID and run_id.isalnum()


def short_id(rows: RunRows, run_id: str) -> str:
    """Return the beginning of an id, at least 8 characters, that no other id has; one of the caller's choice whole."""
    if not is_generated(run_id):
        return run_id
    length = _MIN_ID
    neighbors = rows.neighbors(run_id)
    while any(neighbor is not None and neighbor[:length] == run_id[:length] for neighbor in neighbors):
        length += 1
    return run_id[:length]
