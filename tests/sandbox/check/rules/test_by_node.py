"""Each rule finds its mistakes before anything is called, wherever the value comes from."""

from __future__ import annotations

import ast
import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypedDict

import pytest
from pydantic import with_config

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.check.following.facts import read_facts
from ez_ptc.sandbox.check.rules.by_node import Rules
from ez_ptc.sandbox.check.signatures import Shapes


@with_config(extra="forbid")
class Parcel(TypedDict):
    parcel_id: str
    weight: float
    stops: list[str]


called: list[str] = []


@ez_tool(read_only=True)
def list_parcels() -> list[Parcel]:
    """List parcels."""
    called.append("list_parcels")
    return [{"parcel_id": "P1", "weight": 2.5, "stops": ["Rome"]}]


@ez_tool(read_only=True)
def get_parcel(parcel_id: str) -> Parcel:
    """Get a parcel."""
    called.append("get_parcel")
    return list_parcels()[0]


@ez_tool(read_only=True)
def find_parcel(parcel_id: str) -> Parcel | None:
    """Find a parcel."""
    called.append("find_parcel")
    return None


@ez_tool
def move(parcel_id: str, to: Literal["Rome", "Oslo"], on: dt.date, by: list[str], hours: int = 1) -> bool:
    """Move a parcel."""
    called.append("move")
    return True


@ez_tool(read_only=True)
def arrival(parcel_id: str) -> dt.datetime:
    """Say when a parcel arrives."""
    called.append("arrival")
    return dt.datetime(2024, 1, 1)


@ez_tool(read_only=True)
def rates() -> dict[str, float]:
    """Return the rates by city."""
    called.append("rates")
    return {"Rome": 1.5}


