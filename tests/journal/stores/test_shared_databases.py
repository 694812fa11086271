"""Several users of one database: workers of one journal, and roles that have nothing to do with it."""

from __future__ import annotations

import threading
import time

import psycopg

from ez_ptc import Journal, JournalError
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
