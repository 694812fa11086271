"""`ez-ptc runs backup`: the care of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.cli.runs.opening import open_journal
from ez_ptc.cli.terminal import printable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["back_up"]


def back_up(journal_path: Path, file: Path) -> int:
    """Copy a journal to a new file, and return 0. Raises JournalError if the file exists or cannot be written."""
    with open_journal(journal_path) as journal:
        journal.backup(file)
    print(f"backed up to {printable(str(file))}: use it in place of the journal, never beside it")
    return 0
