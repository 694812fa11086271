"""Several users of one database: workers of one journal, and roles that have nothing to do with it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest

from ez_ptc import Journal, JournalError, Toolkit
from tests.journal.programs import LIMITS, Effects
from tests.journal.stores.server import PostgresServer


def test_first_users_of_a_schema_share_its_tables(address: str, server: PostgresServer) -> None:
    """All look before one has made the tables: the others wait for it, and use them."""
    found: list[object] = []

    def look() -> None:
        with Journal(address) as journal:
            try:
                found.append(journal.runs())
            except JournalError as error:
                found.append(error)

    with psycopg.connect(server.address()) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (0x457A506A, 1))
        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        deadline = time.monotonic() + 30
        while server.execute(waiting) != [(3,)]:
            assert time.monotonic() < deadline
    for thread in threads:
        thread.join(60)
    assert found == [[], [], []]


def test_neighbor_in_a_database_forges_nothing(address: str, server: PostgresServer, tmp_path: Path) -> None:
    """Another role can hold any advisory lock and send any notification."""
    effects = Effects(tmp_path / "effects")
    schema = address.rpartition("%3D")[2]
    with (
        Journal(address) as journal,
        Toolkit(effects.tools(), journal=journal, limits=LIMITS) as toolkit,
        psycopg.connect(server.address(), autocommit=True) as neighbor,
    ):
        changes = journal.watch(timeout=30)
        ((identity,),) = server.execute(f"SELECT identity FROM {schema}.ez_ptc_format")
        neighbor.execute("SELECT pg_notify(%s, %s)", (f"ez_ptc_{identity}", "\x1b[2Jforged"))
        neighbor.execute("SELECT pg_advisory_lock(%s, 1)", (identity,))
        with pytest.raises(JournalError, match=r"someone else holds its lock.*a database of its own") as caught:
            toolkit.execute("effect('a')", run_id="r")
        assert caught.value.run_id == "r"
        assert journal.runs() == []
        assert toolkit.execute("effect('b')", run_id="s").success
        assert next(changes) == "s"
    assert effects.lines() == {"effect b": 1}
