"""What cannot be used is refused with a typed error that says what to do; nothing has run, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ez_ptc import (
    Approve,
    DecisionError,
    Deny,
    DidNotHappen,
    ExecutionResult,
    Happened,
    Journal,
    JournalCorruptError,
    JournalError,
    ProcessSandbox,
    ReplayDivergedError,
    Toolkit,
    ez_tool,
)
from ez_ptc.errors import ArgumentsError
from ez_ptc.journal.storage.tables import VERSION
from tests.journal.programs import LIMITS, Effects
from tests.journal.rewriting import replace_program
from tests.sandbox.host.interruption import Interruption
from tests.sandbox.scripts import run_script


@pytest.fixture
def toolkit(effects: Effects, journal: Journal) -> Iterator[Toolkit]:
    with Toolkit(effects.tools(), journal=journal, limits=LIMITS) as toolkit:
        yield toolkit


def _paused(toolkit: Toolkit) -> tuple[str, str]:
    result: ExecutionResult = toolkit.execute("print(transfer('a', 1))")
    assert result.status == "paused"
    assert result.run_id is not None
    return result.run_id, result.pending[0].id


def _refuse(path: Path, effects: Effects, match: str, error: type[Exception] = JournalError) -> None:
    before = path.read_bytes() if path.is_file() else None
    with Toolkit(effects.tools(), journal=path) as toolkit, pytest.raises(error, match=match):
        toolkit.execute("effect('a')")
    assert not effects.lines()
    assert before is None or path.read_bytes() == before


def test_file_that_is_no_journal_is_refused(tmp_path: Path, effects: Effects) -> None:
    path = tmp_path / "notes.txt"
    for text in ("short", "x" * 10_000, "SQLite format 3\0" + "x" * 5000):
        path.write_text(text)
        path.chmod(0o600)
        _refuse(path, effects, "damaged|not a usable journal")


def test_database_of_another_application_is_refused(tmp_path: Path, effects: Effects) -> None:
    path = tmp_path / "other.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE accounts (id)")
    database.close()
    path.chmod(0o600)

    _refuse(path, effects, "another application's database; give the path of another file")


def test_journal_of_another_version_is_refused(journal: Journal, effects: Effects) -> None:
    journal.runs()
    journal.close()
    database = sqlite3.connect(journal.path)
    database.execute("PRAGMA user_version = 99")
    database.close()

    _refuse(
        journal.path, effects, f"expected a version from 1 to {VERSION}, got 99, which needs a newer ez-ptc-py than "
    )


def test_folder_instead_of_a_journal_is_refused(tmp_path: Path, effects: Effects) -> None:
    (tmp_path / "folder").mkdir()

    _refuse(tmp_path / "folder", effects, "cannot use the journal")
    _refuse(tmp_path / "missing" / "runs.db", effects, "cannot (open|create) the journal")


_READ_ONLY = """
import os, sys
from pathlib import Path
from ez_ptc import Journal, JournalError
from tests.journal.sample_runs import write_run
import random
folder = Path(sys.argv[1])
with Journal(folder / "runs.db") as journal:
    write_run(journal, random.Random(1))
os.chmod(folder, 0o755)
os.chmod(folder / "runs.db", 0o444)
os.chmod(folder / "runs.db-lock", 0o444)
if not os.getuid():
    os.setuid(65534)
for path in (folder / "runs.db", folder / "new.db"):
    try:
        with Journal(path) as journal:
            write_run(journal, random.Random(1))
    except JournalError as error:
        print("refused", str(path) in str(error))
"""


def test_read_only_journal_and_folder_are_refused(tmp_path: Path) -> None:
    # Of a user whose files these are not, since root may write everywhere.
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    assert run_script(_READ_ONLY, str(tmp_path)) == "refused True\nrefused True\n"


_CLOSED = """
import os, random, sys
from pathlib import Path
from ez_ptc import Journal, JournalError
from tests.journal.sample_runs import write_run
uses = (
    lambda journal: journal.runs(),
    lambda journal: journal.backup(sys.argv[1] + "/copy.db"),
    lambda journal: write_run(journal, random.Random(1)),
)
for mode, *closed in ((0o500,), (0,), (0o500, "runs.db", "runs.db-lock"), (0o700, "runs.db-lock")):
    folder = Path(sys.argv[1], f"{mode}-{len(closed)}")
    folder.mkdir()
    with Journal(folder / "runs.db") as journal:
        write_run(journal, random.Random(1))
    for path in (*folder.iterdir(), folder):
        path.chmod(mode if path == folder else 0o400 if path.name in closed else 0o600)
        if not os.getuid():
            os.chown(path, 65534, 65534)
    if not os.getuid():
        os.seteuid(65534)
    for use in uses:
        try:
            use(Journal(folder / "runs.db"))
        except JournalError as error:
            print(str(folder / "runs.db") in str(error) and "even to read it" in str(error))
    os.seteuid(os.getuid())
    folder.chmod(0o700)
