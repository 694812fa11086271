"""The benchmark of what a model reads: its tasks can be done, and its marking tells right from wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from benchmarks.model.__main__ import attempt, judge
from benchmarks.model.marking import is_right
from benchmarks.model.process import Process
from benchmarks.model.scores import MAX_PROGRAMS, count_right, describe, find_range, gain
from benchmarks.model.tasks import FOREIGN_TASKS, HALVES, TASKS, Task
from benchmarks.model.worlds import FOREIGN, WORLDS, many, world
from benchmarks.model.worlds.changes import list_changes


@pytest.fixture(scope="module")
def judges() -> Iterator[dict[str, Process]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(closing(Process("ours", name, sys.executable))) for name in WORLDS}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.question[:50])
@pytest.mark.sampled(every=0)
def test_each_task_is_solvable_but_not_by_doing_nothing(task: Task, judges: dict[str, Process]) -> None:
    require_solvable(task, judges[task.world])


@pytest.mark.security
@pytest.mark.parametrize("place", FOREIGN)
def test_each_foreign_task_is_solvable_but_not_by_doing_nothing(place: str) -> None:
    try:
        world(place)
    except ImportError as error:
        pytest.skip(str(error))
    with closing(Process("ours", place, sys.executable)) as process:
        for task in FOREIGN_TASKS:
            if task.world == place:
                require_solvable(task, process)


def require_solvable(task: Task, process: Process) -> None:
    wanted = judge(process, task)
    printed, effects, kin = wanted.printed, wanted.effects, wanted.kin
    assert printed or effects
    assert is_right(printed, effects, printed, effects, kin)
    assert not is_right("", [], printed, effects, kin)


class Model:
    """Stands for a model: answers with these programs, in order."""

    def __init__(self, *programs: str) -> None:
        self.programs, self.asked = [*programs], list[Any]()

    def post(self, path: str, *, body: Any, cast_to: object) -> Any:  # noqa: ANN401 - a body and an answer of JSON
        assert (path, cast_to) == ("/chat/completions", dict)
        self.asked.append(body)
        content = f"```python\n{self.programs.pop(0)}\n```"
        return {"choices": [{"message": {"role": "assistant", "content": content}}]}


@pytest.mark.security
def test_search_among_distractors_is_no_try(judges: dict[str, Process]) -> None:
    pytest.importorskip("openai")
    task = next(task for task in TASKS if task.world == "freight")
    wanted = judge(judges["freight"], task)
    search = f"print(search_tools({task.question!r}))"
    with closing(Process("ours", "freight", sys.executable, distractors=292)) as process:
        assert "set_invoice_status" not in process.system
        for searches, repairs in ((2, 0), (3, MAX_PROGRAMS)):
            model: Any = Model(*[search] * searches, task.program)
            assert attempt(model, task, process, wanted, {})[0] == repairs
            assert "def " in model.asked[1]["messages"][3]["content"]


def test_each_foreign_world_has_as_many_tasks_in_both_halves() -> None:
    assert len(FOREIGN_TASKS) == 60
    assert {task.half for task in FOREIGN_TASKS} == set(HALVES[1:])
    for place in FOREIGN:
        halves = [task.half for task in FOREIGN_TASKS if task.world == place]
        assert halves.count("tuned") == halves.count("held") == 5
    assert len({task.question for task in FOREIGN_TASKS}) == 60


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


def test_changes_of_a_state_have_no_order_and_no_made_up_ids() -> None:
    before = {"rows": [{"id": 1, "city": "Rome"}], "by": {"7": {"n": 1}}, "x": {"y": 0.1 + 0.2}}
    same = {"rows": [{"id": 9, "city": "Rome"}], "by": {"8": {"n": 1}}, "x": {"y": 0.3}}
    one = {**before, "rows": [{"id": 2, "city": "Oslo"}, {"id": 3, "city": "Rome"}, {"id": 4, "city": "Bern"}]}
    other = {**before, "rows": [{"id": 5, "city": "Bern"}, {"id": 6, "city": "Oslo"}, {"id": 7, "city": "Rome"}]}
    assert list_changes(before, same) == []
    assert list_changes(before, one) == list_changes(before, other)
    assert len(list_changes(before, one)) == 2
    assert list_changes(before, {**before, "x": {"y": 1}}) == [["lost", ".x.y", "0.3"], ["new", ".x.y", "1"]]


def test_scores_count_what_is_right_after_each_program() -> None:
    numbers = [0, 0, 1, 2, MAX_PROGRAMS]
    assert count_right(numbers) == [2, 3, 4]
    assert gain(numbers) == 2.0
    assert gain([1, MAX_PROGRAMS]) != gain([1, MAX_PROGRAMS])  # nothing is a multiple of none
    low, high = find_range([[number] for number in [0] * 20 + [1] * 5])
    assert 1.0 <= low < 1.25 < high < 1.7
    assert find_range([[0], [0]]) == (1.0, 1.0)


def test_row_shows_repeats_with_their_spread() -> None:
    row = describe([[0, 1], [0, 0], [2, MAX_PROGRAMS]])
    assert row.split("   ")[-2:] == ["of 3", row.split("   ")[-1]]
    assert "1.5 ± 0.7" in row
    assert "x 1.67" in row
