"""Polling before sleeping, on a real pair of sockets."""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

import pytest

from ez_ptc.sandbox.protocol.both_ends.spinning import Spinner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Long enough for any machine to look once in it, and to find the bytes that are there.
_LONG = 30.0


class _Reader:
    """One end of a pair of sockets, and how often it was polled."""

    def __init__(self, here: socket.socket, there: socket.socket) -> None:
        poll = select.poll()
        poll.register(here, select.POLLIN)
        self._poll: Callable[[int], object] = poll.poll
        self._here, self._there = here, there
        self.looks = 0

    def poll(self, timeout_ms: int) -> object:
        self.looks += 1
        return self._poll(timeout_ms)

    def fill(self) -> None:
        self._there.send(b"hello")

    def drain(self) -> None:
        self._here.recv(64)


@pytest.fixture
def reader() -> Iterator[_Reader]:
    here, there = socket.socketpair()
    with here, there:
        yield _Reader(here, there)


def _count_reads_without_a_look(spinner: Spinner, reader: _Reader) -> int:
    """Return how many reads sleep at once before one of them looks, for a nanosecond."""
    before = reader.looks
    for reads in range(1_000):
        spinner.wait(1e-9, reader.poll)
        if reader.looks > before:
            return reads
    message = "the spinner never looked again"
    raise AssertionError(message)


def test_bytes_that_are_there_end_the_wait(reader: _Reader) -> None:
    reader.fill()
    Spinner().wait(_LONG, reader.poll)
    assert reader.looks == 1


def test_looks_become_rarer_after_each_failure(reader: _Reader) -> None:
    spinner = Spinner()
    pauses = [_count_reads_without_a_look(spinner, reader) for _ in range(9)]
    assert pauses == [0, 1, 3, 7, 15, 31, 63, 63, 63]


def test_success_forgets_the_failures(reader: _Reader) -> None:
    spinner = Spinner()
    for _ in range(4):
        _count_reads_without_a_look(spinner, reader)
    reader.fill()
    before = reader.looks
    while reader.looks == before:
        spinner.wait(_LONG, reader.poll)
    reader.drain()
    assert [_count_reads_without_a_look(spinner, reader) for _ in range(2)] == [0, 1]


def test_bytes_that_come_late_count_as_failure(reader: _Reader) -> None:
    spinner = Spinner()
    reader.fill()
    # The first look ends more than a nanosecond after the beginning.
    assert [_count_reads_without_a_look(spinner, reader) for _ in range(2)] == [0, 1]
