"""`ez-ptc runs verify` and `ez-ptc runs export`."""

from __future__ import annotations

import sys

from ez_ptc.cli.runs.opening import find_run_id, open_journal
from ez_ptc.cli.terminal import printable_lines
from ez_ptc.errors import JournalCorruptError

__all__ = ["export_run", "verify_journal"]


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
