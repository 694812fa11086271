"""Opening the journal of a command line, and finding the run it names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ez_ptc.cli.run import CommandError
from ez_ptc.journal.journal import Journal
from ez_ptc.journal.stores.addresses import is_address, require_file_name
from ez_ptc.journal.upkeep.listing import find_ids, is_generated
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["find_run_id", "login_name", "open_journal", "write_file"]

_MAX_MATCHES: Final = 5


def open_journal(path: str) -> Journal:
    """Return the journal in a file or at an address.

    Raises CommandError if the file is missing: opening it would create it.
    """
    if is_address(path):
        return Journal(path)
    require_file_name(path)
    try:
        Path(path).stat()
    except OSError as error:
        message = f"no journal at {path}: {error.strerror}; pass its file with --journal, or set EZ_PTC_JOURNAL"
        raise CommandError(message) from error
    return Journal(path)


def find_run_id(journal: Journal, prefix: str, *, is_to_change: bool = False) -> str:
    """Return the id of the only run whose id begins with `prefix`. Raises CommandError if there is no such run.

    To change a run, an id of the caller's choice has to be whole: `order-1` may be the id of a pruned run, or of one in
    another journal, and says nothing about `order-10`.
    """
    matches = journal.store.read(lambda database: find_ids(database, prefix)) if prefix else []
    if len(matches) == 1:
        if not is_to_change or matches[0] == prefix or is_generated(matches[0]):
            return matches[0]
        message = (
            f"no run {safe_repr(prefix)} in {journal.name}: to change run {safe_repr(matches[0])}, write all of it"
        )
    elif matches:
        names = ", ".join(matches[:_MAX_MATCHES])
        message = f"the ids of {len(matches):,} runs begin with {safe_repr(prefix)}: write more of one of {names}"
    else:
        message = f"no run {safe_repr(prefix)} in {journal.name}: ez-ptc runs list shows the ids; it may be pruned"
    raise CommandError(message)


def login_name() -> str:
    """Return the name of the user of this process, for the journal; from the system, since a variable may lie."""
    try:
        import pwd
    except ImportError:  # Windows
        return os.getlogin()
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def write_file(file: Path, text: str) -> None:
    """Write a file. Raises CommandError if that fails."""
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        message = f"cannot write {file}: {error.strerror or error}"
        raise CommandError(message) from error