MOVE = "move('P1', 'Rome', '2024-01-01', [])"
WRONG: dict[str, list[tuple[str, str]]] = {
    "import-of-tool": [
        ("from tools import list_parcels\nlist_parcels()", "ModuleNotFoundError: No module named 'tools'"),
        ("import tools.list_parcels, move\nmove()", "ModuleNotFoundError"),
    ],
    "imported-name": [("from math import sqroot\nlist_parcels()", "ImportError: cannot import name 'sqroot'")],
    "undefined-name": [
        ("list_parcels()\nprint(nowhere)", "NameError: name 'nowhere' is not defined"),
        ("def f():\n    return nowhere\nlist_parcels()\nf()", "NameError"),
        ("for p in list_parcels():\n    if p.weight > 1:\n        print(f'{whight}')", "NameError"),
    ],
    "attribute": [
        ("list_parcels().results", "AttributeError: 'list' object has no attribute 'results'"),
        ("for p in list_parcels():\n    print(p.parcel_id.toUpperCase())", "AttributeError: 'str' object"),
        ("n = len(list_parcels())\nprint(n.value)", "AttributeError: 'int' object"),
        ("import math\nlist_parcels()\nprint(math.sqroot(4))", "AttributeError: module 'math'"),
        ("def size(p):\n    return p.wheight\nprint(size(list_parcels()[0]))", "AttributeError: this record has no"),
        ("d = {'a': 1}\nlist_parcels()\nprint(d.a)", "AttributeError: 'dict' object"),
        ("print(arrival('P1').strftme('%d'))", "AttributeError: 'datetime' object"),
        ("words = []\nfor p in list_parcels():\n    words.push(p.parcel_id)", "AttributeError: 'list' object"),
        ("p = find_parcel('P1')\nif p:\n    print(p.wheight)", "AttributeError"),
        ("list_parcels()\nprint(rates().items().values)", "AttributeError: 'iterator' object has no attribute"),
        ("import re\nlist_parcels()\nre.findal('a', 'a')", "AttributeError: module 're' has no attribute"),
        ("import datetime\nlist_parcels()\ndatetime.date.tody()", "AttributeError: type object 'date' has no"),
        (
            "from collections import deque\nq = deque(list_parcels())\nq.push(1)",
            "AttributeError: 'deque' object has no attribute 'push'",
        ),
    ],
    "key": [
        ("print(list_parcels()[0]['wheight'])", "KeyError: 'wheight'"),
        ("rows = [{'id': p.parcel_id} for p in list_parcels()]\nprint(rows[0]['idd'])", "KeyError: 'idd'"),
        ("print(list_parcels()['items'])", "TypeError"),
        ("for p in list_parcels():\n    print(p['weight']['value'])", "TypeError: 'float' object is not subscriptable"),
        ("n = len(list_parcels())\nprint(n[0])", "TypeError: 'int' object is not subscriptable"),
        ("x = list_parcels()\nprint('abc'['0'])", "TypeError: string indices must be integers"),
        ("by = {p.parcel_id: p for p in list_parcels()}\nfor k, p in by.items():\n    print(p['hight'])", "KeyError"),
        ("best = max(list_parcels(), key=lambda p: p['heft'])", "KeyError: 'heft'"),
        ("try:\n    p = list_parcels()[0]\n    print(p['heft'])\nexcept ValueError:\n    pass", "KeyError: 'heft'"),
    ],
    "tool-arguments": [
        ("get_parcel()", "TypeError: get_parcel: missing argument 'parcel_id'"),
        ("get_parcel('P1', timeout=3)", "TypeError: get_parcel: unknown argument 'timeout'"),
        ("get_parcel(42)", "TypeError: get_parcel: 'parcel_id' must be str, got int 42"),
        ("n = len(list_parcels())\nget_parcel(n)", "TypeError: get_parcel: 'parcel_id' must be str, got int"),
        ("move('P1', 'Bonn', '2024-01-01', [])", "TypeError: move: 'to' must be 'Rome' or 'Oslo'"),
        ("move('P1', 'Rome', 'tomorrow', [])", "TypeError: move: 'on' must be date, got str 'tomorrow'"),
        ("move('P1', 'Rome', '2024-01-01', 'Ann')", "TypeError: move: 'by' must be list, got str 'Ann'"),
        ("move('P1', 'Rome', '2024-01-01', [], True)", "TypeError: move: 'hours' must be int, got bool True"),
        ("move(list_parcels()[0], 'Rome', '2024-01-01', [])", "TypeError: move: 'parcel_id' must be str, got a whole"),
        ("def go(p):\n    return get_parcel(p)\nfor p in list_parcels():\n    go(p)", "TypeError: get_parcel"),
        ("print(get_parcel(id))", "TypeError: get_parcel: 'parcel_id' must be str, got the built-in function id"),
        (
            "for n in (1, 2):\n    get_parcel(parcel_id=input)",
            "TypeError: get_parcel: 'parcel_id' must be str, got the",
        ),
        (
            "move('P1', 'Rome', '2024-01-01', list)",
            "TypeError: move: 'by' must be list, got the built-in function list",
        ),
        ("none = None\nget_parcel(none)", "TypeError: get_parcel: 'parcel_id' must be str, got NoneType"),
    ],
    "not-callable": [
        ("for p in list_parcels():\n    print(p['weight']())", "TypeError: 'float' object is not callable"),
        ("rows = list_parcels()\nprint(rows())", "TypeError: 'list' object is not callable"),
        ("print(len(list_parcels())())", "TypeError: 'int' object is not callable"),
    ],
    "own-arguments": [
        ("def f(p):\n    return p\nlist_parcels()\nf(1, 2)", "TypeError: f() takes 1 positional arguments but 2"),
        ("def f(p, q):\n    return p\nlist_parcels()\nf(1)", "TypeError: f() missing 1 required arguments: 'q'"),
        ("def f(p):\n    return p\nlist_parcels()\nf(r=1)", "TypeError: f() got an unexpected keyword argument 'r'"),
    ],
    "built-in-arguments": [
        ("print(len(len(list_parcels())))", "TypeError: object of type 'int' has no len()"),
        ("print(sum(p.weight for p in list_parcels()), sorted(5))", "TypeError: 'int' object is not iterable"),
        ("print(round(str(list_parcels()[0].weight)))", "TypeError: type str doesn't define __round__ method"),
    ],
    "not-iterable": [
        ("for n in len(list_parcels()):\n    print(n)", "TypeError: 'int' object is not iterable"),
        ("print([n for n in list_parcels()[0].weight])", "TypeError: 'float' object is not iterable"),
    ],
    "unpacking": [
        ("for city, rate, more in rates().items():\n    print(city)", "ValueError: not enough values to unpack"),
        ("for n, p, q in enumerate(list_parcels()):\n    print(n)", "ValueError: not enough values"),
        ("for a, b in list_parcels():\n    print(a)", "ValueError: too many values to unpack (expected 2)"),
        ("def pair(p):\n    return p.parcel_id, p.weight, 1\na, b = pair(list_parcels()[0])", "ValueError: too many"),
        ("a, b = len(list_parcels())", "TypeError: cannot unpack non-iterable int object"),
    ],
    "operands": [
        ("print('total: ' + list_parcels()[0].weight)", 'TypeError: can only concatenate str (not "float") to str'),
        ("total = 0\nfor p in list_parcels():\n    total += p.parcel_id", "TypeError: unsupported operand"),
        ("print(str(list_parcels()[0].weight) / 2)", "TypeError: unsupported operand type(s) for /"),
        (
            "print(list_parcels()[0].weight < '3')",
            "TypeError: '<' not supported between instances of 'float' and 'str'",
        ),
        (
            "print(arrival('P1') < '2024-02-01')",
            "TypeError: '<' not supported between instances of 'datetime.datetime'",
        ),
        ("print(arrival('P1') - 5)", "TypeError: unsupported operand type(s) for -: 'datetime.datetime' and 'int'"),
        ("print('a' in len(list_parcels()))", "TypeError: argument of type 'int' is not iterable"),
    ],
}
CASES = [(rule, program, error) for rule, cases in WRONG.items() for program, error in cases]


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([list_parcels, get_parcel, find_parcel, move, arrival, rates]) as made:
        yield made


