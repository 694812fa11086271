"""What the pages have in them, read from the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ez_ptc.cli.viewing.conversations import is_conversation_page, read_conversations
from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.rows import find_run
from ez_ptc.journal.upkeep.reading import RunReader
from ez_ptc.view.run_list import AUDIT_PATH, RunEntry, audit_body, runs_body
from ez_ptc.view.run_page import run_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.conversation.saving.history import History
    from ez_ptc.journal.journal import Journal
    from ez_ptc.journal.states import RunState
    from ez_ptc.journal.stores.protocol import RunRows
    from ez_ptc.view.runs import RunView

__all__ = ["RUN_PREFIX", "read_contents", "read_version"]

RUN_PREFIX: Final = "/run/"
_PAGE: Final = 50
_MAX_WAITING: Final = 20


def read_contents(journal: Journal, page: str, query: Mapping[str, str], history: History | None = None) -> str:
    """Return the contents of a page as HTML.

    `/run/ID`, `/audit` with a check of all records, `/conversations`, `/conversation/ID`, or `/` with all runs. Raises
    JournalError for an unknown run, HistoryError for an unknown conversation, and ValueError for an unknown state.
    """
    if is_conversation_page(page):
        return read_conversations(history, page)
    if page.startswith(RUN_PREFIX):
        return run_body(journal.run(page.removeprefix(RUN_PREFIX)).view(), link=f"{RUN_PREFIX}{{}}")
    if page == AUDIT_PATH:
        try:
            return audit_body(journal.verify(), None)
        except JournalCorruptError as error:
            return audit_body(0, str(error))
    state = cast("RunState | None", query.get("state") or None)
    damaged: list[str] = []
    # One damaged run must not hide what waits in the others.
    runs = RunReader(journal.store).page(state, _PAGE, query.get("before"), damaged)
    entries: list[RunEntry] = []
    waiting: list[RunView] = []
    for run in runs:
        calls = tuple(call.tool for call in run.pending if call.state != "running")
        entries.append(RunEntry(run.id, run.state, run.program, run.changed.timestamp(), calls, run.principal))
        if calls and len(waiting) < _MAX_WAITING:
            waiting.append(run.view())
    return runs_body(entries, waiting, state=state, has_more=len(runs) == _PAGE, damaged=damaged)


def read_version(journal: Journal, page: str, history: History | None = None) -> tuple[object, ...]:
    """Return what changes whenever a page has: the journal's commits, and whether the run has a live owner.

    Raises JournalError for an unknown run.
    """
    if is_conversation_page(page):
        return () if history is None else history.list(1)
    if page == AUDIT_PATH:  # to check all records again at every change would take all the time
        return ()

    def read(rows: RunRows) -> tuple[object, ...]:
        commits = rows.version()
        if not page.startswith(RUN_PREFIX):
            return (commits,)
        row = find_run(rows, page.removeprefix(RUN_PREFIX))
        return row.events, journal.store.locks.is_owned(row.number)

    return journal.store.read(read)
