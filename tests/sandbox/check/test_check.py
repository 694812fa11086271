"""A program is checked against its tools before it runs: nothing is called by one that cannot be right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pytest
from pydantic import with_config

from ez_ptc import ExecutionResult, Tool, Toolkit, ez_tool

Run = Callable[[str], ExecutionResult]


@with_config(extra="forbid")
class Parcel(TypedDict):
    parcel_id: str
    city: str
    weight: float


@dataclass
class Place:
    name: str
    hours_late: int


@dataclass
class Depot:
    code: str
    vans: list[Place]


called: list[str] = []


@ez_tool(read_only=True)
def list_parcels(status: Literal["moving", "lost"] | None = None) -> list[Parcel]:
    """List parcels."""
    called.append("list_parcels")
    return [{"parcel_id": "P1", "city": "Rome", "weight": 2.5}]


@ez_tool(read_only=True)
def locate(parcel_id: str) -> Place:
    """Say where a parcel is."""
    called.append("locate")
    return Place("Milan", 3)


@ez_tool(read_only=True)
def list_depots() -> list[Depot]:
    """List depots."""
    called.append("list_depots")
    return [Depot("D1", [Place("Turin", 0)])]


@ez_tool
def open_depot(depot_code: str, hour: int, *, by: str) -> bool:
    """Open a depot."""
    called.append("open_depot")
    return True


@ez_tool(read_only=True)
def rates(city: str) -> dict[str, float]:
    """Return a city's rates by kind."""
    called.append("rates")
    return {"plain": 1.5}


@ez_tool(read_only=True)
async def wait_for(parcel_id: str) -> Place:
    """Wait for a parcel."""
    called.append("wait_for")
    return Place("Genoa", 1)


TOOLS: tuple[Tool[..., Any], ...] = (list_parcels, locate, list_depots, open_depot, rates, wait_for)


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit(TOOLS) as made:
        yield made


@pytest.fixture
def run(toolkit: Toolkit) -> Run:
    def run_program(code: str) -> ExecutionResult:
        called.clear()
        return toolkit.execute(code, 20)

    return run_program


