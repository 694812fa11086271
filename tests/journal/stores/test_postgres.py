"""Runs on a PostgreSQL server: what is not the same as in a file, and what goes wrong with servers."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from ez_ptc import (
    Approve,
    DecisionError,
    Deny,
    ExecutionResult,
    Happened,
    Journal,
    JournalCorruptError,
    JournalError,
    RunInProgressError,
    Toolkit,
    ez_tool,
)
from tests.journal.programs import LIMITS, Effects
from tests.journal.sample_runs import START
from tests.journal.stores.server import PostgresServer
from tests.sandbox.scripts import ROOT

_PAUSING = "print(effect('a'))\nprint(transfer('b', 5))\nprint(effect('c'))"


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


def _toolkit(journal: Journal, effects: Effects) -> Toolkit:
    return Toolkit(effects.tools(), journal=journal, limits=LIMITS)


def _wait_until(is_true: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def _end_owners(server: PostgresServer) -> None:
    """End the connections with advisory locks, and no others."""
    # It waits for their ends, which would come at any time else.
    owners = "SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory'"
    server.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM ({owners}) AS owner")


def test_program_pauses_and_goes_on_elsewhere(address: str, effects: Effects) -> None:
    with Journal(address) as here, Journal(address) as there, Journal(address) as anywhere:
        with _toolkit(here, effects) as toolkit:
            paused = toolkit.execute(_PAUSING)
        (run,) = there.runs("paused")
        there.decide(run.id, {run.pending[0].id: Approve(by="ann")})
        with pytest.raises(DecisionError, match="is decided already: approve, by ann"):
            here.decide(run.id, {run.pending[0].id: Deny("no", by="bob")})
        with _toolkit(anywhere, effects) as toolkit:
            assert toolkit.resume(str(paused.run_id)).output == "a!\nb!\nc!\n"
            assert here.replay(run.id, toolkit).output == "a!\nb!\nc!\n"
        assert here.verify() == 1
        assert here.run(run.id).state == "done"
    assert effects.lines() == {"effect a": 1, "transfer b 5": 1, "effect c": 1}


def test_decision_wakes_a_watcher(address: str, effects: Effects) -> None:
    with Journal(address) as here, Journal(address) as there, _toolkit(here, effects) as toolkit:
        paused = toolkit.execute(_PAUSING)
        run_id = str(paused.run_id)
        changes = there.watch(run_id, timeout=30)
        assert there.claimable() == []
        here.decide(run_id, {paused.pending[0].id: True})
        assert next(changes) == run_id
        assert [run.id for run in there.claimable()] == [run_id]
        assert list(there.watch(timeout=0.01)) == []


def test_dead_owner_leaves_a_claimable_run(address: str, effects: Effects) -> None:
    with Journal(address) as journal:
        row, _ = journal.start("print(1)", START)
        with Journal(address) as other:
            assert other.claimable() == []
            assert other.run(row.id).state == "running"
            journal.store.locks.disown(row.number)
            assert [run.id for run in other.claimable()] == [row.id]


def test_tenants_of_one_database_are_apart(address: str, server: PostgresServer, effects: Effects) -> None:
    other = f"{server.address()}?options=-csearch_path%3Dtenant"
    server.execute("CREATE SCHEMA IF NOT EXISTS tenant")
    with Journal(address) as first, Journal(other) as second:
        rows = [journal.start("print(1)", START, run_id="r")[0] for journal in (first, second)]
        assert [row.number for row in rows] == [1, 1]
        for journal, row in zip((first, second), rows, strict=True):
            journal.store.locks.disown(row.number)


def test_owner_without_its_lock_ends_its_program(address: str, server: PostgresServer, effects: Effects) -> None:
    """The lock's connection is ended alone; another claims the run, and the first one runs nothing more."""
    entered, leave = threading.Event(), threading.Event()
    outcome: list[ExecutionResult | JournalError] = []

    @ez_tool
    def effect(name: str) -> str:
        """Do something that must happen once."""
        effects.happen(f"effect {name}")
        if name == "0":
            entered.set()
            assert leave.wait(60)
        return name

    def own(toolkit: Toolkit) -> None:
        try:
            outcome.append(toolkit.execute("for i in range(5):\n    effect(str(i))\nprint('end')", run_id="r"))
        except JournalError as error:
            outcome.append(error)

    with Journal(address) as here, Journal(address) as there:
        with Toolkit([effect], journal=here) as toolkit:
            owner = threading.Thread(target=own, args=(toolkit,))
            owner.start()
            assert entered.wait(60)
            with Toolkit([effect], journal=there) as other, pytest.raises(RunInProgressError):
                other.resume("r")
            _end_owners(server)
            (call,) = there.run("r").pending
            assert call.state == "outcome_unknown"
            leave.set()
            owner.join(60)
        assert [type(item) for item in outcome] == [JournalError]
        assert "resume the run" in str(outcome[0])
        assert getattr(outcome[0], "run_id", None) == "r"
        assert effects.lines() == {"effect 0": 1}
        # Its result was recorded all the same: no one else had claimed the run.
        with Toolkit([effect], journal=there) as other:
            assert other.resume("r").output == "end\n"
        assert there.verify() == 1
    assert effects.lines() == {f"effect {number}": 1 for number in range(5)}


