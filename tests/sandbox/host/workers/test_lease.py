"""The life of a worker and of its lease: what changes is in the tables of their docstrings, and nothing else does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Final, cast

import pytest
from hypothesis import given

from ez_ptc.sandbox.host.workers.checkers import Checkers
from ez_ptc.sandbox.host.workers.handle import WorkerHandle
from ez_ptc.sandbox.host.workers.lease import Lease
from ez_ptc.sandbox.host.workers.ready import ReadyWorkers
from ez_ptc.sandbox.host.workers.released_workers import ReleasedWorkers
from ez_ptc.sandbox.protocol.records import worker_state
from ez_ptc.sandbox.protocol.records.worker_state import CHANGES, WorkerChange, WorkerLife, WorkerState
from tests.state_tables import names_of, read_table, walks

WORKERS: Final = read_table(worker_state)
LEASES: Final = read_table(Lease)


class Lender:
    """Lends workers, and notes how they come back."""

    closed = ""

    def __init__(self) -> None:
        self.released: list[bool] = []

    def release(self, worker: WorkerHandle, *, is_clean: bool) -> bool:
        del worker
        self.released.append(is_clean)
        return len(self.released) == 1

    def order_ready(self) -> None:
        pass

    def exit_reason(self, worker: WorkerHandle) -> None:
        del worker


@pytest.fixture(scope="module")
def ended() -> Iterator[int]:
    """The pidfd of a process that has ended."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        pidfd = os.pidfd_open(process.pid)
    yield pidfd
    os.close(pidfd)


def worker_of(pidfd: int) -> tuple[WorkerHandle, socket.socket]:
    """Return the handle of a process that has ended, and the other end of its socket."""
    ours, theirs = socket.socketpair()
    return WorkerHandle(1, ours.detach(), os.dup(pidfd)), theirs


def test_docstring_shows_the_table_of_workers() -> None:
    assert names_of(CHANGES) == WORKERS


class ClosedMeanwhile(WorkerLife):
    """A worker that another thread closes between the look at its state and the change to READY."""

    __slots__ = ("current",)

    @property
    def state(self) -> WorkerState:
        return self.current

    @state.setter
    def state(self, state: WorkerState) -> None:
        if state is WorkerState.READY:
            self.change("close")
        self.current = state


def test_worker_closed_during_another_change_stays_closed() -> None:
    worker = ClosedMeanwhile()
    assert not worker.change("ready")
    assert worker.state is WorkerState.CLOSED
    assert not worker.change("lend")


@given(walk=walks(WORKERS))
def test_worker_follows_its_table_on_every_walk(ended: int, walk: list[str]) -> None:
    worker, far = worker_of(ended)
    state = "MADE"
    for name in walk:
        after = WORKERS[state].get(name)
        if name == "close":
            worker.close()
        else:
            assert worker.change(cast("WorkerChange", name)) is (after is not None)
        state = after or state
        assert worker.state.name == state
        assert worker.ended
    worker.close()
    far.close()


@given(walk=walks(LEASES))
def test_lease_follows_its_table_on_every_walk(ended: int, walk: list[str]) -> None:
    worker, far = worker_of(ended)
    lender, state = Lender(), "LENT"
    lease = Lease(lender, worker, Checkers())
    lease.is_clean = True
    for name in walk:
        after, before = LEASES[state].get(name), list(lender.released)
        outcome = getattr(lease, name)(*(["it was closed"] if name == "withdraw" else []))
        if name != "forget":
            assert outcome is (after is not None)
        released = [state == "LENT"] if name == "release" and after else []
        assert lender.released == before + released
        state = after or state
        assert lease.state.name == state
    # The worker of a lease that is over may have another owner: what comes too late leaves its socket alone.
    far.settimeout(0)
    if "withdraw" in walk and walk[0] == "withdraw":
        assert far.recv(1) == b""
    else:
        with pytest.raises(BlockingIOError):
            far.recv(1)
    lease.forget()
    worker.close()
    far.close()


def test_worker_closed_in_any_place_is_lent_to_no_one(ended: int) -> None:
    ready, released = ReadyWorkers(can_prepare=False), ReleasedWorkers()
    worker, far = worker_of(ended)
    ready.add(worker)
    assert ready.pop() is worker
    lease = Lease(Lender(), worker, ready.checkers)
    assert worker.state.name == "LENT"
    worker.close()
    lease.forget()
    ready.put_back(worker)
    assert (len(ready), worker.state.name) == (0, "CLOSED")
    released.add(worker, ready, is_clean=True)
    released.end_all()
    assert worker.state.name == "CLOSED"
    far.close()
