"""Ended runs move between files and servers, with their chains."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ez_ptc import Journal, Toolkit
from ez_ptc.cli.app import main
from ez_ptc.journal.rows import read_events
from ez_ptc.journal.store import SqliteStore
from ez_ptc.journal.stores.protocol import RunRows
from ez_ptc.journal.upkeep.copying import copy_runs
from tests.journal.programs import Effects
from tests.journal.sample_runs import exported, write_run
from tests.journal.stores.server import PostgresServer


def _chains(rows: RunRows) -> dict[str, tuple[bytes, list[object]]]:
    return {row.id: (row.head, [*read_events(rows, row)]) for row in rows.after(0, 100)}


def test_runs_move_between_a_file_and_a_server(
    address: str, server: PostgresServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.execute("DROP SCHEMA IF EXISTS copies CASCADE")
    server.execute("CREATE SCHEMA copies")
    other = f"{server.address()}?options=-csearch_path%3Dcopies"
    effects = Effects(tmp_path / "effects")
    file = SqliteStore(tmp_path / "file.db")
    with Journal(address) as journal, Toolkit(effects.tools(), journal=journal) as toolkit:
        output = toolkit.execute("print(effect('a'), effect('b' * 9000))", run_id="r").output
        write_run(journal, random.Random(3))
        whole = exported(journal)
        left = write_run(journal, random.Random(4), ended=False)
        assert copy_runs(journal.store, file) == (2, 0)
        expected = journal.store.read(_chains)
        del expected[left]
        assert file.read(_chains) == expected
        with Journal(other) as copied:
            assert copy_runs(file, copied.store) == (2, 0)
            assert copied.store.read(_chains) == expected
            assert exported(copied) == whole
            assert toolkit.replay("r", journal=copied).output == output
            assert copied.verify() == 2
    file.close()
    assert main(["runs", "copy", address, other]) == 0
    assert "0 ended runs were copied from postgresql://test@" in capsys.readouterr().out
