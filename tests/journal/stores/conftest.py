"""A real server for the tests of this folder, in `make test-postgres`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest

from tests.journal.stores.server import PostgresServer, run_server


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """Return a server for the tests of this process, which may stop and start it."""
    if "EZ_PTC_TEST_POSTGRES" not in os.environ:
        pytest.skip("needs a PostgreSQL server: run make test-postgres")
    with run_server() as started:
        assert started is not None
        yield started


@pytest.fixture
def address(server: PostgresServer) -> str:
    """Return the address of a schema of one's own."""
    schema = f"test_{secrets.token_hex(6)}"
    server.execute(f"CREATE SCHEMA {schema}")
    return f"{server.address()}?options=-csearch_path%3D{schema}"