@pytest.mark.parametrize(("rule", "program", "error"), CASES)
def test_rule_finds_its_mistake_before_the_first_call(toolkit: Toolkit, rule: str, program: str, error: str) -> None:
    called.clear()
    mistakes = toolkit.check(program)
    assert [(mistake.rule, mistake.message[: len(error)]) for mistake in mistakes] == [(rule, error)]
    result = toolkit.execute(program)
    assert (result.error or "").startswith(error)
    assert called == []


def test_every_documented_rule_is_tested() -> None:
    page = Path(__file__).parents[4] / "docs" / "programs" / "checking.md"
    table = page.read_text().partition("| rule | finds |\n")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()]
    assert {name for cell in cells for name in re.findall(r"`(.+?)`", cell)} == WRONG.keys()


BOUND = (
    "id = 'P1'\nprint(get_parcel(id))",
    "print([get_parcel(id) for id in ('P1', 'P2')])",
    "def look(id):\n    return get_parcel(id)\nprint(look('P1'))",
    "def look():\n    global id\n    id = 'P1'\nlook()\nprint(get_parcel(id))",
    "for id, name in [('P1', 'x')]:\n    print(get_parcel(parcel_id=id))",
    "if id := 'P1':\n    print(get_parcel(id))",
    "from string import digits as id\nprint(get_parcel(id))",
    "import builtins\nbuiltins.exec('id = 1')\ntry:\n    get_parcel(id)\nexcept TypeError:\n    print('no')",
    "print((lambda id: get_parcel(id))('P1'))",
    "match 'P1':\n    case id:\n        print(get_parcel(id))",
)


def test_built_in_name_with_a_value_is_an_argument(toolkit: Toolkit) -> None:
    for program in BOUND:
        assert toolkit.check(program) == [], program
    with toolkit.session() as session:
        session.execute("id = 'P1'")
        assert session.execute("print(get_parcel(id).parcel_id)").output == "P1\n"


def test_built_in_function_as_argument_names_the_source(toolkit: Toolkit) -> None:
    error = toolkit.execute("print(get_parcel(id))").error_output
    assert "the program gives id no value before this line" in error
    assert "parcel_id is in what list_parcels() returns: for item in list_parcels(): get_parcel(item[" in error
    assert "begin like this:\n```python\nfor parcel in list_parcels():\n    result = get_parcel(parcel[" in error


@pytest.mark.parametrize("prefix", ["functions", "tools", "default_api", "api", "self", "toolkit"])
def test_prefix_before_a_tool_is_taken_away(toolkit: Toolkit, prefix: str) -> None:
    error = toolkit.execute(f"p = {prefix}.get_parcel('P1')\nprint({prefix}.list_parcels(), p)").error_output
    assert f"NameError: name '{prefix}' is not defined" in error
    assert "call get_parcel by its name alone; the tool is get_parcel(parcel_id: str)" in error
    assert "\np = get_parcel('P1')\nprint(list_parcels(), p)\n```" in error
    moved = toolkit.execute(f"{prefix}.{MOVE}").error_output
    assert f"```python\n{MOVE}\n```" in moved


def test_prefix_before_a_name_of_the_program_stays(toolkit: Toolkit) -> None:
    error = toolkit.execute("def get_parcel(p):\n    return tools.get_parcel(p)\nprint(get_parcel('P1'))").error_output
    assert "by its name alone, and give another name to what the program calls get_parcel" in error
    assert "```python" not in error


@pytest.mark.parametrize("program", ["parcel.get_parcel('P1')", "tools.nothing()", "tools.get_parcel = 1", "tools"])
def test_other_owner_of_a_tool_name_is_no_prefix(toolkit: Toolkit, program: str) -> None:
    assert "by its name alone" not in toolkit.execute(program).error_output


@pytest.mark.parametrize("name", ["final_answer", "SUBMIT", "FINAL", "submit_answer"])
def test_answer_of_other_libraries_is_printed(toolkit: Toolkit, name: str) -> None:
    error = toolkit.execute(f"weight = list_parcels()[0].weight\n{name}(weight)").error_output
    assert "the answer is what the program prints: print it" in error
    assert "```python\nweight = list_parcels()[0].weight\nprint(weight)\n```" in error
    for other in (f"{name}()", f"{name}(answer=list_parcels())", f"x = {name}"):
        assert "the answer is what the program prints" not in toolkit.execute(other).error_output
    assert toolkit.execute(f"def {name}(x): return x\n{name}(list_parcels()[0].parcel_id)").success