def test_each_holder_gives_up_its_own_lock(address: str, server: PostgresServer) -> None:
    first, second = object(), object()
    with Journal(address) as here, Journal(address) as there:
        row, _ = here.start("print(1)", START, holder=first)
        _end_owners(server)
        assert here.store.locks.own(row.number, second)
        here.give_up(second)
        assert there.store.locks.own(row.number, second)
        here.give_up(first)
        assert here.store.locks.is_owned(row.number)
        there.give_up(second)
        assert not here.store.locks.is_owned(row.number)


def test_claimed_run_takes_nothing_from_its_former_owner(
    address: str, server: PostgresServer, effects: Effects
) -> None:
    entered, leave = threading.Event(), threading.Event()
    outcome: list[object] = []

    @ez_tool
    def effect(name: str) -> str:
        """Do something that must happen once."""
        effects.happen(f"effect {name}")
        if name == "0" and not entered.is_set():
            entered.set()
            assert leave.wait(60)
        return name

    def own(toolkit: Toolkit) -> None:
        try:
            outcome.append(toolkit.execute("for i in range(3):\n    print(effect(str(i)))", run_id="r"))
        except JournalError as error:
            outcome.append(str(error))

    with Journal(address) as here, Journal(address) as there:
        with Toolkit([effect], journal=here) as toolkit:
            owner = threading.Thread(target=own, args=(toolkit,))
            owner.start()
            assert entered.wait(60)
            _end_owners(server)
            (call,) = there.run("r").pending
            with Toolkit([effect], journal=there) as other:
                assert other.resume("r", {call.id: Happened("settled")}).output == "settled\n1\n2\n"
            leave.set()
            owner.join(60)
        assert len(outcome) == 1
        assert "continued elsewhere" in str(outcome[0]) or "has ended" in str(outcome[0])
        assert there.verify() == 1
    assert effects.lines() == {f"effect {number}": 1 for number in range(3)}


def test_decision_between_two_records_is_kept(address: str, effects: Effects) -> None:
    """The owner's fence is the last event: a decision of another process comes in between, and both are recorded."""
    with Journal(address) as here, Journal(address) as there:

        @ez_tool
        def effect(name: str) -> str:
            """Decide elsewhere about the call beside this one, and take effect."""
            (call,) = [call for call in there.run("r").pending if call.state == "needs_approval"]
            there.decide("r", {call.id: Approve(by="ann")})
            effects.happen(f"effect {name}")
            return name

        transfer = effects.tools()[3]
        with Toolkit([effect, transfer], journal=here, limits=LIMITS) as toolkit:
            program = (
                "parallel(lambda: transfer('b', 5), lambda: (__import__('time').sleep(0.3), effect('a')))\nprint(1)"
            )
            result = toolkit.execute(program, run_id="r")
            while result.status == "paused":
                result = toolkit.resume("r")
        assert result.output == "1\n"
        assert here.verify() == 1
    assert effects.lines() == {"effect a": 1, "transfer b 5": 1}