"""


def test_journal_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    assert run_script(_CLOSED, str(tmp_path)) == 12 * "True\n"


def test_unknown_run_is_refused_by_every_method(journal: Journal, toolkit: Toolkit) -> None:
    def decide(run_id: str) -> None:
        journal.decide(run_id, {})

    uses: list[Callable[[str], object]] = [journal.run, journal.events, toolkit.resume, toolkit.replay, decide]
    for use in uses:
        with pytest.raises(JournalError, match=r"no run 'unknown': see Journal\.runs\(\)"):
            use("unknown")


def test_decision_about_another_call_is_refused(journal: Journal, toolkit: Toolkit, effects: Effects) -> None:
    run_id, call_id = _paused(toolkit)
    events = journal.events(run_id)

    for decisions in ({"other": Approve()}, {call_id: Approve(), "other": Approve()}, {call_id: Happened(1)}):
        with pytest.raises(DecisionError, match=r"pending|waits for an approval"):
            journal.decide(run_id, decisions)
        with pytest.raises(DecisionError):
            toolkit.resume(run_id, decisions)
    with pytest.raises(DecisionError, match="expected"):
        toolkit.resume(run_id, {call_id: DidNotHappen()})
    with pytest.raises(ArgumentsError):
        toolkit.resume(run_id, {call_id: Approve({"name": "a", "amount": "much"})})
    assert journal.events(run_id) == events
    assert not effects.lines()
    assert toolkit.resume(run_id, {call_id: Approve()}).output == "a!\n"


def test_second_decider_learns_of_the_first(journal: Journal, toolkit: Toolkit, effects: Effects) -> None:
    run_id, call_id = _paused(toolkit)
    journal.decide(run_id, {call_id: Deny("too much", by="ann")})

    with pytest.raises(DecisionError, match="decided already: deny, by ann, at 20"), Journal(journal.path) as other:
        other.decide(run_id, {call_id: Approve(by="bob")})
    assert "too much" in str(toolkit.resume(run_id).error)
    assert not effects.lines()


def test_finished_run_is_not_resumed_again(toolkit: Toolkit, effects: Effects) -> None:
    run_id, call_id = _paused(toolkit)
    toolkit.resume(run_id, {call_id: Approve()})

    with pytest.raises(JournalError, match="is done: its result is in"):
        toolkit.resume(run_id, {call_id: Approve()})
    assert set(effects.lines().values()) == {1}


def test_toolkit_without_a_tool_is_refused(journal: Journal, toolkit: Toolkit, effects: Effects) -> None:
    @ez_tool(requires_approval=True)
    def transfer(name: str, amount: float, currency: str = "EUR") -> str:
        """Do something else."""
        return name

    run_id, call_id = _paused(toolkit)
    others = effects.tools()[:-1]

    with pytest.raises(ReplayDivergedError, match="has a tool 'transfer', and this toolkit has none"):
        Toolkit(others, journal=journal).resume(run_id, {call_id: Approve()})
    with pytest.raises(ReplayDivergedError, match="'transfer' has changed"):
        Toolkit([*others, transfer], journal=journal).resume(run_id, {call_id: Approve()})
    assert journal.run(run_id).state == "paused"
    assert toolkit.resume(run_id, {call_id: Approve()}).success


def test_two_journals_of_a_process_share_a_file(journal: Journal, toolkit: Toolkit, effects: Effects) -> None:
    run_id, call_id = _paused(toolkit)
    with Journal(journal.path) as other, Toolkit(effects.tools(), journal=other, limits=LIMITS) as second:
        assert other.run(run_id).state == "paused"
        assert second.resume(run_id, {call_id: Approve()}).success
        second.execute("effect('b')")
    assert [run.state for run in journal.runs()] == ["done", "done"]
    assert journal.verify() == 2


def test_forks_of_the_host_go_on_recording(journal: Journal, toolkit: Toolkit, effects: Effects) -> None:
    toolkit.execute("effect('parent')")
    pids: list[int] = []
    for number in range(3):
        pid = os.fork()
        if not pid:
            try:
                assert toolkit.execute(f"effect('child {number}')").success
                journal.close()
                os._exit(0)
            finally:
                os._exit(1)
        pids.append(pid)
    toolkit.execute("effect('parent again')")
    journal.close()
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]

    assert journal.verify() == 5
    assert {run.state for run in journal.runs()} == {"done"}
    assert sum(effects.lines().values()) == 5


@pytest.mark.security
def test_signal_handler_runs_journaled_programs(journal: Journal, toolkit: Toolkit, effects: Effects) -> None:
    """Where it interrupts the journal itself, it gets an error, and the interrupted program goes on."""
    outcomes: list[object] = []

    def handle(number: int, frame: object) -> None:
        try:
            outcomes.append(toolkit.execute("effect('handler')").success)
        except JournalError as error:
            outcomes.append(str(error))

    before = signal.signal(signal.SIGALRM, handle)
    try:
        for number in range(30):
            signal.setitimer(signal.ITIMER_REAL, 0.0005 + number * 0.0004)
            assert toolkit.execute(f"effect('{number}')").success
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert outcomes
    assert [outcome for outcome in outcomes if outcome is not True and "signal handler" not in str(outcome)] == []
    lines = effects.lines()
    assert [lines[f"effect {number}"] for number in range(30)] == [1] * 30
    assert journal.verify() == 30 + outcomes.count(True)


@pytest.fixture
def bounded() -> Iterator[Callable[[], object]]:
    """Return a function that gives this thread a minute, from now on, before it fails."""

    def fail(*_: object) -> None:
        pytest.fail("a program of a signal handler waits without end for the code that the handler interrupted")

    before = signal.signal(signal.SIGALRM, fail)
    try:
        yield partial(signal.alarm, 60)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    ("part", "stride"),
    [("journal", 501), ("journal/locks.py", 47), pytest.param("journal", 7, marks=pytest.mark.security)],
)
def test_journal_interrupted_anywhere_loses_nothing(
    is_first: bool, part: str, stride: int, effects: Effects, bounded: Callable[[], object], tmp_path: Path
) -> None:
    """A signal handler or a finalizer runs a program wherever another one's journal is opened, read or written."""

    outcomes: list[object] = []

    def run_at(at: int) -> int:
        """Return how many instructions an interrupted program took."""
        bounded()
        with (
            Journal(tmp_path / f"{at}.db") as journal,
            Toolkit(effects.tools(), journal=journal, limits=LIMITS) as toolkit,
        ):

            def interrupt() -> None:
                try:
                    outcomes.append(toolkit.execute(f"effect('inner {at}')", 20).success)
                except JournalError as error:
                    outcomes.append(str(error))

            if not is_first:
                assert toolkit.execute(f"effect('first {at}')").success
            count = len(outcomes)
            with Interruption(interrupt, at=at, parts=[part]) as interruption:
                assert toolkit.execute(f"effect('outer {at}')", 20).success
            assert journal.verify() == 1 + outcomes[count:].count(True) + (not is_first)
        assert effects.lines()[f"effect outer {at}"] == 1
        return interruption.steps

    places = range(1, run_at(0), stride)
    for at in places:
        run_at(at)
    assert [outcome for outcome in outcomes if outcome is not True and "signal handler" not in str(outcome)] == []
    assert len(outcomes) > len(places) / 2


