"""A server that restarts, fails over, is full, read-only or out of connections: nothing is doubled, nothing lost."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ez_ptc import Approve, DecisionError, Journal, JournalCorruptError, JournalError, Toolkit, ez_tool
from ez_ptc.journal.stores.protocol import RunRow, RunRows
from tests.journal.programs import LIMITS, Effects
from tests.journal.sample_runs import START
from tests.journal.stores.server import PostgresServer, find_programs, run_server

_RUNS = 6
_CALLS = 25
_PROGRAM = f"for number in range({_CALLS}):\n    effect(f'{{name}} {{number}}')\nprint('end')"
_MAX_CONTINUATIONS = 12


def _go_on(toolkit: Toolkit, effects: Effects, run_id: str) -> tuple[str, set[str]]:
    """Execute a program until it ends, as a queue and a person would; return its output and the errors in between."""
    code = _PROGRAM.replace("{name}", run_id)
    seen: set[str] = set()
    for _ in range(_MAX_CONTINUATIONS):
        try:
            result = toolkit.execute(code, run_id=run_id)
            while result.status == "paused":
                answers = {call.id: effects.settle(call) for call in result.pending}
                result = toolkit.resume(run_id, answers)
        except JournalError as error:
            seen.add(str(error))
            threading.Event().wait(0.2)
        else:
            assert result.success, result.error
            return result.output, seen
    raise AssertionError(seen)


def _run_all(address: str, effects: Effects, acknowledged: Effects, fail: threading.Thread) -> set[str]:
    """Run programs side by side, with a server that fails meanwhile; return the errors in between."""
    with Journal(address) as journal:
        journal.runs()
        with Toolkit(
            effects.tools(),
            journal=journal,
            limits=LIMITS,
            on_tool_call=lambda call: acknowledged.happen(f"effect {call['args'][0]}"),
        ) as toolkit:
            fail.start()
            with ThreadPoolExecutor(_RUNS) as threads:
                started = [threads.submit(_go_on, toolkit, effects, f"r{number}") for number in range(_RUNS)]
                ends = [run.result(240) for run in started]
            fail.join(120)
        assert journal.verify() == _RUNS
        recorded = Counter(
            event.path for number in range(_RUNS) for event in journal.events(f"r{number}") if event.kind == "result"
        )
    assert [output for output, _ in ends] == ["end\n"] * _RUNS
    assert effects.lines() == {f"effect r{run} {call}": 1 for run in range(_RUNS) for call in range(_CALLS)}
    assert set(acknowledged.lines()) <= set(effects.lines())
    assert sum(recorded.values()) == _RUNS * _CALLS
    return set[str]().union(*(seen for _, seen in ends))


def _wait_for(effects: Effects, count: int) -> None:
    deadline = time.monotonic() + 60
    while sum(effects.lines().values()) < count:
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def test_server_that_crashes_in_the_middle_of_runs_doubles_nothing(
    address: str, server: PostgresServer, tmp_path: Path
) -> None:
    effects = Effects(tmp_path / "effects")

    def crash() -> None:
        for number in range(3):
            _wait_for(effects, 20 + 40 * number)
            server.stop("immediate")
            server.start()

    errors = _run_all(address, effects, Effects(tmp_path / "acknowledged"), threading.Thread(target=crash))
    for error in errors:
        assert "resume the run" in error or "127.0.0.1" in error, error
        assert "s3cret" not in error


@contextlib.contextmanager
def _run_pair() -> Generator[tuple[PostgresServer, PostgresServer, str]]:
    """Return a context with a primary, its synchronous standby, and the address of whichever takes writes."""
    with run_server() as primary, tempfile.TemporaryDirectory(prefix="ez-ptc-standby-") as folder:
        programs = find_programs()
        assert primary is not None
        assert programs is not None
        standby = PostgresServer(Path(folder), programs, primary=primary)
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        try:
            yield primary, standby, f"postgresql://test:s3cret@{hosts}/test?target_session_attrs=read-write"
        finally:
            standby.stop("immediate")


def test_promoted_standby_goes_on_with_every_run(tmp_path: Path, server: PostgresServer) -> None:
    """A primary that crashes is replaced by its synchronous standby."""
    assert server.port
    effects = Effects(tmp_path / "effects")
    with _run_pair() as (primary, standby, address):

        def fail_over() -> None:
            _wait_for(effects, 40)
            primary.stop("immediate")
            standby.promote()

        with Journal(standby.address()) as journal, pytest.raises(JournalError, match="this server is a replica"):
            journal.runs()
        _run_all(address, effects, Effects(tmp_path / "acknowledged"), threading.Thread(target=fail_over))


def test_replica_that_was_behind_repeats_nothing_here(tmp_path: Path, server: PostgresServer) -> None:
    """An asynchronous standby without the last records takes over: who has written these goes on with none of them."""
    assert server.port
    effects = Effects(tmp_path / "effects")
    with _run_pair() as (primary, standby, address):
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        primary.execute("SELECT pg_reload_conf()")
        with Journal(address) as journal, Toolkit(effects.tools(), journal=journal, limits=LIMITS) as toolkit:
            paused = toolkit.execute("effect('a')\ntransfer('b', 5)\ntransfer('c', 5)", run_id="r")
            deadline = time.monotonic() + 60
            written = primary.execute("SELECT pg_current_wal_lsn()")[0]
            while standby.execute("SELECT pg_last_wal_replay_lsn() >= %s", *written) != [(True,)]:
                assert time.monotonic() < deadline
            standby.stop()
            again = toolkit.resume("r", {call.id: Approve() for call in paused.pending})
            assert toolkit.execute("effect('d')\ntransfer('e', 5)", run_id="s").status == "paused"
            primary.stop("immediate")
            standby.start()
            standby.promote()
            words = "has lost acknowledged records of run r, as in a failover.*see what took effect"
            assert journal.run("r").pending[0].id == paused.pending[0].id
            with pytest.raises(DecisionError, match="has no pending call"):
                journal.decide("r", {call.id: Approve() for call in again.pending})
            for go_on in (journal.decide, toolkit.resume):
                with pytest.raises(JournalCorruptError, match=words):
                    go_on("r", {call.id: Approve() for call in paused.pending})
            with pytest.raises(JournalCorruptError, match="has lost acknowledged records of run s"):
                toolkit.execute("effect('d')\ntransfer('e', 5)", run_id="s")
            journal.abandon("r", "the server was behind")
            assert journal.run("r").state == "failed"
            assert toolkit.execute("print(effect('f'))", run_id="t").output == "f!\n"
    assert effects.lines() == {"effect a": 1, "transfer b 5": 1, "effect d": 1, "effect f": 1}


_RAISE = """
    CREATE FUNCTION {schema}.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.kind = current_setting('test.kind', true) OR NEW.kind = '{kind}' THEN
    RAISE EXCEPTION 'could not extend file "base/1": No space left on device' USING ERRCODE = '{code}';
    END IF; RETURN NEW; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON {schema}.ez_ptc_events FOR EACH ROW EXECUTE FUNCTION {schema}.fail()
