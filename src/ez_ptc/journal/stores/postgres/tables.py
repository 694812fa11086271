"""The tables of a journal in PostgreSQL, and their versions.

They are in the first schema of the role's search_path: a schema of its own keeps a tenant apart.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from psycopg import errors

from ez_ptc._distribution import DISTRIBUTION
from ez_ptc._distribution import VERSION as LIBRARY
from ez_ptc.errors import JournalError

if TYPE_CHECKING:
    import psycopg

    from ez_ptc.journal.stores.postgres.address import Address

__all__ = ["VERSION", "find_identity"]

# "EzPj", with a number for creating tables: one process at a time does that in a database.
_CREATION_LOCK: Final = (0x457A506A, 1)
_VERSION_1: Final = """
    CREATE TABLE ez_ptc_format (
        id integer PRIMARY KEY CHECK (id = 1), version integer NOT NULL, reader text NOT NULL,
        identity integer NOT NULL);
    CREATE TABLE ez_ptc_runs (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE,
        session text NOT NULL, state text NOT NULL, created double precision NOT NULL,
        changed double precision NOT NULL, epoch bigint NOT NULL, owner text NOT NULL, events bigint NOT NULL,
        head bytea NOT NULL) WITH (fillfactor = 70);
    CREATE INDEX ez_ptc_runs_of_sessions ON ez_ptc_runs (session) WHERE session <> '';
    CREATE INDEX ez_ptc_runs_of_states ON ez_ptc_runs (state, number);
    CREATE TABLE ez_ptc_events (
        run bigint NOT NULL, position bigint NOT NULL, kind text NOT NULL, path text NOT NULL,
        time double precision NOT NULL, data bytea NOT NULL, payload bytea, content bytea, hash bytea NOT NULL,
        PRIMARY KEY (run, position));
    CREATE TABLE ez_ptc_contents (
        run bigint NOT NULL, hash bytea NOT NULL, data bytea NOT NULL, PRIMARY KEY (run, hash));
    CREATE TABLE ez_ptc_pruned (
        number bigint PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, time double precision NOT NULL,
        hash bytea NOT NULL)
"""
# Each brings the tables from the version before to its own; the first library to read them comes before it.
_MIGRATIONS: Final = (
    # As versions 3 to 5 of a file: events have more in them, and the tables stay as they are.
    ("1.1.0", ""),
    ("1.2.0", ""),
    ("1.3.0", ""),
)
VERSION: Final = 1 + len(_MIGRATIONS)


def find_identity(connection: psycopg.Connection[Any], address: Address) -> int:
    """Return the number by which the journal's locks differ from others'; create the tables first.

    Raises JournalError for tables of another version.
    """
    rows = _read_format(connection, address)
    if not rows:
        made_elsewhere: psycopg.Error | None = None
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", _CREATION_LOCK)
                if not _read_format(connection, address):  # others may have made them meanwhile
                    _create(connection)
        except (errors.DuplicateTable, errors.UniqueViolation) as error:
            # Within a transaction, the server may still believe that there are no such tables.
            made_elsewhere = error
        rows = _read_format(connection, address)
        if made_elsewhere is not None and not rows:  # they are of another application
            raise made_elsewhere
    version, reader, identity = rows[0]
    if 0 < version < VERSION:
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", _CREATION_LOCK)
                ((version, _, _),) = _read_format(connection, address)  # others may have brought them further meanwhile
                _migrate(connection, version)
        except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction) as error:
            message = (
                f"the journal {address.name} has tables of version {version}, and this role cannot bring them to "
                f"{VERSION}: let their owner open the journal once with {DISTRIBUTION} {LIBRARY}, for example with "
                f"ez-ptc runs list, once no earlier version is in use; nothing was recorded"
            )
            raise JournalError(message) from error
        ((version, reader, identity),) = _read_format(connection, address)
    if version != VERSION:
        newer = "the one of its other users" if reader in dict(_MIGRATIONS) else f"{reader} or later"
        message = (
            f"the journal {address.name} has tables of version {version}, and this library has {VERSION}: install a "
            f"newer {DISTRIBUTION} than {LIBRARY} ({newer}), or give the journal another schema; nothing was recorded"
        )
        raise JournalError(message)
    return int(identity)


def _read_format(connection: psycopg.Connection[Any], address: Address) -> list[tuple[Any, ...]]:
    if connection.execute("SELECT to_regclass('ez_ptc_format')").fetchall() == [(None,)]:
        return []
    rows = connection.execute("SELECT version, reader, identity FROM ez_ptc_format").fetchall()
    if len(rows) != 1:
        message = f"the journal {address.name} is damaged: expected one row in ez_ptc_format, got {len(rows)}"
        raise JournalError(message)
    return rows


def _create(connection: psycopg.Connection[Any]) -> None:
    for statement in _VERSION_1.split(";"):
        connection.execute(statement.encode())
    identity = secrets.randbelow(1 << 31)
    connection.execute("INSERT INTO ez_ptc_format VALUES (1, 1, '', %s)", (identity,))
    _migrate(connection, 1)


def _migrate(connection: psycopg.Connection[Any], version: int) -> None:
    """Bring the tables from an earlier version to the present one, within a transaction."""
    for number, (reader, statements) in enumerate(_MIGRATIONS[version - 1 :], version + 1):
        for statement in filter(None, statements.split(";")):
            connection.execute(statement.encode())
        connection.execute("UPDATE ez_ptc_format SET version = %s, reader = %s", (number, reader))
