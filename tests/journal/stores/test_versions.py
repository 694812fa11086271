"""The tables on a server have a version: older ones are brought to the present one, others are refused."""

from __future__ import annotations

import re

import pytest

from ez_ptc import Journal, JournalError
from ez_ptc.journal.stores.postgres.tables import VERSION
from tests.journal.sample_runs import START
from tests.journal.stores.server import PostgresServer


def test_tables_of_another_version_are_refused(address: str, server: PostgresServer) -> None:
    schema = address.rpartition("%3D")[2]
    with Journal(address) as journal:
        assert journal.runs() == []
    for version in (0, VERSION + 1):
        server.execute(f"UPDATE {schema}.ez_ptc_format SET version = {version}")
        with (
            Journal(address) as journal,
            pytest.raises(JournalError, match=f"has tables of version {version}, and this"),
        ):
            journal.runs()


def test_roles_learn_that_the_owner_opens_older_tables(address: str, server: PostgresServer) -> None:
    schema = address.rpartition("%3D")[2]
    with Journal(address) as journal:
        assert journal.runs() == []
    server.execute(f"UPDATE {schema}.ez_ptc_format SET version = 1")
    server.execute(f"CREATE ROLE {schema} LOGIN PASSWORD 'v'")
    server.execute(f"GRANT USAGE ON SCHEMA {schema} TO {schema}")
    server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}")
    reader = re.sub("//.*@", f"//{schema}:v@", address)
    read_only = f"{address}%20-cdefault_transaction_read_only%3Don"
    match = "has tables of version 1, and this role cannot bring them to 4: let their owner open the journal once"
    for refused in (reader, read_only):
        with Journal(refused) as journal, pytest.raises(JournalError, match=match):
            journal.runs()
    with Journal(address) as journal:
        assert journal.runs() == []
    for usable in (reader, read_only):
        with Journal(usable) as journal:
            assert journal.runs() == []


def test_tables_of_version_1_become_those_of_this_version(address: str, server: PostgresServer) -> None:
    schema = address.rpartition("%3D")[2]
    with Journal(address) as journal:
        row, _ = journal.start("print(1)", START)
        journal.store.locks.disown(row.number)
    server.execute(f"UPDATE {schema}.ez_ptc_format SET version = 1, reader = ''")
    with Journal(address) as journal:
        assert journal.run(row.id).program == "print(1)"
    assert server.execute(f"SELECT version, reader FROM {schema}.ez_ptc_format") == [(4, "1.3.0")]
