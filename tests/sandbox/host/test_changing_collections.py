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
        around_fork(kept[-1], before=lambda _, __: True, after=lambda _: None)

    def read() -> None:
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)

    change()
    return read, change


# Python 3.12 warns of it.
@pytest.mark.filterwarnings("ignore:.* is multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("make", [queue_cases, call_cases, fork_cases])
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


@contextmanager
def interleaving(change: Callable[[], object]) -> Generator[None]:
    """Return a context with a change before and after each call, as other threads may make it."""

    def interrupt(frame: object, event: str, argument: object) -> None:
        del frame, event, argument
        change()

    sys.setprofile(interrupt)
    try:
        yield
    finally:
        sys.setprofile(None)


def test_no_delivery_to_an_instance_is_lost() -> None:
    """Replies that arrived while others were read left their program waiting until its time was up."""
    delivered, inbox = bytearray(), deque[bytes]()

    def deliver() -> None:
        if len(delivered) < 100:
            delivered.append(len(delivered))
            inbox.append(bytes(delivered[-1:]))

    with interleaving(deliver):
        taken = take_all(inbox)
    assert taken + take_all(inbox) == delivered


def test_open_objects_are_read_while_others_are_added() -> None:
    kept = [Target(), Target()]
    opened = OpenObjects[Target]()
    for target in kept:
        opened.add(target)

    def change() -> None:
        kept.append(Target())
        opened.add(kept[-1])

    with interleaving(change):
        living = opened.read()
    assert {*kept[:2]} <= {*living} <= {*kept}
