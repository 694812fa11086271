"""Polling before sleeping, on a real pair of sockets."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from ez_ptc.sandbox.worker.spinning import Spinner

if TYPE_CHECKING:
    from collections.abc import Iterator

# Long enough for any machine to look once in it, and to find the bytes that are there.
_LONG = 30.0


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield a socket that does not block, and the one that it reads from."""
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        yield here, there


def _count_reads_without_a_look(spinner: Spinner, here: socket.socket) -> int:
    """Return how many reads sleep at once before one of them looks, which finds nothing."""
    looks: list[int] = []

    def look(size: int) -> bytes:
        looks.append(size)
        return here.recv(size)

    for reads in range(1_000):
        assert spinner.poll(1e-9, look, 64) is None
        if looks:
            return reads
    message = "the spinner never looked again"
    raise AssertionError(message)


def test_bytes_that_are_there_come_at_once(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends
    there.send(b"hello")
    assert Spinner().poll(_LONG, here.recv, 64) == b"hello"


def test_looks_become_rarer_after_each_failure(ends: tuple[socket.socket, socket.socket]) -> None:
    here, _ = ends
    spinner = Spinner()
    pauses = [_count_reads_without_a_look(spinner, here) for _ in range(9)]
    assert pauses == [0, 1, 3, 7, 15, 31, 63, 63, 63]


def test_success_forgets_the_failures(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends
    spinner = Spinner()
    for _ in range(4):
        _count_reads_without_a_look(spinner, here)
    there.send(b"hello")
    while spinner.poll(_LONG, here.recv, 64) is None:
        pass
    assert [_count_reads_without_a_look(spinner, here) for _ in range(2)] == [0, 1]


def test_bytes_that_come_late_count_as_failure(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends
    spinner = Spinner()
    there.send(b"hello")
    # The first look ends more than a nanosecond after the beginning.
    assert spinner.poll(1e-9, here.recv, 64) == b"hello"
    assert _count_reads_without_a_look(spinner, here) == 1
