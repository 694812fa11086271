"""PostgreSQL's errors as the journal's: what happened, to which journal, and what to do."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Final

import psycopg
from psycopg import errors

from ez_ptc.errors import JournalCorruptError, JournalError

if TYPE_CHECKING:
    from collections.abc import Generator

    from ez_ptc.journal.stores.postgres.address import Address

__all__ = ["is_lost", "journal_errors", "may_pass", "to_journal_error"]

_NOTHING: Final = "nothing was recorded"
_TOO_MANY: Final = "raise max_connections of the server or the limit of its role, or use fewer processes"
# A refused connection has no code, only a text; a server may have another language.
_IS_TOO_MANY: Final = re.compile(r"too many clients|too many connections|connection slots are reserved")
_HINTS: Final[dict[type[psycopg.Error], str]] = {
    errors.InsufficientPrivilege: "grant its role the rights of the page about PostgreSQL (Roles)",
    errors.InvalidSchemaName: "create the schema of its search_path, or grant its role the right to use it",
    errors.InvalidCatalogName: "create the database with createdb",
    errors.ReadOnlySqlTransaction: (
        "this server is a replica, or read-only for this role: name the primary, or all hosts with "
        "target_session_attrs=read-write, or see default_transaction_read_only"
    ),
    errors.DiskFull: "free some space on the server, and resume the run",
    errors.TooManyConnections: _TOO_MANY,
    errors.UndefinedTable: "its tables were removed or are in another schema: see its search_path",
    errors.UndefinedColumn: "its tables were changed, or are of another application: give the journal another schema",
    errors.OutOfMemory: "raise max_locks_per_transaction of the server: each running program takes one lock",
    errors.LockNotAvailable: "another transaction holds a row of the run: see pg_stat_activity",
    errors.QueryCanceled: "the server took longer than 60 seconds: see pg_stat_activity",
}


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection or the server is gone, so that no one knows if a commit was made."""
    state = error.sqlstate
    return isinstance(error, psycopg.OperationalError) and (state is None or state.startswith(("08", "57P")))


def may_pass(error: psycopg.Error) -> bool:
    """Return whether a record is worth another attempt, because its server is gone, full or read-only for now."""
    return is_lost(error) or (error.sqlstate or "").startswith(("53", "25006", "40"))


def to_journal_error(error: psycopg.Error, address: Address, outcome: str = _NOTHING) -> JournalError:
    """Return the journal's error for one of PostgreSQL's."""
    text = address.scrub(str(error)) or type(error).__name__
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
        return JournalCorruptError(f"the journal {address.name} is damaged: {text}; restore it from a backup")
    if error.sqlstate is None and _IS_TOO_MANY.search(text):
        return JournalError(f"cannot use the journal {address.name}: {text}; {_TOO_MANY}; {outcome}")
    for error_class, hint in _HINTS.items():
        if isinstance(error, error_class):
            return JournalError(f"cannot use the journal {address.name}: {text}; {hint}; {outcome}")
    if is_lost(error):
        return JournalError(
            f"cannot reach the journal {address.name}: {text}; check that its server runs and takes this address and "
            f"role; {outcome}"
        )
    return JournalError(f"cannot use the journal {address.name}: {text}; {outcome}")


@contextlib.contextmanager
def journal_errors(address: Address, outcome: str = _NOTHING) -> Generator[None]:
    """Raise PostgreSQL's errors as the journal's."""
    try:
        yield
    except psycopg.Error as error:
        # Its own text may have the password.
        raise to_journal_error(error, address, outcome) from None
