"""Recorded replies come in their recorded order, and both ends count it equally."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.sandbox.worker.turns import RepliesAhead, Turns


@st.composite
def _runs(draw: st.DrawFn) -> tuple[list[tuple[str, int]], list[str]]:
    """Return recorded replies as an earlier execution gave them, and the calls of a later one as they arrive."""
    paths = [str(number) for number in range(draw(st.integers(1, 8)))]
    replies: list[tuple[str, int]] = []
    made = 0
    while len(replies) < len(paths):
        made = draw(st.integers(max(made, len(replies) + 1), len(paths)))
        replies.append((paths[len(replies)], made))
    return replies, draw(st.permutations([*paths, "new"]))


def test_sequential_calls_get_their_replies_at_once() -> None:
    turns = Turns([("1", 1), ("2", 2)])

    assert [turns.arrive(path) for path in ("1", "2", "3")] == [["1"], ["2"], []]
    assert turns.are_over


def test_reply_waits_for_calls_made_before_it() -> None:
    turns = Turns([("1.1", 2), ("1.0", 2)])

    assert turns.arrive("1.0") == []
    assert turns.arrive("1.1") == ["1.1", "1.0"]


def test_flushed_replies_are_not_given_again() -> None:
    turns = Turns([("1", 1), ("2", 2), ("3", 3)])

    assert turns.arrive("2") == []
    assert turns.flush() == ["2"]
    assert [turns.arrive(path) for path in ("1", "3")] == [["1"], ["3"]]
    assert turns.flush() == []


def test_skipped_replies_come_by_flushing_only() -> None:
    turns = Turns([("1", 1), ("2", 2)])
    turns.skip(1)

    assert turns.are_over
    assert turns.arrive("2") == []
    assert turns.flush() == ["2"]


@given(_runs())
def test_every_reply_comes_once_and_in_order(run: tuple[list[tuple[str, int]], list[str]]) -> None:
    replies, calls = run
    turns = Turns(replies)

    given_out = [path for call in calls for path in turns.arrive(call)]

    assert given_out == [path for path, _ in replies]
    assert turns.are_over


@given(_runs(), st.integers(0, 8))
def test_host_knows_which_replies_the_worker_takes(run: tuple[list[tuple[str, int]], list[str]], ahead: int) -> None:
    replies, calls = run
    host = Turns(replies)
    worker = RepliesAhead([(path, made, f"v{path}") for path, made in replies[:ahead]])
    sent = {path for path, _ in replies[:ahead]}

    for call in calls:
        due = host.arrive(call)
        expected = f"v{call}".encode() if call in sent and due[:1] == [call] else None
        assert worker.take(call) == expected
