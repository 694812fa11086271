"""`ez-ptc runs backup`, `copy`, `prune`, `abandon` and `discard`: the care of a journal."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from ez_ptc.cli.run import CommandError
from ez_ptc.cli.runs.opening import find_run_id, login_name, open_journal
from ez_ptc.cli.terminal import printable, printable_lines
from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.journal import Journal
from ez_ptc.journal.upkeep.copying import copy_runs

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["abandon_run", "back_up", "copy_ended", "discard_run", "export_run", "prune_runs", "verify_journal"]


def verify_journal(journal_path: str) -> int:
    """Check every row of a journal, and return 0 if none was damaged or changed, else 1."""
    with open_journal(journal_path) as journal:
        try:
            count = journal.verify()
        except JournalCorruptError as error:
            print(f"ez-ptc: {printable_lines(str(error))}", file=sys.stderr)
            return 1
    print(f"{count:,} {'run is' if count == 1 else 'runs are'} complete and unchanged")
    return 0


def export_run(journal_path: str, prefix: str) -> int:
    """Print the events of a run as lines of JSON, and return 0."""
    with open_journal(journal_path) as journal:
        for line in journal.export(find_run_id(journal, prefix)):
            print(line.replace("\x7f", "\\u007f"))
    return 0


def back_up(journal_path: str, file: Path) -> int:
    """Copy a journal to a new file, and return 0. Raises JournalError if the file exists or cannot be written."""
    with open_journal(journal_path) as journal:
        journal.backup(file)
    print(f"backed up to {printable(str(file))}: use it in place of the journal, never beside it")
    return 0


def copy_ended(source: str, target: str) -> int:
    """Copy the ended runs of a journal to another one, and return 0.

    Raises JournalError if the other has another run of the same id, and JournalCorruptError if runs were damaged, and
    not copied.
    """
    with open_journal(source) as journal, Journal(target, retention=None) as other:
        copied, present = copy_runs(journal.store, other.store)
        names = f"from {printable(journal.name)} to {printable(other.name)}"
    print(
        f"{copied:,} ended {'run was' if copied == 1 else 'runs were'} copied {names}; {present:,} were there already"
    )
    return 0


def prune_runs(journal_path: str, *, days: float, states: Iterable[str]) -> int:
    """Remove the runs in these states that have not changed for some days, and return 0.

    Raises CommandError for a wrong number of days.
    """
    if not 0 <= days <= timedelta.max.days:
        message = f"--days: expected a number from 0 on, got {days}"
        raise CommandError(message)
    with open_journal(journal_path) as journal:
        count = journal.prune(timedelta(days=days), states=states)
    print(f"{count:,} {'run was' if count == 1 else 'runs were'} removed")
    return 0


def abandon_run(journal_path: str, prefix: str, *, reason: str) -> int:
    """End a run that cannot go on, and return 0.

    Raises:
        CommandError: The run or the reason is missing.
        JournalError: The run has ended, or is being executed.
    """
    if not reason.strip():
        message = "--reason: expected the reason for abandoning the run, got no text"
        raise CommandError(message)
    with open_journal(journal_path) as journal:
        run_id = find_run_id(journal, prefix, is_to_change=True)
        journal.abandon(run_id, reason, by=login_name())
    print(f"abandoned run {printable(run_id)}: it is failed, and nothing of it runs again")
    return 0


def discard_run(journal_path: str, prefix: str) -> int:
    """Remove a damaged run, and return 0. Raises JournalError if it can be read, or is being executed."""
    with open_journal(journal_path) as journal:
        run_id = find_run_id(journal, prefix, is_to_change=True)
        journal.discard(run_id)
    print(f"removed the damaged run {printable(run_id)}: its record is lost, and its id stays in use")
    return 0
