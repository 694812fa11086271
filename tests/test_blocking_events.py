"""Asynchronous events, iterated over from blocking code at its own pace; and interruptions."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from typing import TypeVar

import anyio
import anyio.lowlevel
import pytest

from ez_ptc._sync import BlockingEvents, run_coroutine
from tests.control_c import start_pressing_control_c

T = TypeVar("T")

ORDER: ContextVar[str] = ContextVar("ORDER", default="none")


async def _called(function: Callable[[], T]) -> T:
    return function()


def _on_asyncio(function: Callable[[], T]) -> T:
    # As in a notebook: asyncio.run() would take the first interruption for itself.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_called(function))
    finally:
        loop.close()


def _on_trio(function: Callable[[], T]) -> T:
    return anyio.run(_called, function, backend="trio")


def _without_a_loop(function: Callable[[], T]) -> T:
    return function()


wherever = pytest.mark.parametrize("run", [_without_a_loop, _on_asyncio, _on_trio])
"""Blocking code is called without an event loop, or in the thread of one that runs."""


class Counter:
    """Counts, and keeps a record of how far it was asked to."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.ended = threading.Event()

    async def __call__(self, *, stop: int = 3) -> AsyncGenerator[int]:
        try:
            for number in range(stop):
                await anyio.lowlevel.checkpoint()
                self.made.append(number)
                yield number
            await anyio.sleep_forever()
        finally:
            await anyio.lowlevel.checkpoint()
            self.ended.set()


_earlier: set[threading.Thread] = set()


@pytest.fixture(autouse=True)
def _note_earlier_threads() -> None:
    _earlier.clear()
    _earlier.update(threading.enumerate())


def _threads() -> list[threading.Thread]:
    """Return the threads of this test: one that an earlier test has dropped may be ending."""
    return [thread for thread in {*threading.enumerate()} - _earlier if thread.name == "ez-ptc-coroutine"]


async def _three() -> AsyncGenerator[int]:
    for number in range(3):
        await anyio.lowlevel.checkpoint()
        yield number


@wherever
def test_asynchronous_events_are_iterated_over_from_blocking_code(
    run: Callable[[Callable[[], object]], object],
) -> None:
    assert run(lambda: list(BlockingEvents(_three()))) == [0, 1, 2]
    assert _threads() == []


@wherever
def test_each_event_is_made_when_it_is_asked_for(run: Callable[[Callable[[], object]], object]) -> None:
    counter = Counter()

    def read() -> None:
        events = BlockingEvents(counter())
        assert counter.made == []
        for number in range(3):
            assert next(events) == number
            for thread in _threads():
                thread.join(0.01)
            assert counter.made == list(range(number + 1))
        events.close()
        assert next(events, None) is None

    run(read)
    assert counter.ended.is_set()
    assert _threads() == []


def test_events_see_context_of_first_consumer() -> None:
    async def order() -> AsyncGenerator[str]:
        await anyio.lowlevel.checkpoint()
        yield ORDER.get()

    ORDER.set("A-21")
    assert list(BlockingEvents(order())) == ["A-21"]


@wherever
def test_error_is_raised_once_after_earlier_events(run: Callable[[Callable[[], object]], object]) -> None:
    error = LookupError("no more")

    async def failing() -> AsyncGenerator[int]:
        yield 1
        raise error

    def read() -> None:
        events = BlockingEvents(failing())
        assert next(events) == 1
        with pytest.raises(LookupError) as caught:
            next(events)
        assert caught.value is error
        assert list(events) == []

    run(read)
    assert _threads() == []


@wherever
def test_an_error_of_the_consumer_leaves_nothing_behind(run: Callable[[Callable[[], object]], object]) -> None:
    counter = Counter()

    def read() -> None:
        for _ in BlockingEvents(counter()):
            message = "enough"
            raise ValueError(message)

    with pytest.raises(ValueError, match="enough"):
        run(read)
    gc.collect()
    assert counter.ended.wait(20)
    assert counter.made == [0]
    for thread in _threads():
        thread.join(20)
    assert _threads() == []