"""


@pytest.mark.parametrize("kind", ["start", "intent", "result", "end"])
def test_server_without_room_loses_no_result(kind: str, address: str, server: PostgresServer, tmp_path: Path) -> None:
    """It is full at one kind of record; what a caller waits for is offered again, and there is room before long."""
    schema = address.rpartition("%3D")[2]
    effects = Effects(tmp_path / "effects")
    is_full = threading.Event()

    @ez_tool
    def effect(name: str) -> str:
        """Do something once, and see the server get some room a little later."""
        effects.happen(f"effect {name}")
        if kind in {"result", "end"}:
            threading.Timer(0.3, make_room).start()
        return f"{name}!"

    def make_room() -> None:
        server.execute(f"DROP TRIGGER IF EXISTS fail ON {schema}.ez_ptc_events")
        is_full.clear()

    with Journal(address) as journal, Toolkit([effect], journal=journal) as toolkit:
        journal.runs()
        server.execute(_RAISE.format(schema=schema, kind=kind, code="53100"))
        is_full.set()
        if kind in {"start", "intent"}:
            with pytest.raises(JournalError, match=r"No space left.*free some space on the server") as caught:
                toolkit.execute("print(effect('a'))", run_id="r")
            assert "nothing was recorded" in str(caught.value)
            assert effects.lines() == {}
            make_room()
        assert toolkit.execute("print(effect('a'))", run_id="r").output == "a!\n"
        assert journal.verify() == 1
    assert effects.lines() == {"effect a": 1}


def _fill(toolkit: Toolkit) -> None:
    for number in range(100):
        assert toolkit.execute(f"effect('{number}' + {_NOISE})[-1]", run_id=f"r{number}").success


def test_table_space_without_room_stops_before_the_tool(server: PostgresServer, tmp_path: Path) -> None:
    """A small file system is full: its server refuses a record, and goes on once it has room."""
    effects = Effects(tmp_path / "effects")
    with _small_disk() as place:
        server.execute(f"CREATE TABLESPACE small LOCATION '{place}'")
        server.execute("CREATE DATABASE small TABLESPACE small")
        try:
            with Journal(server.address("small")) as journal, Toolkit(effects.tools(), journal=journal) as toolkit:
                with pytest.raises(JournalError, match=r"No space left.*free some space on the server"):
                    _fill(toolkit)
                subprocess.run(["mount", "-o", "remount,size=96m", str(place)], check=True, timeout=60)
                assert toolkit.execute("print(effect('z'))", run_id="z").output == "z!\n"
                for run in journal.runs():
                    if run.state != "done":
                        assert toolkit.resume(run.id, {call.id: effects.settle(call) for call in run.pending}).success
                assert journal.verify() == len(journal.runs())
        finally:
            server.execute("DROP DATABASE small WITH (FORCE)")
            server.execute("DROP TABLESPACE small")
    assert set(effects.lines().values()) == {1}


# Incompressible, else the server stores it in a few bytes.
_NOISE = "''.join(__import__('random').choices('abcdefghijklmnopqrstuvwxyz0123456789', k=400_000))"


@contextlib.contextmanager
def _small_disk() -> Generator[Path]:
    """Return a context with a file system of 24 MB, where one can be mounted."""
    with tempfile.TemporaryDirectory(prefix="ez-ptc-small-") as folder:
        place = Path(folder)
        command = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700,uid=nobody", "tmpfs", folder]
        if os.getuid() or subprocess.run(command, check=False, capture_output=True, timeout=60).returncode:
            pytest.skip("a file system cannot be mounted here")
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", folder], check=True, timeout=60)


def test_read_only_server_and_full_one_say_what_to_do(address: str, server: PostgresServer, tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    with Journal(address) as journal:
        journal.runs()
    for role, setting, words in (
        ("only_reads", "SET default_transaction_read_only = on", r"read-only transaction.*or read-only for this role"),
        ("few", "CONNECTION LIMIT 1", r"too many connections for role.*raise max_connections of the server or the"),
    ):
        server.execute(f"DROP ROLE IF EXISTS {role}")
        server.execute(f"CREATE ROLE {role} LOGIN")
        server.execute(f"GRANT test TO {role}")
        server.execute(f"GRANT ALL ON SCHEMA {address.rpartition('%3D')[2]} TO {role}")
        server.execute(f"ALTER ROLE {role} {setting}")
        with (
            Journal(address.replace("//test:", f"//{role}:")) as journal,
            Toolkit(effects.tools(), journal=journal) as toolkit,
            pytest.raises(JournalError, match=words),
        ):
            toolkit.execute("effect('a')", run_id=role)
    assert effects.lines() == {}


def test_commits_that_wait_for_no_replica_are_refused(address: str, server: PostgresServer, tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    server.execute("DROP ROLE IF EXISTS lonely")
    server.execute("CREATE ROLE lonely SUPERUSER LOGIN")
    server.execute("ALTER ROLE lonely SET synchronous_commit = local")
    lonely = address.replace("//test:", "//lonely:")
    with Journal(lonely) as journal:
        assert journal.runs() == []
    server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    server.execute("SELECT pg_reload_conf()")
    try:
        with (
            Journal(lonely) as journal,
            Toolkit(effects.tools(), journal=journal) as toolkit,
            pytest.raises(JournalError, match="synchronous_commit=local, so commits do not wait for the replicas"),
        ):
            toolkit.execute("effect('a')")
    finally:
        server.execute("ALTER SYSTEM RESET synchronous_standby_names")
        server.execute("SELECT pg_reload_conf()")
    assert effects.lines() == {}


def test_idle_transaction_that_is_ended_records_nothing(address: str, server: PostgresServer) -> None:
    """The server ends a transaction whose process was stopped within it; the next one has another connection."""

    from ez_ptc.journal.stores.postgres.rows import PostgresRows  # only where psycopg is installed

    def stall(rows: RunRows) -> None:
        assert isinstance(rows, PostgresRows)
        rows.connection.execute("SET idle_in_transaction_session_timeout = '50ms'")
        rows.insert(RunRow(0, "r", "", "running", 0.0, 0.0, 1, "", 0, b""))
        pid = rows.connection.info.backend_pid
        deadline = time.monotonic() + 30
        while server.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", pid):
            assert time.monotonic() < deadline

    with Journal(address) as journal:
        journal.runs()
        with pytest.raises(JournalError, match=r"idle-in-transaction timeout.*nothing was recorded"):
            journal.store.transact(stall)
        assert journal.runs() == []
        row, _ = journal.start("print(1)", START, run_id="r")
        journal.store.locks.disown(row.number)


def test_rolled_back_transaction_leaves_records_writable(address: str, tmp_path: Path) -> None:
    """psycopg drops the prepared statements of a connection after a rollback."""
    tools = Effects(tmp_path / "effects").tools()
    with Journal(address) as journal, Toolkit(tools, journal=journal, limits=LIMITS) as toolkit:
        for number in range(3):
            paused = toolkit.execute("print(transfer('b', 5))\nprint(effect('c'))", run_id=f"r{number}")
            with pytest.raises(DecisionError):
                journal.decide(f"r{number}", {"unknown": Approve()})
            result = toolkit.resume(f"r{number}", {paused.pending[0].id: Approve()})
            assert result.output == "b!\nc!\n"