@pytest.mark.parametrize("method", ["model_dump()", "dict()", "model_dump(mode='json')", "to_dict()"])
def test_record_is_a_dict_without_conversion(toolkit: Toolkit, method: str) -> None:
    error = toolkit.execute(f"print([p.{method} for p in list_parcels()])").error_output
    assert "a record is a dict already: use it as it is; the keys are: parcel_id" in error
    assert "```python\nprint([p for p in list_parcels()])\n```" in error
    unchecked = toolkit.execute(f"import json\nprint(json.loads('{{\"Rome\": 1}}').{method})").error_output
    assert "this is a dict already: use it as it is; its keys are: Rome" in unchecked


@pytest.mark.parametrize("arguments", ["exclude={'weight'}", "**{'exclude': {'weight'}}", "{'weight'}"])
def test_conversion_of_a_part_is_not_corrected_to_the_whole(toolkit: Toolkit, arguments: str) -> None:
    error = toolkit.execute(f"print([p.model_dump({arguments}) for p in list_parcels()])").error_output
    assert "a record is a dict already: use it as it is; the keys are: parcel_id" in error
    assert "```python" not in error


def test_constants_of_json_are_corrected(toolkit: Toolkit) -> None:
    error = toolkit.execute(
        "rows = list_parcels()\nprint({'all': true, 'none': [null, false], 'x': undefined})"
    ).error_output
    assert "Hint: in Python, it is True" in error
    assert "\nprint({'all': True, 'none': [None, False], 'x': None})\n```" in error


HANDLED: dict[str, str] = {
    "the error's class": "try:\n    print(list_parcels()[0]['heft'])\nexcept KeyError:\n    print('none')",
    "a class above it": (
        "try:\n    print(list_parcels()[0]['heft'])\nexcept (ValueError, LookupError):\n    print('none')"
    ),
    "any class": "try:\n    len(5), list_parcels()\nexcept Exception as error:\n    print('none')",
    "in the caller": (
        "def heft(p):\n    return p['heft']\ntry:\n    heft(list_parcels()[0])\nexcept KeyError:\n    print('none')"
    ),
    "suppressed": "from contextlib import suppress\nwith suppress(KeyError):\n    list_parcels()[0]['heft']",
}


@pytest.mark.parametrize("program", HANDLED.values(), ids=HANDLED.keys())
def test_handled_mistake_is_not_reported(toolkit: Toolkit, program: str) -> None:
    assert toolkit.check(program) == []
    assert toolkit.execute(program).success


LARGE: dict[str, str] = {
    "slips among many names": "list_parcels()\n" + "".join(f"name_{n} = {n}\n" for n in range(3_000)) + "nam_1\n" * 49,
    "a chain of attributes": "list_parcels()\nx = 1\nx" + ".real" * 800,
    "calls of calls": "list_parcels()\n"
    + "".join(f"def f{n}(x):\n    f{n - 1}(x)\n    return f{n - 1}([x])\n" for n in range(1, 60)).replace(
        "f0(", "str("
    ),
    "loops in loops": "list_parcels()\nx = 1\n"
    + "".join("    " * n + f"for i{n} in range(3):\n" for n in range(18))
    + "    " * 18
    + "x = str(x) if x == 1 else len(x)",
    "pairs of pairs": "list_parcels()\nd = 1\n" + "d = (d, d)\n" * 900,
    "doubled types": "list_parcels()\nd = 1\n" + "d = [d, d]\n" * 60 + "d = {'k': d, 'j': [d, {**d}]}\n" * 20,
    "many statements": "list_parcels()\n" + "x=1;" * 2_900 + "\nprint(nowhere)",
    "many keys": f"list_parcels()\nd = {dict.fromkeys(map(str, range(900)))}\n" + "d['zz']\n" * 20,
    "many mistakes": "list_parcels()\n" + "print(list_parcels()[0]['heft'])\n" * 2_000,
}


@pytest.mark.parametrize("program", LARGE.values(), ids=LARGE.keys())
def test_check_ends_within_its_steps(toolkit: Toolkit, program: str) -> None:
    assert len(toolkit.check(program)) <= 50


def test_slow_machine_gets_hint_for_first_mistake() -> None:
    tree = ast.parse("heft")
    late = Rules(read_facts(tree), Shapes({}), (), deadline=0)
    assert late.may_suggest
    late.report(tree.body[0], "undefined-name", "NameError: name 'heft' is not defined")
    assert not late.may_suggest
