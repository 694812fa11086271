"""The choices of a program at rest are the recorded ones, as long as there are any."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.sandbox.worker.schedule import TIMER, Schedule


def test_new_program_chooses_nothing() -> None:
    schedule = Schedule()

    assert schedule.choose(["1", "2"], has_timer=True) is None
    assert schedule.add("2", 70) == ("2", 70)
    assert schedule.take_added() == [("2", 70)]
    assert schedule.take_added() == []


def test_recorded_events_come_in_their_order() -> None:
    recorded = {"calls": [["2", "v2"], ["1", "v1"], ["3", None]], "events": [["1", 5], [TIMER, 0]]}
    schedule = Schedule(recorded)

    assert [schedule.arrive(path) for path in ("1", "2", "3")] == ["v1", "v2", ""]
    assert schedule.choose(["1", "2", "3"], has_timer=True) == ("1", 5)
    assert schedule.choose(["2", "3"], has_timer=True) == (TIMER, 0)
    assert schedule.take_added() == []
    # The reply is recorded, but no event of it: nothing that was recorded depends on it.
    assert schedule.choose(["2", "3"], has_timer=True) == ("2", 0)
    assert schedule.choose(["3"], has_timer=True) is None
    assert schedule.take_added() == [("2", 0)]


def test_event_that_cannot_happen_ends_the_recorded_ones() -> None:
    schedule = Schedule({"calls": [["1", "v1"], ["2", "v2"]], "events": [["9", 0], ["2", 0]]})

    assert schedule.choose(["1", "2"], has_timer=False) == ("1", 0)


def test_event_recorded_twice_happens_once() -> None:
    """As in runs of earlier versions that went on in a kept worker."""
    events = [["1", 5], ["1", 5], [TIMER, 0], [TIMER, 0], ["1", 5], ["2", 7], ["2", 7]]
    schedule = Schedule({"calls": [["1", "v1"], ["2", "v2"], ["3", "v3"]], "events": events})

    assert schedule.is_blocked([], has_timer=True)
    schedule.arrive("1")
    assert schedule.choose(["1"], has_timer=True) == ("1", 5)
    assert not schedule.is_blocked([], has_timer=True)
    assert schedule.choose([], has_timer=True) == (TIMER, 0)
    assert schedule.choose([], has_timer=True) == (TIMER, 0)
    assert schedule.is_blocked([], has_timer=True)
    schedule.arrive("2")
    assert schedule.choose(["2"], has_timer=True) == ("2", 7)
    schedule.arrive("3")
    assert schedule.choose(["3"], has_timer=True) == ("3", 0)


def test_record_without_events_keeps_the_order_of_replies() -> None:
    schedule = Schedule({"calls": [["2", "v2"], ["1", "v1"]], "events": None})

    assert schedule.choose(["1", "2"], has_timer=True) == ("2", 0)
    assert schedule.choose([], has_timer=True) == (TIMER, 0)
    assert schedule.is_repeating


@given(st.permutations(["1", "2", "3", "4", TIMER]))
def test_second_execution_makes_the_choices_of_the_first(order: list[str]) -> None:
    first = Schedule()
    for path in order:
        assert first.choose(["1", "2", "3", "4"], has_timer=True) is None
        first.add(path, 1)
    calls = [[path, f"v{path}"] for path in ("1", "2", "3", "4")]
    second = Schedule({"calls": calls, "events": first.take_added()})

    waiting = ["1", "2", "3", "4"]
    for path in order:
        assert second.choose(waiting, has_timer=True) == (path, 1)
        waiting = [other for other in waiting if other != path]


def test_schedule_says_whether_its_next_event_can_happen() -> None:
    schedule = Schedule({"calls": [["1", "v1"]], "events": [["1", 0], [TIMER, 0]]})

    assert schedule.is_blocked([], has_timer=True)
    assert schedule.choose(["1"], has_timer=False) == ("1", 0)
    assert schedule.is_blocked(["2"], has_timer=False)
    assert schedule.choose([], has_timer=True) == (TIMER, 0)
    assert not schedule.is_blocked([], has_timer=False)
