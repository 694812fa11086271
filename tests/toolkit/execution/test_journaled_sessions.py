"""Sessions with a journal: their variables outlive every process."""

from pathlib import Path

import pytest

from ez_ptc.errors import JournalError, ReplayDivergedError
from ez_ptc.journal.journal import Journal
from ez_ptc.sandbox.protocol.events import OutputDelta, ProgramEnded
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decorators import ez_tool

counted: list[int] = []
paid: list[str] = []


@pytest.fixture(autouse=True)
def nothing_is_counted() -> None:
    counted.clear()
    paid.clear()


@ez_tool
def count() -> int:
    """Count."""
    counted.append(1)
    return len(counted)


@ez_tool
async def acount() -> int:
    """Count."""
    counted.append(1)
    return len(counted)


@ez_tool(requires_approval=True)
def pay(to: str) -> str:
    """Pay."""
    paid.append(to)
    return f"paid {to}"


def make(path: Path) -> Toolkit:
    """Return a toolkit with a journal."""
    return Toolkit([count, pay], journal=path / "runs.db")


def test_another_process_continues_a_session(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit, toolkit.session() as session:
        before = session.execute("import random\nx = count(), random.random()\nx").return_value
        session.execute("def double(n):\n    return 2 * n")
        assert session.id is not None
        name = session.id
    with make(tmp_path) as toolkit, toolkit.session(name) as session:
        assert session.execute("x").return_value == before
        assert session.execute("double(count())").return_value == 4
    assert len(counted) == 2


def test_program_that_is_killed_costs_no_variables(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit, toolkit.session() as session:
        session.execute("x = count()")
        failed = session.execute("x = 7\nwhile True:\n    try:\n        x += 1\n    except BaseException: pass", 0.3)
        assert failed.error == "TimeoutError: the program timed out after 0.3 s"
        assert session.execute("x").return_value == 1
        assert session.execute("1 / 0").status == "failed"
        assert session.execute("x").return_value == 1
    assert len(counted) == 1


def test_paused_program_pauses_its_session(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit, toolkit.session() as session:
        session.execute("x = count()")
        paused = session.execute("y = pay('Ada')\n(x, y)")
        assert paused.status == "paused"
        with pytest.raises(JournalError, match="the session waits for its program"):
            session.execute("1")
        assert session.resume({paused.pending[0].id: True}).return_value == (1, "paid Ada")
        assert session.execute("(x, y)").return_value == (1, "paid Ada")
        with pytest.raises(JournalError, match="no program of this session waits"):
            session.resume()
    assert (counted, paid) == ([1], ["Ada"])


def test_toolkit_resumes_a_program_of_a_session(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit, toolkit.session() as session:
        session.execute("x = count()")
        paused = session.execute("y = pay('Ada')\n(x, y)")
        name = session.id
    with make(tmp_path) as toolkit:
        assert paused.run_id is not None
        assert toolkit.resume(paused.run_id, {paused.pending[0].id: True}).return_value == (1, "paid Ada")
        with toolkit.session(name) as session:
            assert session.execute("(x, y)").return_value == (1, "paid Ada")
    assert (counted, paid) == ([1], ["Ada"])


def test_two_users_of_one_session_do_not_mix(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit, toolkit.session() as session:
        session.execute("x = 1")
        with toolkit.session(session.id) as other:
            other.execute("x = 2")
        with pytest.raises(JournalError, match="was continued elsewhere"):
            session.execute("count()")
    assert counted == []


def test_program_of_a_session_is_replayed_after_those_before(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit:
        with toolkit.session() as session:
            session.execute("x = count()")
            printed = session.execute("print(x, count())")
            session.execute("x = 0")
        assert printed.run_id is not None
        assert Journal(tmp_path / "runs.db").replay(printed.run_id, toolkit).output == printed.output == "1 2\n"
    assert len(counted) == 2


def test_changed_tool_refuses_to_rebuild(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit, toolkit.session() as session:
        session.execute("x = count()")
        name = session.id

    @ez_tool(name="count")
    def changed(by: int = 1) -> int:
        """Count."""
        return by

    with (
        Toolkit([changed, pay], journal=tmp_path / "runs.db") as toolkit,
        toolkit.session(name) as session,
        pytest.raises(ReplayDivergedError, match="the tool 'count' has changed"),
    ):
        session.execute("x")


def test_unknown_session_is_an_error(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit, pytest.raises(JournalError, match="the journal has no session 'x'"):
        toolkit.session("x")
    with Toolkit([count]) as toolkit, pytest.raises(JournalError, match="this toolkit has no journal"):
        toolkit.session("x")


async def test_session_runs_in_an_event_loop(anyio_backend: str, tmp_path: Path) -> None:
    del anyio_backend
    async with Toolkit([acount], journal=tmp_path / "runs.db") as toolkit:
        async with toolkit.session() as session:
            assert (await session.aexecute("x = acount()\nx")).return_value == 1
            name = session.id
        async with toolkit.session(name) as session:
            events = [event async for event in session.astream("print(x)")]
    assert [event.text for event in events if isinstance(event, OutputDelta)] == ["1\n"]
    assert isinstance(events[-1], ProgramEnded)
    assert counted == [1]


def test_session_without_a_journal_has_no_id() -> None:
    with Toolkit([count]) as toolkit, toolkit.session() as session:
        assert session.id is None
        with pytest.raises(JournalError, match="this session has no journal"):
            session.resume()


def test_clock_of_a_session_moves_on_and_is_rebuilt(tmp_path: Path) -> None:
    with make(tmp_path) as toolkit, toolkit.session() as session:
        first = session.execute("import time\nfirst = time.time()\nfirst").return_value
        count = session.execute("sum(range(10**6))").duration_ms
        second = session.execute("second = time.time()\nsecond").return_value
        name = session.id
    assert count > 0
    assert second - first > count / 1000
    with make(tmp_path) as toolkit, toolkit.session(name) as session:
        assert session.execute("first, second").return_value == (first, second)
