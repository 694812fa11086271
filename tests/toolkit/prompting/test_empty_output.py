"""A program that compares rows and prints nothing is told what the rows have instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NoReturn

import pytest

from ez_ptc import ExecutionResult, Toolkit, ez_tool
from ez_ptc.sandbox.protocol.records.call_record import make_record
from ez_ptc.toolkit.prompting.empty_output import explain_unmet


@dataclass
class Course:
    """A course."""

    code: str
    title: str
    seats: int


class Kind(Enum):
    """What a thing is."""

    OPEN = "open"


class Word(StrEnum):
    """What a thing is, too."""

    OPEN = "Open"


class Odd(float):  # noqa: PLW1641 - that it has no hash is what is tried
    """A number with an equality of its own, and so without a hash."""

    def __eq__(self, other: object) -> bool:
        return NotImplemented


class Shy(dict[str, object]):
    """A record that does not let itself be looked at."""

    def items(self) -> NoReturn:
        raise RuntimeError

    def keys(self) -> NoReturn:
        raise RuntimeError


ROWS = [{"id": 4, "state": "Open", "name": "Ann"}, {"id": 5, "state": "Shut", "name": "Ben"}]
LOOP = "for row in rows():\n    if row{}:\n        print(row['id'])"


@pytest.mark.parametrize(
    ("condition", "why", "instead"),
    [
        ("['name'] == 'Shut'", "'name' is never 'Shut', but 'state' is", "['state'] == 'Shut'"),
        ('["name"] == "Shut"', "'name' is never 'Shut', but 'state' is", '["state"] == "Shut"'),
        (".name == 'Shut'", "'name' is never 'Shut', but 'state' is", ".state == 'Shut'"),
        ("['state'] == 'open '", "'state' is never 'open ', but 'Open'", "['state'] == 'Open'"),
        ("['id'] == '4'", "'id' is never '4', but 4", "['id'] == 4"),
        ("['id'] == 7", "'id' is never 7; it is 4, 5", ""),
        ("['state'] == 'Gone' and row['id'] > 1", "'state' is never 'Gone'; it is 'Open', 'Shut'", ""),
        ("['id'] == 4 and row['name'] == 'Zoe'", "'name' is never 'Zoe'; it is 'Ann', 'Ben'", ""),
    ],
)
def test_unmet_condition_is_explained_with_likely_one(condition: str, why: str, instead: str) -> None:
    found = explain_unmet(LOOP.format(condition), [ROWS])
    assert found is not None
    assert found == (why, LOOP.format(instead) if instead else "")


def test_value_named_in_program_is_looked_up() -> None:
    found = explain_unmet("wanted = 'open'\n" + LOOP.format("['state'] == wanted"), [ROWS])
    assert found is not None
    assert found.program == "wanted = 'Open'\n" + LOOP.format("['state'] == wanted")


def test_rows_are_dicts_dataclasses_and_lists_of_them() -> None:
    course = Course("MA1", "Optics", 3)
    for results in ([course], [[course]], [{"code": "MA1", "title": "Optics"}], [3, None, "x", [1], (course,)]):
        found = explain_unmet("if course.code == 'Optics': print(1)", results)
        assert found is not None
        assert found.why == "'code' is never 'Optics', but 'title' is"


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("['state'] == 'Open'", ROWS),
        ("['state'] != 'Gone'", ROWS),
        ("['state'] == other", ROWS),
        ("['state'] == 'Gone' or True", ROWS),
        ("['id'] and not row['state'] == 'Gone'", ROWS),
        ("['state'] == 'Go' + 'ne'", ROWS),
        ("['state'] == 'Gone'.upper()", ROWS),
        ("['colour'] == 'red'", ROWS),
        ("['state'] == 'Gone'", []),
        ("['state'] == 'Gone'", [{"state": object()}]),
        ("['state'] == 'open'", [{"state": Kind.OPEN}]),
        ("['state'] == 'Gone'", [{"state": "x" * 10_000}]),
        ("['id'] == 3", [{"id": 10**5_000}]),
        ("['state'] == 'open'", [{"state": Word.OPEN}]),
        ("['state'] == 'open'", [{"state": Odd(2)}]),
        ("['state'] == 'Gone'", [dict.fromkeys(map(str, range(1_000)), "x") | {"state": "Open"}]),
    ],
)
def test_met_or_invisible_conditions_are_not_explained(condition: str, rows: list[object]) -> None:
    assert explain_unmet(LOOP.format(condition), [rows]) is None


def test_non_identifier_key_is_not_written_into_program() -> None:
    found = explain_unmet(LOOP.format("['name'] == 'Shut'"), [[{"name": "Ann", "'] or open('x": "Shut"}]])
    assert found == ("'name' is never 'Shut'; it is 'Ann'", "")


@pytest.mark.parametrize("key", ["from", "items"])
def test_non_attribute_key_is_not_written_as_one(key: str) -> None:
    found = explain_unmet("for row in rows():\n    if row.name == 'Shut': print(row)", [[{"name": "Ann", key: "Shut"}]])
    assert found == ("'name' is never 'Shut'; it is 'Ann'", "")


def test_records_are_read_without_calling_their_methods() -> None:
    found = explain_unmet(LOOP.format("['name'] == 'ann'"), [[Shy(name="Ann")]])
    assert found is not None
    assert found.why == "'name' is never 'ann', but 'Ann'"


def test_only_first_of_many_values_are_listed() -> None:
    found = explain_unmet(LOOP.format("['id'] == 99"), [[{"id": number} for number in range(50)]])
    assert found is not None
    assert found.why.endswith("it is 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …")


def test_explanation_ends_with_the_intended_program() -> None:
    @ez_tool(read_only=True)
    def list_courses() -> list[Course]:
        """List the courses."""
        return [Course("MA1", "Algebra", 3), Course("PH1", "Optics", 4)]

    program = "for course in list_courses():\n    if course['code'] == 'Optics':\n        print(course['seats'])"
    with Toolkit([list_courses], assist_tool_chaining=True) as toolkit:
        told = toolkit.answer(program, toolkit.execute(program))
        assert told.startswith(
            "ERROR: The program printed nothing.\n"
            "Run this corrected program instead ('code' is never 'Optics', but 'title' is):\n```python\n"
        )
        assert toolkit.execute(toolkit.extract_code(told) or "").output == "4\n"


def test_after_an_effect_no_other_program_is_proposed() -> None:
    @ez_tool
    def close_shop(state: str) -> list[dict[str, object]]:
        """Close the shop."""
        return [{"state": "Open"}, {"state": state}]

    call: dict[str, object] = {"name": "close_shop", "result": [{"state": "Open"}], "error": None}
    with Toolkit([close_shop]) as toolkit:
        told = toolkit.answer(
            "for x in close_shop('a'):\n    if x.state == 'open':\n        print(x)",
            ExecutionResult(tool_calls=[make_record(call)]),
        )
    assert "never" not in told
    assert "```" not in told


def test_program_guarding_an_effect_is_not_proposed() -> None:
    @ez_tool
    def list_people() -> list[dict[str, str]]:
        """List the people."""
        return [{"name": "Ann", "role": "Admin"}]

    @ez_tool
    def delete_person(name: str) -> bool:
        """Delete somebody."""
        raise NotImplementedError

    program = "for p in list_people():\n    if p['name'] == 'Admin':\n        delete_person(p['name'])"
    with Toolkit([list_people, delete_person]) as toolkit:
        told = toolkit.answer(program, toolkit.execute(program))
    assert "'name' is never 'Admin', but 'role' is" in told
    assert "```" not in told


def test_list_empty_for_its_arguments_is_named() -> None:
    @ez_tool(read_only=True)
    def list_courses(teacher: str | None = None) -> list[Course]:
        """List the courses."""
        return [] if teacher else [Course("MA1", "Algebra", 3)]

    program = "for course in list_courses('Zoe'):\n    print(course.seats)"
    with Toolkit([list_courses], assist_tool_chaining=True) as toolkit:
        told = toolkit.answer(program, toolkit.execute(program))
    assert told == (
        "[Done, but it printed nothing: list_courses() returned an empty list for these arguments. Leave an argument "
        "out if the task does not ask for it.]"
    )


def test_program_with_invisible_calls_is_not_proposed() -> None:
    @ez_tool
    def list_people() -> list[dict[str, str]]:
        """List the people."""
        return [{"name": "Ann"}]

    program = "for p in list_people():\n    if p['name'] == 'ann':\n        fire(p)"
    with Toolkit([list_people]) as toolkit, toolkit.session() as session:
        assert session.execute("def fire(person):\n    print(person)").success
        assert "```" not in toolkit.answer(program, session.execute(program))


def test_list_hiding_its_truth_is_not_asked() -> None:
    class Shut(list[int]):
        def __bool__(self) -> NoReturn:
            raise RuntimeError

    call: dict[str, object] = {"name": "list_people", "args": (1,), "result": Shut()}
    with Toolkit([]) as toolkit:
        assert "printed nothing" in toolkit.answer("x = 1", ExecutionResult(tool_calls=[make_record(call)]))
