"""The benchmark of what a model reads: its tasks can be done, and its marking tells right from wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from benchmarks.model.__main__ import judged, kin_of
from benchmarks.model.marking import is_right
from benchmarks.model.process import Process
from benchmarks.model.tasks import TASKS, Task
from benchmarks.model.worlds import WORLDS, many, world


@pytest.fixture(scope="module")
def judges() -> Iterator[dict[str, Process]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(closing(Process("ours", name, sys.executable))) for name in WORLDS}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.question[:50])
@pytest.mark.sampled(every=4)
def test_each_task_is_solvable_but_not_by_doing_nothing(task: Task, judges: dict[str, Process]) -> None:
    printed, effects = judged(judges[task.world], task)
    assert printed or effects
    assert is_right(printed, effects, printed, effects, kin_of(printed))
    assert not is_right("", [], printed, effects, kin_of(printed))


def test_there_are_enough_tasks_over_enough_tools() -> None:
    assert len(TASKS) >= 30
    for name in WORLDS:
        tools = world(name).TOOLS
        assert len(tools) >= 8
        programs = "".join(task.program for task in TASKS if task.world == name)
        assert all(tool.__name__ in programs for tool in tools)


@pytest.mark.parametrize(
    ("printed", "wanted", "kin", "right"),
    [
        ("The total is 12.5 euros", "12.5", (), True),
        ("12.50", "12.5", (), True),
        ("12.5\nof them 3", "12.5", (), False),
        ("", "0", (), False),
        ("Parcel P-7, late", "P-7", ("P-7", "P-8"), True),
        ("['P-7', 'P-8']", "P-7", ("P-7", "P-8"), False),
        ("['P-8', 'P-7']", "P-7\nP-8", ("P-7", "P-8", "P-9"), True),
        ("P-7", "P-7\nP-8", ("P-7", "P-8"), False),
        ("MA1: 0\nMA2: 2", "MA1 0\nMA2 2", ("MA1", "MA2"), True),
        ("MA1: 2\nMA2: 0", "MA1 0\nMA2 2", ("MA1", "MA2"), False),
        ("Beatrice", "Bea", (), False),
    ],
)
def test_right_answer_states_expected_items_and_no_others(
    printed: str, wanted: str, kin: tuple[str, ...], *, right: bool
) -> None:
    assert is_right(printed, [], wanted, [], kin) is right


def test_effects_are_right_in_any_order() -> None:
    done: list[object] = [["mail", "a"], ["mail", "b"]]
    assert is_right("", done[::-1], "", done, ())
    assert is_right("sent", done, "", done, ())
    assert not is_right("sent", done[:1], "", done, ())
    assert not is_right("sent", [*done, done[0]], "", done, ())


@pytest.mark.sampled(every=0)
def test_of_few_tools_many_are_made_under_other_names() -> None:
    made = many(40)
    assert len({each.__name__ for each in made}) == 40
    assert made[16](None) == made[0](None)