def test_restarted_server_loses_no_result(address: str, server: PostgresServer, effects: Effects) -> None:
    """The server crashes between a call's effect and its result: the result is recorded once it is back."""

    @ez_tool
    def effect(name: str) -> str:
        """Do something, and see the server crash."""
        effects.happen(f"effect {name}")
        if name == "a":
            server.kill()
            server.start()
        return f"{name}!"

    with Journal(address) as journal:
        with Toolkit([effect], journal=journal) as toolkit, pytest.raises(JournalError, match="resume the run"):
            toolkit.execute("print(effect('a'), effect('b'))", run_id="r")
        assert journal.run("r").state == "resumable"
        with Toolkit([effect], journal=journal) as toolkit:
            assert toolkit.resume("r").output == "a! b!\n"
        assert journal.verify() == 1
    assert effects.lines() == {"effect a": 1, "effect b": 1}


def test_lost_tail_is_noticed_by_the_owner(address: str, server: PostgresServer, effects: Effects) -> None:
    """A replica that had not received the last records takes over."""
    schema = address.rpartition("%3D")[2]

    @ez_tool
    def effect(name: str) -> str:
        """Do something, and see the server lose it."""
        effects.happen(f"effect {name}")
        server.execute(f"DELETE FROM {schema}.ez_ptc_events WHERE position > 1")
        server.execute(f"UPDATE {schema}.ez_ptc_runs SET events = 1, head = (SELECT hash FROM {schema}.ez_ptc_events)")
        return name

    with (
        Journal(address) as journal,
        Toolkit([effect], journal=journal) as toolkit,
        pytest.raises(JournalCorruptError, match="lost acknowledged records of run r, as in a failover"),
    ):
        toolkit.execute("effect('a')\neffect('b')", run_id="r")
    assert effects.lines() == {"effect a": 1}


def test_stopped_owner_keeps_its_run(address: str, effects: Effects) -> None:
    """A stopped process is a live owner: its system answers for it."""
    script = (
        "import sys\nfrom ez_ptc import Journal\n"
        f"row, _ = Journal(sys.argv[1]).start('print(1)', {START!r}, run_id='r')\n"
        "print('started', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", script, address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    with process, Journal(address) as journal:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGSTOP)
        with Toolkit(effects.tools(), journal=journal) as toolkit, pytest.raises(RunInProgressError):
            toolkit.resume("r")
        process.kill()
        process.wait(60)
        _wait_until(lambda: journal.run("r").state == "resumable")


def test_fork_leaves_the_locks_to_its_parent(address: str, effects: Effects) -> None:
    with Journal(address) as journal, Journal(address) as other:
        row, _ = journal.start("print(1)", START)
        pid = os.fork()
        if not pid:
            try:
                journal.runs()
                journal.close()
            finally:
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert other.run(row.id).state == "running"
        journal.store.locks.disown(row.number)


def test_server_that_may_lose_commits_is_refused(address: str, server: PostgresServer, effects: Effects) -> None:
    server.execute("DROP ROLE IF EXISTS hasty")
    server.execute("CREATE ROLE hasty SUPERUSER LOGIN")
    server.execute("ALTER ROLE hasty SET synchronous_commit = off")
    with (
        Journal(address.replace("//test:", "//hasty:")) as journal,
        Toolkit(effects.tools(), journal=journal) as toolkit,
        pytest.raises(JournalError, match="synchronous_commit=off, which loses acknowledged records"),
    ):
        toolkit.execute("effect('a')")
    assert effects.lines() == {}