def test_damaged_result_is_not_resumed_silently(journal: Journal, toolkit: Toolkit, effects: Effects) -> None:
    result = toolkit.execute("effect('a')\nprint(transfer('b', 1))")
    journal.close()
    database = sqlite3.connect(journal.path)
    with database:
        database.execute("UPDATE events SET payload = x'2262' WHERE kind = 'result'")
    database.close()

    assert result.run_id is not None
    with pytest.raises(JournalCorruptError, match="event 3 of run"):
        toolkit.resume(result.run_id, {result.pending[0].id: Approve()})
    assert effects.lines() == {"effect a": 1}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.sampled(every=2)
def test_diverging_program_raises_its_own_error(is_async: bool, journal: Journal, effects: Effects) -> None:
    with (
        ProcessSandbox(ready=1, paused=0) as sandbox,  # a kept worker would not run the program again
        Toolkit(effects.tools(is_async=is_async), journal=journal, limits=LIMITS, sandbox=sandbox) as toolkit,
    ):
        result = toolkit.execute("effect('a')\nprint(transfer('b', 1))")
        assert result.run_id is not None
        replace_program(journal, result.run_id, "effect('c')\nprint(transfer('b', 1))")
        recorded = list(journal.export(result.run_id))
        with pytest.raises(ReplayDivergedError, match="differs from its record"):
            toolkit.resume(result.run_id, {result.pending[0].id: Approve()})
        exported = [json.loads(line) for line in journal.export(result.run_id)]
        assert exported[: len(recorded)] == list(map(json.loads, recorded))
        assert [event["kind"] for event in exported[len(recorded) :]] == ["claim", "decision"]
        assert journal.verify() == 1
    assert effects.lines() == {"effect a": 1}