def test_a_dropped_iterator_ends_its_thread() -> None:
    counter = Counter()
    events = BlockingEvents(counter())
    assert next(events) == 0
    (thread,) = _threads()
    del events
    gc.collect()
    thread.join(20)
    assert not thread.is_alive()
    assert counter.ended.is_set()
    assert counter.made == [0]


def test_an_iterator_that_was_never_asked_starts_nothing() -> None:
    counter = Counter()
    events = BlockingEvents(counter())
    events.close()
    assert list(events) == []
    assert (counter.made, _threads()) == ([], [])


@wherever
def test_interruption_stops_the_producer(run: Callable[[Callable[[], object]], object]) -> None:
    ended = threading.Event()

    async def interrupting() -> AsyncGenerator[int]:
        try:
            start_pressing_control_c(ended)
            await anyio.sleep_forever()
            yield 1
        finally:
            ended.set()

    def read() -> None:
        events = BlockingEvents(interrupting())
        with pytest.raises(KeyboardInterrupt):
            next(events)
        assert ended.is_set()
        assert list(events) == []

    run(read)
    assert _threads() == []


def test_another_thread_may_close_while_an_event_is_awaited() -> None:
    waiting = threading.Event()

    async def hanging() -> AsyncGenerator[int]:
        waiting.set()
        await anyio.sleep_forever()
        yield 1

    events = BlockingEvents(hanging())
    closing = threading.Thread(target=lambda: (waiting.wait(20), events.close()))
    closing.start()
    assert list(events) == []
    closing.join(20)
    assert _threads() == []


def test_producer_may_close_its_events() -> None:
    async def closing() -> AsyncGenerator[int]:
        yield 1
        events.close()
        await anyio.lowlevel.checkpoint()
        yield 2

    events = BlockingEvents(closing())
    assert list(events) == [1]


def test_a_swallowed_cancellation_makes_no_further_event() -> None:
    waiting, made = threading.Event(), list[int]()

    async def stubborn() -> AsyncGenerator[int]:
        try:
            waiting.set()
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            made.append(1)
        yield 1
        made.append(2)
        yield 2

    events = BlockingEvents(stubborn())
    closing = threading.Thread(target=lambda: (waiting.wait(20), events.close()))
    closing.start()
    list(events)
    closing.join(20)
    assert made == [1]
    assert _threads() == []


def test_interpreter_exits_with_open_iterator() -> None:
    code = """
import sys
from ez_ptc._sync import BlockingEvents

async def endless():
    while True:
        yield 1

events = BlockingEvents(endless())
next(events)
sys.exit(7)
"""
    ended = subprocess.run([sys.executable, "-W", "error", "-c", code], check=False, timeout=60, capture_output=True)
    assert (ended.returncode, ended.stderr) == (7, b"")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_iterator_in_fork_reports_missing_thread() -> None:
    code = """
import os, sys, warnings
from ez_ptc._sync import BlockingEvents

async def endless():
    while True:
        yield 1

warnings.simplefilter("ignore")
events = BlockingEvents(endless())
next(events)
if os.fork() == 0:
    try:
        next(events)
    except RuntimeError as error:
        os._exit(8 if "(a fork)" in str(error) else 1)
_, status = os.wait()
assert next(events) == 1
sys.exit(os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 8


@pytest.mark.parametrize("run", [_on_asyncio, _on_trio])
def test_an_interrupted_call_cancels_its_coroutine(run: Callable[[Callable[[], object]], object]) -> None:
    causes: list[BaseException] = []
    ended = threading.Event()

    async def interrupting() -> None:
        try:
            start_pressing_control_c(ended)
            await anyio.sleep_forever()
        except asyncio.CancelledError as error:
            ended.set()
            causes.append(error)
            raise

    def interrupted() -> None:
        with pytest.raises(KeyboardInterrupt) as caught:
            run_coroutine(interrupting)
        assert [caught.value.__cause__] == causes

    run(interrupted)
    assert _threads() == []


@pytest.mark.parametrize("in_task", [False, True])
def test_interruption_in_coroutine_is_raised_at_call(in_task: bool) -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    async def interrupting() -> None:
        if in_task:
            await asyncio.create_task(interrupted())
        await interrupted()

    def call() -> None:
        with pytest.raises(KeyboardInterrupt):
            run_coroutine(interrupting)

    _on_trio(call)
    gc.collect()
