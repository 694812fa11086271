"""`toolkit.check` returns a program's mistakes without running it, the same for which `execute` refuses it."""

from typing import TypedDict

import pytest
from pydantic import with_config

from ez_ptc import Limits, Mistake, Toolkit, ez_tool


@with_config(extra="forbid")
class Room(TypedDict):
    room_id: str
    floor: int


called: list[str] = []


@ez_tool
def list_rooms(floor: int | None = None) -> list[Room]:
    """List rooms."""
    called.append("list_rooms")
    return [{"room_id": "R1", "floor": 1}]


@ez_tool
def close_room(room_id: str) -> bool:
    """Close a room."""
    called.append("close_room")
    return True


TOOLKIT = Toolkit([list_rooms, close_room])


def test_mistakes_have_line_rule_message_and_suggestion() -> None:
    mistakes = TOOLKIT.check("rooms = list_rooms()\nprint(len(roms))\nclose_room(rooms[0]['romm_id'])")

    assert [(mistake.line, mistake.rule) for mistake in mistakes] == [(2, "undefined-name"), (3, "key")]
    assert mistakes[0].suggestion == "print(len(rooms))"
    assert mistakes[1].message == "KeyError: 'romm_id'\nHint: did you mean 'room_id'? the keys are: room_id, floor"
    assert mistakes[1].suggestion == "close_room(rooms[0]['room_id'])"
    assert called == []


def test_program_without_mistake_has_none() -> None:
    assert TOOLKIT.check("for room in list_rooms(floor=1):\n    print(close_room(room.room_id))") == []


def test_text_of_mistake_has_all_of_it() -> None:
    [mistake] = TOOLKIT.check("list_rooms()\nprint(len(5))")
    assert str(mistake) == "line 2: TypeError: object of type 'int' has no len() [built-in-arguments]"


@pytest.mark.parametrize("program", ["x = (", "print('a", "for"])
def test_invalid_syntax_is_a_mistake(program: str) -> None:
    [mistake] = TOOLKIT.check(program)
    assert mistake.rule == "syntax"
    assert mistake.message.startswith("SyntaxError: ")


def test_fence_around_program_is_no_mistake() -> None:
    assert TOOLKIT.check("```python\nprint(list_rooms())\n```") == []
    [mistake] = TOOLKIT.check("```python\nprint(list_rooms()[0]['flor'])\n```")
    assert isinstance(mistake, Mistake)
    assert mistake.suggestion == "print(list_rooms()[0]['floor'])"


@pytest.mark.parametrize(
    "program",
    [
        "rooms: list[Room] = list_rooms()\nprint(len(rooms))",
        "def first(rooms: List[Room]) -> Room:\n    return rooms[0]\nfirst(list_rooms())",
        "print(json.dumps(list_rooms()), math.pi, parallel((list_rooms,)))",
        "if __name__ == '__main__':\n    print(list_rooms())\n    exit()",
        "print(await list_rooms())",
    ],
)
def test_names_that_programs_have_are_known(program: str) -> None:
    assert TOOLKIT.check(program) == []


@pytest.mark.parametrize("program", ["(" * 100_000, "x = " + "-" * 100_000 + "1", "\x00", "list_rooms()\n" * 100_000])
def test_hostile_program_is_answered(program: str) -> None:
    assert len(TOOLKIT.check(program)) <= 1


def test_program_that_cannot_be_sent_has_the_text_of_its_run() -> None:
    with Toolkit([list_rooms], limits=Limits(program=20)) as toolkit:
        for program, rule in (("list_rooms()" + " " * 9, "limits"), ("'\0'", "syntax"), ("'\ud800'", "syntax")):
            [mistake] = toolkit.check(program)
            assert (mistake.message, mistake.rule) == (toolkit.execute(program).error, rule)
        assert toolkit.check("list_rooms()" + " " * 8) == []


@pytest.mark.filterwarnings("error")
def test_unknown_escape_does_not_warn_the_host() -> None:
    assert TOOLKIT.check("print('\\d', list_rooms())") == []
    [mistake] = TOOLKIT.check("print('it\\'s \\d', list_rooms()[0]['flor'])")
    assert mistake.suggestion == "print('it\\'s \\d', list_rooms()[0]['floor'])"