MISTAKES: dict[str, tuple[str, str, str]] = {
    "a tool that there is not": (
        "list_parcels()\nfor each in list_places():\n    print(each)",
        "NameError: name 'list_places' is not defined",
        "did you mean list_parcels(",
    ),
    "a name known only inside a comprehension": (
        "ids = [p.parcel_id for p in list_parcels()]\nlocate(p.parcel_id)",
        "NameError: name 'p' is not defined",
        "the tools are",
    ),
    "a key that no row has": (
        "for p in list_parcels():\n    print(p['town'])",
        "KeyError: 'town'",
        "the keys are: parcel_id, city, weight",
    ),
    "an attribute that no row has": (
        "print(list_parcels()[0].colour)",
        "AttributeError: this record has no 'colour'",
        "the keys are: parcel_id, city, weight",
    ),
    "a key in a lambda": (
        "print(max(list_parcels(), key=lambda each: each['mass']))",
        "KeyError: 'mass'",
        "the keys are: parcel_id, city, weight",
    ),
    "a key of what is nested": (
        "for d in list_depots():\n    for v in d.vans:\n        print(v['driver'])",
        "KeyError: 'driver'",
        "the keys are: name, hours_late",
    ),
    "a key of what an awaited tool returns": (
        "print((await wait_for('P1'))['town'])",
        "KeyError: 'town'",
        "the keys are: name, hours_late",
    ),
    "a key of parallel results": (
        "found = parallel(*[(locate, p.parcel_id) for p in list_parcels()])\nprint(found[0]['town'])",
        "KeyError: 'town'",
        "the keys are: name, hours_late",
    ),
    "a list taken for a row": (
        "print(list_parcels()['city'])",
        "TypeError: list indices must be integers or slices, not str",
        "list_parcels() returns a list: loop over it",
    ),
    "an attribute of a list": (
        "print(list_parcels().city)",
        "AttributeError: 'list' object has no attribute 'city'",
        "loop over it",
    ),
    "a dict gone over for its values": (
        "print(sum(rate['euros'] for rate in rates('Rome')))",
        "TypeError: string indices must be integers, not 'str'",
        "rates() returns a dict: what you go over are its keys",
    ),
    "a list for one id": (
        "parcels = list_parcels()\nlocate(parcels)",
        "TypeError: locate: takes one parcel_id (str), got a list: call it once per item",
        "write [locate(item['parcel_id']) for item in parcels]",
    ),
    "a list for one argument of what may have an effect": (
        "hours = [8, 9]\nopen_depot('D1', hours, by='me')",
        "TypeError: open_depot: takes one hour (int), got a list: call it once per item",
        "the tool is open_depot(",
    ),
    "a row for its id": (
        "for p in list_parcels():\n    locate(p)",
        "TypeError: locate: 'parcel_id' must be str, got a whole record",
        'p["parcel_id"]',
    ),
    "None for an id": (
        "locate(None)",
        "TypeError: locate: 'parcel_id' must be str, got None",
        'for item in list_parcels(): locate(item["parcel_id"])',
    ),
    "a name for a number": (
        "open_depot('D1', 'noon', by='me')",
        "TypeError: open_depot: 'hour' must be int, got str 'noon'",
        "the tool is open_depot(",
    ),
    "a word that is no choice": (
        "list_parcels('Rome')",
        "TypeError: list_parcels: 'status' must be 'moving' or 'lost', got 'Rome'",
        "leave status out",
    ),
    "an argument too many": ("locate('P1', 2)", "TypeError: locate: takes 1 argument by position, got 2", "locate("),
    "an argument of no such name": (
        "locate(parcel='P1')",
        "TypeError: locate: unknown argument 'parcel' (did you mean 'parcel_id'?); missing argument 'parcel_id'",
        "the tool is locate(parcel_id: str) -> Place",
    ),
    "an argument missing": (
        "open_depot(hour=9, by='me')",
        "TypeError: open_depot: missing argument 'depot_code'",
        'depot_code is in what list_depots() returns: for item in list_depots(): item["code"]',
    ),
}


