"""Collections that other threads change while they are read, without a lock.

Python 3.11 may collect garbage in the middle of `tuple(...)`. Finalizers run then, and other threads.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from ez_ptc._closing import OpenObjects
from ez_ptc._forks import around_fork
from ez_ptc.sandbox.host.workers.capacity import Capacity, Shares
from ez_ptc.sandbox.host.workers.waiting import QueueTicket
from ez_ptc.sandbox.wasm.instance import take_all
from ez_ptc.tools.call_lifetime import CallLife, RunningCalls


@contextmanager
def changing(change: Callable[[], object]) -> Generator[None]:
    """Return a context with a collection of garbage at nearly each new object, and a change at each collection."""

    def collect(phase: str, _: object) -> None:
        if phase == "start":
            change()

    threshold, was_enabled = gc.get_threshold(), gc.isenabled()
    gc.callbacks.append(collect)
    gc.set_threshold(1)
    gc.enable()
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(collect)
        if not was_enabled:
            gc.disable()


def queue_cases() -> tuple[Callable[[], object], Callable[[], object]]:
    places = [QueueTicket(lambda: None, None, owner) for owner in ("a", "b", "c")]
    queue, shares = deque(places), Shares(Capacity(ready=0, running=9, waiting=9, seconds=1))

    def read() -> None:
        assert shares.find_next(queue, []) in places
        assert shares.may_wait(places[0], queue)

    return read, lambda: queue.rotate() or queue.append(queue.popleft())


def call_cases() -> tuple[Callable[[], object], Callable[[], object]]:
    running = RunningCalls()
    running.begin("pay", CallLife())

    def change() -> None:
        running.begin("pay", CallLife())

    return lambda: running.check("pay"), change


class Target:
    """An object for which something is to be done at a fork."""


def fork_cases() -> tuple[Callable[[], object], Callable[[], object]]:
    kept: list[Target] = []

    def change() -> None:
        kept.append(Target())
        around_fork(kept[-1], before=lambda _: None, after=lambda _: None)

    def read() -> None:
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)

    change()
    return read, change


def open_cases() -> tuple[Callable[[], object], Callable[[], object]]:
    kept = [Target()]
    opened = OpenObjects[Target]()
    opened.add(kept[0])

    def change() -> None:
        kept.append(Target())
        opened.add(kept[-1])

    def read() -> None:
        assert kept[0] in opened.read()

    return read, change


# Python 3.12 warns of it.
@pytest.mark.filterwarnings("ignore:.* is multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("make", [queue_cases, call_cases, fork_cases, open_cases])
@pytest.mark.parametrize("count", [1, 30])
def test_collection_that_changes_is_read_whole(
    make: Callable[[], tuple[Callable[[], object], Callable[[], object]]], count: int
) -> None:
    if make is fork_cases:
        count = 3
    read, change = make()
    with changing(change):
        for _ in range(count):
            gc.collect()  # and with it the tuples that Python has in reserve
            read()


def test_no_delivery_to_an_instance_is_lost() -> None:
    """Replies that arrived while others were read left their program waiting until its time was up."""
    later = [b"a", b"b", b"c"]
    inbox = deque([b"first "])

    def deliver(_: object, event: str, __: object) -> None:
        # Between any two steps, as other threads do.
        if event == "c_return" and later:
            inbox.append(later.pop(0))

    sys.setprofile(deliver)
    try:
        taken = take_all(inbox)
    finally:
        sys.setprofile(None)
    assert taken + take_all(inbox) == b"first abc"
