"""More tools than a worker gets: its program has those that its text names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest

from ez_ptc import Toolkit
from ez_ptc.sandbox.protocol.execution import Grant, Grants
from ez_ptc.tools.definitions.names import NearNames
from tests.toolkit.catalog.many import many_tools, named_tools


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit(many_tools(400), assist_tool_chaining=True) as toolkit:
        yield toolkit


def printed(toolkit: Toolkit, program: str) -> str:
    """Run a program and return what it prints."""
    result = toolkit.execute(program)
    assert result.success, result.error_output
    return result.output


NAMING = {
    "called": "print(list_orders('Ada', 2003)[0].total)",
    "passed": "print(parallel((list_orders, 'Ada', 2003))[0][0].total)",
    "in a text": "print(globals()['list_orders']('Ada', 2003)[0].total)",
    "evaluated": "print(eval('list_orders(\\'Ada\\', 2003)')[0].total)",
    "renamed": "f = list_orders\nprint(f('Ada', 2003)[0].total)",
    "after a search": "search_tools('orders')\nprint(list_orders('Ada', 2003)[0].total)",
    "as an argument's default": "def f(tool=list_orders):\n    return tool('Ada', 2003)[0].total\nprint(f())",
}


@pytest.mark.parametrize("program", NAMING.values(), ids=NAMING)
def test_program_has_the_tools_that_it_names(toolkit: Toolkit, program: str) -> None:
    assert printed(toolkit, program) == "13.0\n"


def test_mistakes_about_named_tools_are_found(toolkit: Toolkit) -> None:
    result = toolkit.execute("print(list_orders('Ada', 2003)[0].totl)")
    assert "has no 'totl'; it has: order_id, total" in result.error_output
    assert "missing argument 'year'" in toolkit.execute("list_orders('Ada')").error_output
    assert [mistake.rule for mistake in toolkit.check("list_orders('Ada')")] == ["tool-arguments"]


MISSPELT = {
    "list_ordrs('Ada', 2003)": "list_orders",
    "print(1, get_shipmnt(2))": "get_shipment",
    "x = refund_shiping(1, 2.0)": "refund_shipping",
    "for row in [getShipment(1)]:\n    print(row)": "get_shipment",
    "print(site1_tag_bugdet(id='1'))": "site1_tag_budget",
}


@pytest.mark.parametrize("program", MISSPELT)
def test_near_name_among_many_is_suggested(toolkit: Toolkit, program: str) -> None:
    text = toolkit.execute(program).error_output
    # Python 3.13 says so by itself: "Did you mean: 'list_orders'?".
    assert f"did you mean {MISSPELT[program]}" in text.lower().replace(":", "").replace("'", "")
    assert " others, for search_tools(...) to find" in text
    assert any(MISSPELT[program] in str(mistake) for mistake in toolkit.check(program))


def test_unknown_name_says_how_to_find_one(toolkit: Toolkit) -> None:
    text = toolkit.execute("qwertz(1)").error_output
    assert 'the tools are: 400 of other names; print(search_tools("what to do")) in a program of its own finds' in text


def test_tools_for_the_words_of_an_invented_name_are_suggested(toolkit: Toolkit) -> None:
    failed = toolkit.execute("print(count_orders())")
    assert "list_orders" in failed.error_output
    entry = toolkit.describe_tool("list_orders")
    assert "# Returns: list[{order_id: int, total: float}]" in entry
    for text in (*failed.facts, toolkit.answer("print(count_orders())", failed)):
        assert f"Functions that fit the words of count_orders:\n\n{entry}" in text
    assert len(failed.facts) == 1
    assert toolkit.execute("print(qwertz())").facts == ()
    assert Toolkit([*named_tools(["list_orders"])]).execute("count_orders()").facts == ()
    assert "did you mean list_orders(" in str(toolkit.check("print(customerOrders())")[0])
    names = [f"{verb}_{noun}" for verb in ("get", "list") for noun in "abcdefghijklmnop"] * 10
    near = NearNames([f"{name}_{number}" for number, name in enumerate(names)] + ["fetch_invoices", "get_tax"])
    assert near.related("print_invoice", 3) == ["fetch_invoices"]
    assert near.related("TaxPayer", 3) == ["get_tax"]
    assert near.related("get_list", 3) == near.related("x" * 1_000_000, 3) == near.related("", 3) == []


def test_sessions_keep_the_tools_of_earlier_programs(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        assert session.execute("def total():\n    return list_orders('Ada', 2003)[0].total\nprint(total())").success
        assert session.execute("print(total(), get_shipment(7)['days_late'])").output == "13.0 1\n"
        assert session.execute("list_orders = [1]\nprint(total is not None)").success
        assert session.execute("print(list_orders('Ada', 2003)[0].total)").output == "13.0\n"


def test_recorded_program_runs_again_with_what_it_names(tmp_path: Path) -> None:
    with Toolkit(many_tools(300), journal=tmp_path / "runs.db") as toolkit:
        program = "import time\nprint(list_orders('Ada', 2003)[0].total, search_tools('invoice', 1)[:4], time.time())"
        done = toolkit.execute(program)
        assert done.output.startswith("13.0 def ")
        assert toolkit.replay(str(done.run_id)).output == done.output


COMPUTED = {
    "a global": "globals()['get_' + 'shipment'](7)",
    "evaluated": "name = 'get_' + 'shipment'\neval(name + '(7)')",
    "a built-in": "import builtins\ngetattr(builtins, 'get_' + 'shipment')(7)",
}


def test_computed_name_of_a_tool_is_explained(toolkit: Toolkit) -> None:
    for program in COMPUTED.values():
        result = toolkit.execute(program)
        hint = "get_shipment is one of the functions, but with 400 of them a program gets only those whose names stand"
        assert any(fact.startswith(hint) for fact in result.facts), result.error
        assert hint in toolkit.answer(program, result)
    assert toolkit.execute("{}['get_shipment']").facts == ()


def test_recorded_call_by_a_computed_name_is_replayed_among_many(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    program = "print(globals()['get_' + 'shipment'](7)['days_late'])"
    with Toolkit(many_tools(10), journal=path) as few, Toolkit(many_tools(300), journal=path) as many:
        done = few.execute(program)
        assert done.output == "1\n"
        assert many.replay(str(done.run_id)).output == "1\n"


def test_worker_gets_no_more_than_it_needs() -> None:
    described: list[str] = []

    class Names(dict[str, Grant]):
        def __getitem__(self, name: str) -> Grant:
            described.append(name)
            return super().__getitem__(name)

    names = [
        first + second + third for first in ascii_lowercase for second in ascii_lowercase for third in "abcdefghijk"
    ]
    grants = Grants(table=Names({f"tool_{name}": Grant(f"tool_{name}", f"tool_{name}()") for name in names}))
    assert (len(grants.by_name), grants.encoded, described) == (7436, b"[]", [])
    program = "def f(x): return x\nprint(tool_abc(), f(len([1])), 'tool_zza'.upper(), other.tool_xx(1))"
    assert grants.names_in(program) == ["tool_abc", "tool_zza"]
    assert len(grants.names_in("tool_xyzz()")) == 3
    assert grants.names_in("\n".join(f"tool_{number}x()" for number in range(1_000))) == []
    assert len(grants.rows(["tool_abc"])) == 1
    assert set(described) == {"tool_abc"}


def test_near_names_of_many_are_those_of_few() -> None:
    names = [
        f"{verb}_{noun}_{number}" for verb in ("get", "list") for noun in ("order", "shop") for number in range(300)
    ]
    few, many = NearNames(names[:90]), NearNames(names)
    for misspelt in ("get_ordr_33", "GetOrder33", "get_order_3", "gte_order_33"):
        assert few.find(misspelt, 3)[0] in many.find(misspelt, 10)
    assert many.find("get_order_299", 1) == ["get_order_299"]
    assert many.find("", 3) == many.find("qqq", 3) == []
    assert many.find("x" * 1_000_000, 3) == []


def test_names_that_differ_in_one_letter_are_told_apart() -> None:
    with Toolkit(
        named_tools([f"tool_{first}{second}" for first in ascii_lowercase for second in ascii_lowercase])
    ) as toolkit:
        assert printed(toolkit, 'print(search_tools("tool_cd", 1)[:11], tool_cd(id="3"))') == "def tool_cd id\n"
        assert toolkit.search_tools("tool_cdX", 1).startswith("def tool_")
        text = toolkit.execute("print(tool_cdd(id='3'))").error_output
        assert "the tools are: tool_" in text
        assert "tool_cd" in text.partition("the tools are:")[2]