@pytest.mark.parametrize(("code", "error", "hint"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_is_reported_before_any_call(run: Run, code: str, error: str, hint: str) -> None:
    result = run(code)
    assert not result.success
    assert called == []
    assert result.tool_calls == []
    first, _, advice = (result.error or "").partition("\nHint: ")
    assert first == error
    assert hint in advice
    assert error in result.error_output
    assert "nothing was called" in result.error_output


RIGHT: dict[str, str] = {
    "a loop": "for p in list_parcels():\n    print(p.city, p['weight'], locate(p.parcel_id).hours_late)",
    "keys of one's own": "p = list_parcels()[0]\np['late'] = locate(p.parcel_id).hours_late\nprint(p['late'])",
    "keys added at once": "p = list_parcels()[0]\np.update(late=1)\nprint(p['late'])",
    "a key looked for": "p = list_parcels()[0]\nprint(p['town'] if 'town' in p else p['city'])",
    "a key guarded": "p = list_parcels()[0]\ntry:\n    print(p['town'])\nexcept KeyError:\n    print('none')",
    "a call guarded": "try:\n    locate(1, 2, 3)\nexcept TypeError as error:\n    print('no')",
    "a guard around a function": (
        "def f(p):\n    return locate(p, 1)\ntry:\n    f('P1')\nexcept TypeError:\n    print('no')\nlist_parcels()"
    ),
    "a suppressed mistake": "import contextlib\nwith contextlib.suppress(TypeError):\n    locate()\nlist_parcels()",
    "a name that changes its kind": "x = list_parcels()[0]\nx = {'town': 1}\nprint(x['town'])",
    "a tool hidden by a function": "def locate(a, b):\n    return a + b\nprint(locate(1, 2))\nlist_parcels()",
    "names made at run time": "exec('made = 1')\nprint(made, list_parcels())",
    "methods of a record": "p = list_parcels()[0]\nprint(p.items(), p.keys(), p.get('city'), p.copy()['weight'])",
    "arguments unpacked": "print(locate(*['P1']), open_depot(**{'depot_code': 'D1', 'hour': 9, 'by': 'me'}))",
    "a choice in capitals is the tool's to judge": "try:\n    list_parcels('LOST')\nexcept Exception:\n    print('no')",
    "an import that may fail": "try:\n    from tools import locate\nexcept ImportError:\n    pass\nprint(1)",
    "a module's names": "import math as m\nfrom statistics import mean\nprint(m.pi, mean([1]), list_parcels())",
    "matched names": "match list_parcels():\n    case [first, *others]:\n        print(first, others)",
    "a class": "class Box:\n    size: int = 1\n    def grow(self, by):\n        self.size += by\nBox().grow(2)",
    "a walrus and a global": "def f():\n    global seen\n    seen = 1\nf()\nprint(seen, (n := len(list_parcels())), n)",
    "a deleted name": "x = 1\ndel x\nx = list_parcels()\nprint(x[0].city)",
    "an int where a float is wanted": "print([p.weight + 1 for p in list_parcels()])",
    "nested functions": "def f():\n    rows = list_parcels()\n    def g(row):\n        return row['any']\nf()",
    "dict of the rows": "by = {p.parcel_id: p for p in list_parcels()}\nprint(by['P1'].city, by.get('x'))",
    "sorted rows": "rows = sorted(list_parcels(), key=lambda p: -p.weight)\nprint([*map(lambda p: p.city, rows)])",
}


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT.keys())
def test_a_program_that_can_be_right_runs(run: Run, code: str) -> None:
    result = run(code)
    assert result.success, result.error_output


PUT_RIGHT: dict[str, tuple[str, str]] = {
    "from another tool": (
        "for p in list_parcels():\n    if p['hours_late'] > 1:\n        print(p.city)",
        "for p in list_parcels():\n    if locate(p['parcel_id'])['hours_late'] > 1:\n        print(p.city)",
    ),
    "a key nearly right": ("print(list_parcels()[0]['Weight'])", "print(list_parcels()[0]['weight'])"),
    "a key with the noun before it": ("for d in list_depots():\n    print(d.depot_code)", 'print(d["code"])'),
    "a slip in a name": ("Parcels = list_parcels()\nprint(len(parcels))", "print(len(Parcels))"),
    "a list that was not asked for": (
        "for parcel in parcels:\n    print(parcel.city, locate(parcel.parcel_id))",
        "for parcel in list_parcels():\n    print(parcel.city, locate(parcel.parcel_id))",
    ),
    "a list whose row has its name": (
        "parcel = list_parcels()[0]\nprint(parcel.city, len(parcels))",
        "print(parcel.city, len(list_parcels()))",
    ),
    "a slip in a list's name": (
        "moving_parcels = list_parcels('moving')\nprint(len(moving_parcel))",
        "print(len(moving_parcels))",
    ),
    "a slip in a tool's name": ("print(list_parcel(), locate('P1'))", "list_parcels()"),
    "tools that are imported": (
        "if True:\n    from tools import list_parcels, locate\nprint(len(list_parcels()))",
        "if True:\n    pass\nprint(",
    ),
    "a tool that is imported as a module": ("import list_parcels\nprint(len(list_parcels()))", "pass\nprint("),
    "two on one line": (
        "p = list_parcels()[0]\nprint(p['town_city'], 'ä', p['parcel'])",
        "print(p['city'], 'ä', p['parcel_id'])",
    ),
}


@pytest.mark.parametrize(("code", "better"), PUT_RIGHT.values(), ids=PUT_RIGHT.keys())
def test_unambiguous_mistake_proposes_fix(run: Run, code: str, better: str) -> None:
    shown = run(code).error_output
    proposed = re.search(r"```python\n(.*)\n```", shown, re.DOTALL)
    assert proposed is not None
    assert better in proposed[1]
    assert run(proposed[1]).success


def test_key_of_a_text_is_reported_before_anything_runs(run: Run) -> None:
    error = run("names = {'Ada': 1}\nlist_parcels()\nfirst = min(names)\nprint(first['name'])").error
    assert "string indices must be integers, not 'str'" in (error or "")
    assert called == []


def test_all_mistakes_are_fixed_even_unreported_ones(run: Run) -> None:
    code = "p = list_parcels()[0]\n" + "print(p['Weight'])\n" * 8
    shown = run(code).error_output
    assert shown.count("KeyError") == 5
    assert shown.count("print(p['weight'])") == 8


def test_mistake_of_a_line_is_described_once(run: Run) -> None:
    shown = run("p = list_parcels()[0]\nprint(max(p['zzz'], p['zzz']), p['yyy'])").error_output
    assert shown.count("KeyError: 'zzz'") == shown.count("KeyError: 'yyy'") == 1
    assert shown.index("'zzz'\n") < shown.index("'yyy'\n")


def test_long_program_is_not_repeated(run: Run) -> None:
    assert "```" not in run("p = list_parcels()[0]\nprint(p['Weight'])\n" + "x = 1\n" * 2_000).error_output


@pytest.mark.parametrize(
    "code",
    [
        "print(list_parcels()[0].zzz)",
        "for place in places:\n    print(place, locate('P1'))",
        "print(row, list_parcels())\nrows = 1",
        "parcel_list = list_parcels('lost')\nprint(parcels)",
    ],
    ids=["no such key", "a name that its own loop binds", "a name bound later", "a name that may be another"],
)
def test_a_mistake_without_a_way_out_proposes_nothing(run: Run, code: str) -> None:
    assert "```" not in run(code).error_output


def test_a_program_without_tools_fails_as_python_does(run: Run) -> None:
    result = run("print('before')\nnowhere")
    assert result.output == "before\n"
    assert "nothing was called" not in result.error_output


def test_a_shape_given_by_hand_may_leave_keys_out(run: Run) -> None:
    def find(name: str) -> dict[str, object]:
        """Find somebody."""
        return {"name": name, "age": 7}

    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    with Toolkit([ez_tool(return_schema=schema)(find)]) as toolkit:
        assert toolkit.execute("print(find('Ada')['age'])").output == "7\n"


def test_refused_arguments_say_where_valid_ones_come_from(toolkit: Toolkit) -> None:
    @ez_tool(read_only=True)
    def find_parcel(parcel_id: str) -> Place:
        """Find a parcel."""
        raise LookupError(parcel_id)

    with Toolkit([list_parcels, find_parcel]) as made:
        error = made.execute("find_parcel('P999')").error
    assert 'for item in list_parcels(): find_parcel(item["parcel_id"])' in (error or "")


LARGE: dict[str, str] = {
    "nested deeply": "list_parcels()\nif 0: pass\n" + "elif 1: print('here')\n" * 800,
    "long": "list_parcels()\n" + "x = 1\n" * 20_000 + "print('here')",
    # More digits than CPython writes out.
    "a wide number": f"list_parcels()\n{{'a': 0x{'f' * 5_000}}}['a'], {{0x{'f' * 5_000}: 1}}.get('a')\nprint('here')",
}


@pytest.mark.parametrize("code", LARGE.values(), ids=LARGE.keys())
def test_program_too_large_to_check_runs(run: Run, code: str) -> None:
    result = run(code)
    assert (result.error, result.output) == (None, "here\n")


def test_mistake_shows_its_line_despite_multiline_texts(run: Run) -> None:
    result = run("list_parcels(); x = '\u2028 \x85 \x1c'\nprint(missing_here)")
    assert "  line 2: print(missing_here)\n" in result.error_output
