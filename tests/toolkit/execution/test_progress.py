"""`Context.progress` in tools, and the events it becomes."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from ez_ptc import CallEnded, CallProgress, CallStarted, Context, ScriptedProvider, ToolCall, Toolkit, ez_tool, llm
from ez_ptc.sandbox.protocol.events import ProgramEnded, ProgramEvent
from ez_ptc.toolkit.execution.observing import program_events

# As a plain name, for type checkers know only that it marks parameters.
context: Any = Context
kept: list[Any] = []
begun: list[str] = []


@ez_tool
def load(name: str, count: int = 3) -> str:
    """Load parts."""
    begun.append(name)
    for number in range(1, count + 1):
        context.progress(number, count, f"{name} {number}")
    return name


@ez_tool
async def load_later(name: str) -> str:
    """Load parts, in time."""
    context.progress(1, message=name)
    await anyio.lowlevel.checkpoint()
    context.progress(done=2, total=None)
    return name


@ez_tool(requires_approval=True)
def pay(amount: int) -> int:
    """Pay."""
    context.progress(amount)
    return amount


def reports(events: list[Any]) -> list[tuple[str, float, float | None, str | None]]:
    return [(event.tool, event.done, event.total, event.message) for event in events if isinstance(event, CallProgress)]


async def awaited(toolkit: Toolkit, code: str) -> list[ProgramEvent]:
    return [event async for event in toolkit.astream(code)]


@pytest.mark.parametrize("backend", ["", "asyncio", "trio"])
def test_progress_is_an_event_between_start_and_end(backend: str) -> None:
    code = "load('a')\nload_later('b')"
    with Toolkit([load, load_later]) as toolkit:
        if backend:
            events = anyio.run(awaited, toolkit, code, backend=backend)
        else:
            events = list(toolkit.stream(code))
    names = [type(event).__name__ for event in events]
    assert names == ["CallStarted", "CallProgress", "CallProgress", "CallEnded"] * 2 + ["ProgramEnded"]
    ids = {event.id for event in events[:4] if isinstance(event, CallStarted | CallProgress | CallEnded)}
    assert len(ids) == 1
    # The report between the first and the last one came too soon.
    first, last = ("load", 1, 3, "a 1"), ("load", 3, 3, "a 3")
    assert reports(events) == [first, last, ("load_later", 1, None, "b"), ("load_later", 2, None, None)]


def test_each_event_names_its_own_call() -> None:
    with Toolkit([load]) as toolkit:
        events = list(toolkit.stream("parallel((load, 'a'), (load, 'b'), (load, 'c'))"))
    names = {event.id: event.args[0] for event in events if isinstance(event, CallStarted)}
    told = [(names[event.id], event.message) for event in events if isinstance(event, CallProgress)]
    assert sorted(told) == [(name, f"{name} {number}") for name in "abc" for number in (1, 3)]


def test_calls_of_conversations_report_progress() -> None:
    calls = [ToolCall("c1", "load", {"name": "a"}), ToolCall("c2", "load", {"name": "b"})]
    stream = llm().tool(load).provider(ScriptedProvider(calls, "Done.")).stream("Load them.")
    told = [(event.id, event.parent, event.message) for event in stream if isinstance(event, CallProgress)]
    assert sorted(told) == [("c1", "", "a 1"), ("c1", "", "a 3"), ("c2", "", "b 1"), ("c2", "", "b 3")]
    program = ToolCall("c1", "execute_tools", {"code": "load('a')"})
    with Toolkit([load]) as toolkit, toolkit.session() as session:
        events = list(llm().toolkit(toolkit).provider(ScriptedProvider(program, "Done.")).stream("Load it."))
        assert reports(list(session.stream("load('b')"))) == [("load", 1, 3, "b 1"), ("load", 3, 3, "b 3")]
    assert [event.parent for event in events if isinstance(event, CallProgress)] == ["c1", "c1"]


def test_progress_is_ten_events_a_second_at_most() -> None:
    with Toolkit([load]) as toolkit:
        events = list(toolkit.stream("load('a', 30_000)"))
    [ended] = [event for event in events if isinstance(event, CallEnded)]
    told = reports(events)
    assert 2 <= len(told) <= 2 + 8 * ended.duration_ms / 1000
    assert told[-1] == ("load", 30_000, 30_000, "a 30000")


def test_resumed_run_repeats_no_progress(tmp_path: Path) -> None:
    begun.clear()
    with Toolkit([load, pay], journal=tmp_path / "runs.db") as toolkit:
        code = "load('a')\nprint(pay(7))"
        events = list(toolkit.stream(code))
        result = cast("ProgramEnded", events[-1]).result
        run_id = str(result.run_id)
        assert [report[0] for report in reports(events)] == ["load", "load"]
        seen: list[Any] = []

        async def resume() -> None:
            decisions = {result.pending[0].id: True}
            run = partial(toolkit.aresume, run_id, decisions)
            seen.extend([event async for event in program_events(run)])

        anyio.run(resume)
        ended = toolkit.open_journal().run(run_id).result
        assert ended is not None
        assert ended.output == "7\n"
    assert reports(seen) == [("pay", 7, None, None)]
    assert begun == ["a"]


@pytest.mark.parametrize("timeout", [None, 20], ids=["", "in a thread for its timeout"])
def test_progress_of_other_threads_counts_until_the_end(timeout: float | None) -> None:
    @ez_tool(timeout=timeout)
    def crawl() -> None:
        """Report from another thread."""
        kept.append(context.progress)
        thread = threading.Thread(target=context.progress, args=(5, 9, "thread"))
        thread.start()
        thread.join()

    with Toolkit([crawl, load]) as toolkit:
        events: list[ProgramEvent] = []
        for event in toolkit.stream("crawl()\nload('a')"):
            events.append(event)
            if isinstance(event, CallEnded):
                kept[-1](6, 9, "too late")
    assert reports(events)[0] == ("crawl", 5, 9, "thread")
    assert len(reports(events)) == 3
    assert context.progress is not kept.pop()


def test_unusable_progress_is_refused_with_its_reason() -> None:
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((float("nan"),), "expected done to be a number from 0 to 2**53, got nan"),
        ((float("inf"),), "got inf"),
        ((-1,), "got -1"),
        ((10**400,), "expected done to be a number from 0 to 2**53, got "),
        ((True,), "expected done to be a number, got bool True"),
        (("1",), "expected done to be a number, got str '1'"),
        ((1, "9"), "expected total to be a number, got str '9'"),
        ((1, float("-inf")), "expected total"),
        ((1, 2, 3), "expected the message to be a str, got int 3"),
        ((None,), "expected done to be a number, got "),
    ]

    @ez_tool
    def report(number: int) -> None:
        """Report."""
        context.progress(*wrong[number][0])

    with Toolkit([report]) as toolkit:
        for number, (values, expected) in enumerate(wrong):
            with pytest.raises((TypeError, ValueError)) as raised:
                context.progress(*values)
            assert expected in str(raised.value)
            result = toolkit.execute(f"report({number})")
            assert expected in str(result.error)


def test_usable_progress_is_bounded() -> None:
    @ez_tool
    def report() -> None:
        """Report."""
        context.progress(Fraction(1, 2), 0, "\ud800" + "x" * 1_000_000)

    with Toolkit([report]) as toolkit:
        [(_, done, total, message)] = reports(list(toolkit.stream("report()")))
    assert (done, total, type(done)) == (0.5, 0, float)
    assert message == f"\ufffd{'x' * 498}…"
