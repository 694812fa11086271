"""The check before a program runs refuses none that changes what it was given, and so can be right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypedDict

import pytest

from ez_ptc import Toolkit, ez_tool


class Person(TypedDict):
    person_id: str
    name: str


PEOPLE: dict[str, Person] = {"E1": {"person_id": "E1", "name": "Ann"}, "E2": {"person_id": "E2", "name": "Ben"}}


@ez_tool
def get_hours() -> dict[str, float]:
    """Get the hours by person."""
    return {"E1": 2.0, "E2": 3.0}


@ez_tool
def get_ranks() -> dict[int, Person]:
    """Get the people by rank."""
    return {1: PEOPLE["E2"], 2: PEOPLE["E1"]}


@ez_tool
def get_ids() -> list[str]:
    """Get the ids of all people."""
    return [*PEOPLE]


@ez_tool
def get_person(person_id: str) -> Person:
    """Get a person."""
    return PEOPLE[person_id]


@ez_tool
def get_tags() -> set[str]:
    """Get all tags."""
    return {"old", "new"}


@ez_tool
def convert(amount: float, source: Literal["EUR", "USD"], target: Literal["EUR", "USD"] = "EUR") -> float:
    """Convert an amount."""
    return amount if source == target else amount * 2


@ez_tool
def set_status(person_id: str, status: Literal["open", "closed"], note: str = "") -> str:
    """Set somebody's status."""
    return f"{status} {note}"


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([get_hours, get_ranks, get_ids, get_person, get_tags, convert, set_status]) as made:
        yield made


RIGHT: dict[str, str] = {
    "values replaced by dicts": (
        "h = get_hours()\nfor k in list(h):\n    h[k] = {'hours': h[k], 'rate': 3}\n"
        "for k, v in h.items():\n    print(v['rate'])"
    ),
    "values replaced by records": (
        "h = get_hours()\nfor k in h:\n    h[k] = get_person(k)\nprint([v['name'] for v in h.values()])"
    ),
    "items replaced": (
        "n = get_ids()\nfor i, x in enumerate(n):\n    n[i] = get_person(x)\n"
        "for i, p in enumerate(n):\n    print(p['name'])"
    ),
    "records replaced by texts": (
        "by = {i: get_person(i) for i in get_ids()}\nfor k in by:\n    by[k] = by[k]['name']\n"
        "print([v.upper() for v in by.values()])"
    ),
    "records put into lists": (
        "by = {i: get_person(i) for i in get_ids()}\nfor k in by:\n    by[k] = [by[k]]\n"
        "for k, v in by.items():\n    v.append(1)"
    ),
    "records put into dicts": (
        "by = {i: get_person(i) for i in get_ids()}\nfor k in by:\n    by[k] = dict(person=by[k], cnt=1)\n"
        "print([v['cnt'] for v in by.values()])"
    ),
    "keys that are computed": (
        "for k, p in get_ranks().items():\n    for c in ['pay', 'b']:\n        p[c] = 1\n    print(p['pay'])"
    ),
    "a name changed by a function": (
        "for k, v in get_hours().items():\n    last = k\ndef load():\n    global last\n    last = get_person(last)\n"
        "load()\nprint(last['name'])"
    ),
    "a name changed by an inner function": (
        "def f():\n    row = get_ids()[0]\n    def load():\n        nonlocal row\n        row = get_person(row)\n"
        "    load()\n    return row['name']\nprint(f())"
    ),
    "methods of a set": "t = get_tags()\nprint(t.union({'q'}), t.issubset({'a'}), t.isdisjoint({'z'}))\nt.add('x')",
    "items added": "n = get_ids()\nn.append({'a': 1})\nprint(n[-1]['a'])",
    "all items replaced": "n = get_ids()\nn[:] = [get_person(x) for x in n]\nprint(n[0]['name'])",
    "a value added": "h = get_hours()\nh['tot'] = {'a': 1}\nprint(h['tot']['a'])",
    "an attribute set by its name": "p = get_person('E1')\nsetattr(p, 'zz', 1)\nprint(p.zz)",
    "a class's own name": (
        "class A:\n    row = get_ids()[0]\n    def f(self):\n        return row['name']\n"
        "row = get_person('E1')\nprint(A().f())"
    ),
    "the rest of an item": "for k, *rest in get_hours().items():\n    print(rest[0])",
    "numbers as keys": "for rank, p in get_ranks().items():\n    print(rank + 1, p.name)\nprint(get_ranks()[1].name)",
    "a set of its own kind": (
        "class Bag:\n    def add(self, x):\n        print(x.name)\ns = Bag()\ns.add(get_person('E1'))"
    ),
    "sets of values": "s = set()\ns.update(get_ids())\ns |= {p.name for p in get_ranks().values()}\nprint(sorted(s))",
    "the way back": "source, target = 'EUR', 'USD'\nprint(convert(convert(1, source, target), target, source))",
    "a choice called as another parameter": "for note in ['open', 'closed']:\n    print(set_status('E1', note))",
    "a key replaced by a record": (
        "p = get_person('E1')\np['person_id'] = get_person('E2')\nprint(p['person_id']['name'])"
    ),
    "an attribute replaced by a record": "p = get_person('E1')\np.name = get_person('E2')\nprint(p['name']['name'])",
    "a value that is asked what it is": (
        "for k in [*get_ids(), get_person('E1')]:\n    print(k['name'] if isinstance(k, dict) else k)\n"
        "for k in get_ids():\n    print(k['name'] if isinstance(k, dict) else k)"
    ),
    "a record that is asked what it has": "p = get_person('E1')\nprint(p.phone if hasattr(p, 'phone') else '-')",
    "a number in a word": "print(convert('1e2', 'EUR') > 1)",
    "a class that knows its name": (
        "get_ids()\nclass A:\n    print(__qualname__, __module__)\n"
        "    def f(self):\n        return __class__\nprint(A().f())"
    ),
    "a zip": "for i, p in zip(get_ids(), get_ranks().values()):\n    print(i.lower(), p.name)",
}


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT.keys())
def test_program_that_changes_its_builtins_runs(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    assert result.success, result.error_output


def test_program_may_define_a_function_in_a_tools_place(toolkit: Toolkit) -> None:
    result = toolkit.execute("def get_person(number):\n    return [{'z': number}]\nprint(get_person(number=5)[0]['z'])")

    assert (result.error, result.output) == (None, "5\n")


@pytest.mark.parametrize(
    "program",
    [
        "def f(): return get_person(1)\nf()\nget_person = 3",
        "f = lambda: get_person(1)\nf()\nget_person = 3",
        "class C:\n    def f(self): return get_person(1)\nC().f()\nget_person = 3",
        "def f(): return list('ab')\nf()\nlist = [1]",
    ],
)
def test_function_may_run_before_the_name_in_it_is_rebound(toolkit: Toolkit, program: str) -> None:
    assert "not callable" not in str(toolkit.execute(program).error)
