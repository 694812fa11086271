"""The queue's example: hosts that share a database, a person in between, and workers that are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ez_ptc import Approve, DidNotHappen, Happened, Journal, PendingCall
from tests.examples.running import EXAMPLES, environment_of
from tests.journal.stores.server import PostgresServer, run_server
from tests.sandbox.scripts import ROOT

EXAMPLE = EXAMPLES / "queue_worker.py"
_EFFECTS = {"reserved desk lamp": 1, "refunded 20.0 for 7": 1, "reserved desk": 1}
_KILLED = """
import runpy, sys
import procrastinate
from tests.journal.kill_points import KillPoints
example, point = sys.argv[1:]
sys.argv = [example, "work", "--once"]
KillPoints(int(point)).begin()
runpy.run_path(example, run_name="__main__")
"""
_MAX_ROUNDS = 8


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    pytest.importorskip("procrastinate", reason="needs procrastinate: pip install procrastinate")
    if "EZ_PTC_TEST_POSTGRES" not in os.environ:
        pytest.skip("needs a PostgreSQL server: run make test-postgres")
    with run_server() as started:
        assert started is not None
        yield started


class Host:
    """A host: a folder and an environment of its own, and the address of the database."""

    def __init__(self, folder: Path, address: str) -> None:
        """Make the folder; the ledger stands for the world, which all hosts change."""
        folder.mkdir()
        self.folder = folder
        ledger = str(folder.parent / "ledger")
        self.environment = environment_of(
            HOME=str(folder),
            TMPDIR=str(folder),
            SHOP_DATABASE=address,
            SHOP_LEDGER=ledger,
            SHOP_DEAD_AFTER_SECONDS="0",
            PYTHONPATH=str(ROOT),
        )

    def do(self, *words: str) -> None:
        """Run the example, which must succeed."""
        self._run([str(EXAMPLE), *words], {0})

    def work_until(self, point: int) -> bool:
        """Work, and be killed at a point. Return whether it was."""
        return self._run(["-c", _KILLED, str(EXAMPLE), str(point)], {0, -9}) != 0

    def _run(self, words: list[str], codes: set[int]) -> int:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in codes, done.stderr
        return done.returncode


def _lines(folder: Path) -> Counter[str]:
    ledger = folder / "ledger"
    return Counter(ledger.read_text().splitlines()) if ledger.exists() else Counter()


def _answer(call: PendingCall, folder: Path) -> object:
    """Say what a person says who can look at the ledger."""
    if call.state == "needs_approval":
        return Approve(by="ann")
    arguments = call.arguments
    line = f"refunded 20.0 for {arguments['order']}" if call.tool == "refund" else f"reserved {arguments['item']}"
    return Happened(line) if line in _lines(folder) else DidNotHappen()


def _database(server: PostgresServer, name: str) -> str:
    server.execute(f"CREATE DATABASE {name}")
    return server.address(name)


def test_approved_program_goes_on_at_another_host(server: PostgresServer, tmp_path: Path) -> None:
    address = _database(server, "two_hosts")
    web, first, second = (Host(tmp_path / name, address) for name in ("web", "first", "second"))
    web.do("setup")
    web.do("submit", "order-7")
    first.do("work", "--once")
    with Journal(address) as journal:
        run = journal.run("order-7")
        assert (run.state, [call.tool for call in run.pending]) == ("paused", ["refund"])
        journal.decide(run.id, {run.pending[0].id: Approve(by="ann")})
    web.do("resume", "--once")
    web.do("resume", "--once")  # it is enqueued once
    second.do("work", "--once")
    with Journal(address) as journal:
        run = journal.run("order-7")
        assert run.state == "done"
        assert [event.kind for event in journal.events(run.id)].count("claim") == 1
    assert _lines(tmp_path) == _EFFECTS


@pytest.mark.sampled(every=17, first=12)
@pytest.mark.parametrize("point", range(10, 400, 12))
def test_worker_killed_at_any_step_doubles_nothing(server: PostgresServer, tmp_path: Path, point: int) -> None:
    address = _database(server, f"killed_{point}")
    web, first, second = (Host(tmp_path / name, address) for name in ("web", "first", "second"))
    web.do("setup")
    web.do("submit", "order-7")
    first.work_until(point)
    with Journal(address) as journal:
        for _ in range(_MAX_ROUNDS):
            runs = journal.runs()
            if runs and runs[0].state in {"done", "failed"}:
                break
            if runs and runs[0].pending:
                journal.decide("order-7", {call.id: _answer(call, tmp_path) for call in runs[0].pending})
            web.do("resume", "--once")
            second.do("work", "--once")
        assert journal.run("order-7").state == "done"
        assert journal.verify() == 1
    assert _lines(tmp_path) == _EFFECTS
