"""A thread that runs beside the holder of the baton misses no reply, and its calls come in their order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from ez_ptc.sandbox.worker.repeating.replies import OrderedReplies
from ez_ptc.sandbox.worker.running.link import Link, Pending
from ez_ptc.sandbox.worker.schedule import Schedule


class _Clock:
    now = 0


class _Link:
    """The link of a program; a wait for a reply fails the test."""

    room = 1

    def __init__(self) -> None:
        self.writing = threading.Lock()
        self.schedule = Schedule({"calls": [["1", "v1"]], "events": [["1", 0]]})
        self.holds = False
        self.written: list[bytes] = []
        self.on_number: Callable[[], object] = list
        self._outstanding: Iterator[int] = iter(())

    def begin_full(self) -> None:
        """Have no room for a call at the first look alone."""
        self._outstanding = iter([self.room])

    @property
    def outstanding(self) -> int:
        return next(self._outstanding, 0)

    @outstanding.setter
    def outstanding(self, number: int) -> None:
        del number

    def next_number(self) -> int:
        self.on_number()
        return 1

    def write(self, body: bytes, attached: object = ()) -> None:
        del attached
        self.written.append(body)

    send_body = write

    def release(self) -> None:
        pass

    def receive_reply(self) -> tuple[int, bytes]:
        message = "it waits for a reply that no one sends"
        raise AssertionError(message)


class _LatePending:
    """A call whose reply comes right after the first look for it."""

    notify: Callable[[], object] | None = None

    def __init__(self) -> None:
        self._looks = iter([None])

    @property
    def reply(self) -> bytes | None:
        return next(self._looks, b"v1")


@pytest.fixture
def link() -> _Link:
    return _Link()


@pytest.fixture
def replies(link: _Link) -> OrderedReplies:
    replies = OrderedReplies(cast("Link", link), _Clock())
    replies.begin()
    replies.baton.threads = 3
    return replies


def test_reply_between_the_look_and_the_wait_is_noticed(replies: OrderedReplies) -> None:
    replies.wait(cast("Pending", _LatePending()))


def test_room_between_the_look_and_the_wait_is_noticed(replies: OrderedReplies, link: _Link) -> None:
    link.begin_full()

    replies.start(b"}", "1")

    assert len(link.written) == 1


def test_call_arrives_only_with_its_recorded_reply(replies: OrderedReplies, link: _Link) -> None:
    """Before, another thread would wait for the reply from the host, or drop its event."""
    states: list[Any] = []
    link.on_number = lambda: states.append(([*replies.waiting], link.schedule.is_repeating))

    replies.start(b"}", "1")

    assert states == [([], True)]
    assert ([*replies.waiting], link.schedule.is_repeating) == (["1"], False)
    replies.deliver("1")


def test_call_is_numbered_and_sent_in_one_step(replies: OrderedReplies, link: _Link) -> None:
    """Two threads at once would send theirs in another order than that of the numbers."""
    states: list[bool] = []
    link.on_number = lambda: states.append(link.writing.locked())

    replies.start(b"}", "1")

    assert states == [True]
    assert link.written == [b'{"id":1,}']