def test_roles_may_do_no_more_than_granted(address: str, server: PostgresServer, effects: Effects) -> None:
    schema = address.rpartition("%3D")[2]
    with Journal(address) as journal, _toolkit(journal, effects) as toolkit:
        paused = toolkit.execute(_PAUSING, run_id="r")
    for role in ("reader", "decider", "stranger"):
        server.execute(
            f"DROP OWNED BY {role}"
            if server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'")
            else "SELECT 1"
        )
        server.execute(f"DROP ROLE IF EXISTS {role}")
        server.execute(f"CREATE ROLE {role} LOGIN")
    server.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader, decider")
    server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader, decider")
    server.execute(f"GRANT INSERT ON {schema}.ez_ptc_events, {schema}.ez_ptc_contents TO decider")
    server.execute(f"GRANT UPDATE ON {schema}.ez_ptc_runs TO decider")
    decision = {paused.pending[0].id: Approve()}
    stranger = address.replace("//test:", "//stranger:")
    with Journal(stranger) as journal, pytest.raises(JournalError, match=r"grant its role|create the schema"):
        journal.runs()
    with Journal(address.replace("//test:", "//reader:")) as journal:
        assert journal.run("r").state == "paused"
        with pytest.raises(JournalError, match=r"permission denied.*grant its role the rights"):
            journal.decide("r", decision)
    with Journal(address.replace("//test:", "//decider:")) as journal:
        journal.decide("r", decision)
        with _toolkit(journal, effects) as toolkit, pytest.raises(JournalError, match="permission denied"):
            toolkit.execute("effect('x')")
    assert effects.lines() == {"effect a": 1}


def test_absent_server_is_a_journal_error(tmp_path: Path, effects: Effects, server: PostgresServer) -> None:
    for url in ("postgresql://test:s3cret@127.0.0.1:1/test", server.address("missing")):
        with (
            Journal(url) as journal,
            _toolkit(journal, effects) as toolkit,
            pytest.raises(JournalError, match=r"cannot (reach|use) the journal postgresql://test@127") as caught,
        ):
            toolkit.execute("effect('a')")
        assert "s3cret" not in f"{caught.value!r}"
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    assert effects.lines() == {}


def test_password_is_shown_nowhere(
    address: str, effects: Effects, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    from ez_ptc.cli.app import main

    caplog.set_level(logging.DEBUG)
    with Journal(address) as journal, _toolkit(journal, effects) as toolkit:
        paused = toolkit.execute(_PAUSING, run_id="r")
        shown = [repr(journal), journal.name, repr(journal.run("r")), journal.run("r").to_html(), *journal.export("r")]
        shown += [repr(toolkit), repr(paused)]
    for words in (["list"], ["show", "r"], ["deny", "r"], ["verify"], ["backup", "copy.db"], ["show", "unknown"]):
        main(["runs", *words, "--journal", address])
    shown += [*capsys.readouterr(), caplog.text]
    assert [text for text in shown if "s3cret" in text] == []
    assert any("--journal 'postgresql://test@127.0.0.1" in text for text in shown)


def test_backup_names_the_tool_for_it(address: str, tmp_path: Path) -> None:
    with Journal(address) as journal:
        with pytest.raises(JournalError, match=r"back it up with pg_dump --format=custom"):
            journal.backup(tmp_path / "copy")
        with pytest.raises(JournalError, match=r"has no file: use Journal\.name"):
            _ = journal.path
        assert journal.prune(timedelta(0)) == 0


def test_large_contents_and_any_text_come_back(address: str, effects: Effects) -> None:
    with Journal(address) as journal, _toolkit(journal, effects) as toolkit:
        text = "é\\x00" + "x" * 50_000
        result = toolkit.execute(f'print(len(effect("{text}")))\nprint(effect("{text}") == "{text}!")', run_id="r")
        assert result.success, result.error
        assert toolkit.replay("r").output == result.output
        assert journal.verify() == 1
        with pytest.raises(JournalError, match="has no run"):
            journal.run("\x00")
