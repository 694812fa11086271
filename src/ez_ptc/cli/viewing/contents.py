"""What the pages have in them, read from the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ez_ptc.conversation.prices import total_cost, turn_usages
from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.rows import find_run
from ez_ptc.journal.upkeep.reading import RunReader
from ez_ptc.messages import Usage
from ez_ptc.view.conversation_page import (
    CONVERSATION_PREFIX,
    CONVERSATIONS_PATH,
    ConversationEntry,
    TurnView,
    conversation_body,
    conversations_body,
)
from ez_ptc.view.run_list import AUDIT_PATH, RunEntry, audit_body, runs_body
from ez_ptc.view.run_page import run_body

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from ez_ptc.conversation.saving.history import History
    from ez_ptc.journal.journal import Journal
    from ez_ptc.journal.states import RunState
    from ez_ptc.journal.stores.protocol import RunRows
    from ez_ptc.view.runs import RunView

__all__ = ["NO_RUNS", "RUN_PREFIX", "is_conversation_page", "read_contents", "read_conversations", "read_version"]

NO_RUNS: Final = "no runs are served: add --journal FILE to the command"
_MAX_LISTED: Final = 200


def is_conversation_page(page: str) -> bool:
    """Return whether a page is about conversations."""
    return page == CONVERSATIONS_PATH or page.startswith(CONVERSATION_PREFIX)


def read_conversations(history: History | None, page: str) -> str:
    """Return the contents of a page about conversations as HTML.

    Raises ValueError if no history is served, and HistoryError for an unknown conversation.
    """
    if history is None:
        message = "no conversations are served: add --history FILE to the command"
        raise ValueError(message)
    if not page.startswith(CONVERSATION_PREFIX):
        records = history.list(_MAX_LISTED)
        return conversations_body(
            [ConversationEntry(item.id, item.title, item.changed.timestamp(), item.messages) for item in records]
        )
    conversation_id = page.removeprefix(CONVERSATION_PREFIX)
    entries = history.load(conversation_id)
    turns = turn_usages(entries)
    usage = sum((turn.usage for turn in turns), Usage())
    return conversation_body(
        conversation_id,
        entries,
        [_view_turn(turn.model, turn.usage, turn.cost) for turn in turns],
        _view_turn("", usage, total_cost(entries)),
    )


def _view_turn(model: str, usage: Usage, cost: Decimal | None) -> TurnView:
    text = "unknown" if cost is None else f"${cost:,.4f}"
    return TurnView(model, usage.input_tokens, usage.cached_tokens, usage.output_tokens, text)


RUN_PREFIX: Final = "/run/"
_PAGE: Final = 50
_MAX_WAITING: Final = 20


def read_contents(journal: Journal | None, page: str, query: Mapping[str, str], history: History | None = None) -> str:
    """Return the contents of a page as HTML.

    `/run/ID`, `/audit` with a check of all records, `/conversations`, `/conversation/ID`, or `/` with all runs; without
    a journal, with all conversations. Raises JournalError for an unknown run, HistoryError for an unknown conversation,
    and ValueError for an unknown state, or if nothing of this kind is served.
    """
    if is_conversation_page(page) or (journal is None and page == "/"):
        return read_conversations(history, page)
    if journal is None:
        raise ValueError(NO_RUNS)
    if page.startswith(RUN_PREFIX):
        view = RunReader(journal.store).view(page.removeprefix(RUN_PREFIX))
        return run_body(view, link=f"{RUN_PREFIX}{{}}")
    if page == AUDIT_PATH:
        try:
            return audit_body(journal.verify(), None)
        except JournalCorruptError as error:
            return audit_body(0, str(error))
    state = cast("RunState | None", query.get("state") or None)
    runs = journal.runs(state, limit=_PAGE, before=query.get("before"))
    entries: list[RunEntry] = []
    waiting: list[RunView] = []
    for run in runs:
        calls = tuple(call.tool for call in run.pending if call.state != "running")
        entries.append(RunEntry(run.id, run.state, run.program, run.changed.timestamp(), calls, run.principal))
        if calls and len(waiting) < _MAX_WAITING:
            waiting.append(run.view())
    return runs_body(entries, waiting, state=state, has_more=len(runs) == _PAGE)


def read_version(journal: Journal | None, page: str, history: History | None = None) -> tuple[object, ...]:
    """Return what changes whenever a page has: the journal's commits, and whether the run has a live owner.

    Raises JournalError for an unknown run.
    """
    if is_conversation_page(page) or journal is None:
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
