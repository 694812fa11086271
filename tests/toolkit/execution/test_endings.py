"""The first ending of a program counts: a program whose time is up does not pause, and none of its calls runs later."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio
import pytest

from ez_ptc import DecisionError, ExecutionResult, JournalError, Limits, Toolkit, ez_tool

_WAIT: Final = "import threading\nthread = threading.Thread(target=lambda: pay(1))\nthread.start()\n"

PROGRAMS: Final = {
    "a loop": f"{_WAIT}while True: pass",
    "a loop that is caught": f"{_WAIT}try:\n    while True: pass\nexcept BaseException:\n    thread.join()",
    "a slow tool in parallel": "parallel(lambda: pay(1), lambda: hang())",
    "a slow tool after a thread": f"{_WAIT}hang()",
    "a busy task": (
        "import asyncio\nasync def spin():\n    while True: pass\n"
        "async def main():\n    await asyncio.gather(asyncio.to_thread(pay, 1), spin())\nasyncio.run(main())"
    ),
}

paid: list[int] = []


@pytest.fixture
def may_end() -> Iterator[threading.Event]:
    paid.clear()
    event = threading.Event()
    yield event
    event.set()


def _toolkit(path: Path, may_end: threading.Event) -> Toolkit:
    @ez_tool(requires_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    @ez_tool
    def hang() -> None:
        """Hang."""
        may_end.wait(60)

    return Toolkit([pay, hang], journal=path / "runs.db", limits=Limits(timeout=0.5, grace=0.5))


def _execute(toolkit: Toolkit, program: str, way: str) -> ExecutionResult:
    if way == "blocking":
        return toolkit.execute(program)
    if way == "session":
        with toolkit.session() as session:
            return session.execute(program)
    if way == "streamed":
        (*_, ended) = toolkit.stream(program)
        result = getattr(ended, "result", None)
        assert isinstance(result, ExecutionResult)
        return result
    return anyio.run(toolkit.aexecute, program)


@pytest.mark.parametrize("way", ["blocking", "awaited", "session", "streamed"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.sampled(every=3)
def test_program_whose_time_is_up_never_pauses(
    program: str, way: str, tmp_path: Path, may_end: threading.Event
) -> None:
    with _toolkit(tmp_path, may_end) as toolkit:
        result = _execute(toolkit, program, way)
        assert (result.status, result.pending) == ("failed", ())
        assert str(result.error).startswith("TimeoutError: the program timed out after 0.5 s")
        assert ("the outcome of hang is unknown" in str(result.error)) == ("hang()" in program)
        journal = toolkit.open_journal()
        run = journal.run(str(result.run_id))
        assert (run.state, run.pending) == ("failed", ())
        (waiting,) = [event for event in journal.events(run.id) if event.kind == "pending"]
        with pytest.raises(DecisionError, match="is failed"):
            journal.decide(run.id, {f"{run.id}:{waiting.path}": True})
        with pytest.raises(JournalError, match=r"is failed|no program of this session waits"):
            toolkit.resume(run.id, {f"{run.id}:{waiting.path}": True})
        may_end.set()
    assert paid == []


def test_late_result_of_an_ended_run_is_not_recorded(tmp_path: Path, may_end: threading.Event) -> None:
    with _toolkit(tmp_path, may_end) as toolkit:
        result = toolkit.execute("hang()")
        journal = toolkit.open_journal()
        before = journal.events(str(result.run_id))
        may_end.set()
        assert toolkit.execute("1 + 1").return_value == 2
        assert journal.events(str(result.run_id)) == before
    assert before[-1].kind == "end"
