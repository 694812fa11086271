"""Every scenario on PostgreSQL: the path of a journal's file stands for a schema of a server.

With EZ_PTC_TEST_POSTGRES, `Journal(path)` opens a journal on that server in this process, and, by
`everywhere/sitecustomize.py`, in each interpreter that a test starts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import psycopg

from ez_ptc.journal import journal
from ez_ptc.journal.store import open_store
from ez_ptc.journal.stores.addresses import is_address, require_file_name
from ez_ptc.journal.stores.postgres.store import PostgresStore
from ez_ptc.journal.stores.protocol import RunStore

__all__ = ["schema_of", "substitute_files"]

VARIABLE = "EZ_PTC_TEST_POSTGRES"


def schema_of(path: Path) -> str:
    """Return the schema for a file."""
    return f"file_{hashlib.sha256(os.path.realpath(path).encode()).hexdigest()[:16]}"


class SchemaStore(PostgresStore):
    """A store for a file's name."""

    def __init__(self, path: Path) -> None:
        """Make the schema, and use it."""
        address, schema = os.environ[VARIABLE], schema_of(path)
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(7)")
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        super().__init__(f"{address}?options=-csearch_path%3D{schema}")
        self._path = path
        # So that Journal.path is the file's, as scenarios expect.
        self.name = str(path)

    def key_path(self) -> Path:
        """Return the place of the file's key."""
        return self._path.with_name(f"{self._path.name}-key")

    def create_key(self, create: Callable[[Path], None]) -> None:
        """Create the key."""
        create(self.key_path())


def substitute_files() -> None:
    """Let the paths of journals stand for schemas in this process."""
    opened = open_store

    def open_either(path: str | Path) -> RunStore:
        if is_address(path):
            return opened(path)
        require_file_name(path)
        return SchemaStore(Path(path))

    journal.__dict__["open_store"] = open_either
