"""Search inside programs, and beside them: what is found is what a full catalogue says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from ez_ptc import Tool, ToolError, Toolkit, ToolRegistry, ez_tool
from tests.toolkit.catalog.many import list_orders, many_tools, refund_shipping


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit(many_tools(100), assist_tool_chaining=True, catalog=300) as toolkit:
        yield toolkit


def printed(toolkit: Toolkit, program: str, **options: Any) -> str:
    """Run a program and return what it prints."""
    result = toolkit.execute(program, **options)
    assert result.success, result.error_output
    return result.output


def test_program_reads_the_entries_of_a_whole_catalog(toolkit: Toolkit) -> None:
    whole = Toolkit(toolkit.tools, assist_tool_chaining=True, catalog="full").prompt()
    described = printed(toolkit, 'print(describe_tool("list_orders"))').removesuffix("\n")
    assert described in whole
    assert described.endswith("# Returns: list[{order_id: int, total: float}]")
    found = printed(toolkit, 'print(search_tools("refund the shipping", limit=2))').removesuffix("\n")
    assert all(entry in whole for entry in found.split("\n\ndef "))
    assert found.startswith("def refund_shipping(")
    assert (toolkit.describe_tool("list_orders"), toolkit.search_tools("refund the shipping", 2)) == (described, found)


def test_program_calls_what_it_has_only_found(toolkit: Toolkit) -> None:
    program = 'name = search_tools("orders of a customer", 1)[4:15]\nprint(name, globals()[name]("Ada", 2003)[0].total)'
    assert printed(toolkit, program) == "list_orders 13.0\n"
    result = toolkit.execute('search_tools("orders")\nlist_orders("Ada", yaer=2003)')
    assert "has not run" in result.error_output
    assert "did you mean year" in result.error_output or "'yaer'" in result.error_output


def test_calls_of_the_finders_are_checked_and_not_listed(toolkit: Toolkit) -> None:
    assert [mistake.rule for mistake in toolkit.check("print(search_tools(limit=3))")] == ["tool-arguments"]
    assert toolkit.check('print(search_tools("x"), describe_tool(name="list_orders"))') == []
    result = toolkit.execute('search_tools("order")\nprint(list_orders("Ada", 2002)[0].order_id)')
    assert [call["name"] for call in result.tool_calls] == ["list_orders"]
    result = toolkit.execute('describe_tool("list_ordres")')
    assert "ToolError: unknown tool 'list_ordres' (did you mean 'list_orders'?)" in str(result.error)
    result = toolkit.execute('search_tools("order", limit=0)')
    assert "expected a limit from 1 to 20, got 0" in str(result.error)


def test_programs_that_do_not_name_the_finders_have_none(toolkit: Toolkit) -> None:
    assert printed(toolkit, 'print("search" + "_tools" in globals())') == "False\n"


@pytest.mark.parametrize("catalog", ["auto", "full"])
def test_each_toolkit_has_search(catalog: Literal["auto", "full"]) -> None:
    with Toolkit([list_orders], catalog=catalog) as toolkit:
        assert printed(toolkit, 'print(search_tools("orders")[:15])') == "def list_orders\n"


def test_search_without_a_hit_names_the_groups(toolkit: Toolkit) -> None:
    text = toolkit.search_tools("qwertz")
    assert text.startswith("No function fits these words: use others. The functions (100): get_… 11, assign_… 10,")
    assert toolkit.search_tools("") == text
    assert toolkit.search_tools("list_ordrs").startswith("def list_orders(")
    with Toolkit([list_orders]) as few:
        assert few.search_tools("qwertz").endswith("The functions (1): list_orders.")


def test_search_knows_the_tools_of_its_toolkit_alone() -> None:
    registry = ToolRegistry([list_orders])
    with Toolkit(registry) as first, Toolkit([refund_shipping]) as second:
        registry.register(refund_shipping)
        assert "def refund_shipping" not in first.search_tools("refund shipping")
        assert "list_orders" not in printed(second, 'print(search_tools("list orders of a customer"))')
        with pytest.raises(ToolError, match="unknown tool 'list_orders'"):
            second.describe_tool("list_orders")


def test_users_tool_of_that_name_comes_first() -> None:
    @ez_tool
    def search_tools(query: str) -> str:
        """Search the workshop for tools."""
        return f"no {query}"

    with Toolkit([search_tools, *many_tools(50)], catalog=300) as toolkit:
        assert 'print(search_tools_("what to do"))' in toolkit.prompt()
        program = 'print(search_tools("saw"), search_tools_("list orders", 1)[:15])'
        assert printed(toolkit, program) == "no saw def list_orders\n"


def test_sessions_remember_functions_that_search(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        assert session.execute("def find(words):\n    return search_tools(words, 1)[:15]\nprint(find('order'))").success
        result = session.execute("print(find('refund shipping'))")
        assert (result.output, result.error) == ("def refund_ship\n", None)
        assert session.execute("print(describe_tool('list_orders')[:7])").output == "def lis\n"


def test_branches_and_tasks_search(toolkit: Toolkit) -> None:
    program = 'print([text[:7] for text in parallel((search_tools, "order"), (describe_tool, "list_orders"))])'
    assert asyncio.run(toolkit.aexecute(program)).output == "['def lis', 'def lis']\n"


def test_recorded_program_finds_again_what_it_found(tmp_path: Path) -> None:
    @ez_tool(requires_approval=True)
    def pay(amount: float) -> str:
        """Pay an amount."""
        return f"paid {amount}"

    @ez_tool
    def pay_an_amount_later(amount: float) -> str:
        """Pay an amount, pay an amount, later."""
        return f"later {amount}"

    program = 'print(search_tools("pay an amount", 1)[:8])\nprint(pay(3.0))\nprint(search_tools("amount pay", 1)[:8])'
    with Toolkit([pay, *many_tools(60)], catalog=300, journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute(program)
        assert paused.status == "paused"
    tools = [pay_an_amount_later, pay, *many_tools(60)]
    with Toolkit(tools, catalog="full", journal=tmp_path / "runs.db") as toolkit:
        done = toolkit.resume(str(paused.run_id), {paused.pending[0].id: True})
        assert done.output == "def pay(\npaid 3.0\ndef pay(\n"
        assert toolkit.replay(str(paused.run_id)).output == done.output


def test_long_entries_are_shortened_to_a_line_in_a_search() -> None:
    tools = [
        Tool.from_schema(f"read_{number}", f"Read a page. {'word ' * 20_000}", {"type": "object"}, lambda: "page")
        for number in range(6)
    ]
    toolkit = Toolkit(tools)
    found = toolkit.search_tools("read a page")
    assert found.startswith(
        "In one line, because their descriptions are long; describe_tool returns the whole:\n- read_0("
    )
    assert len(found) < 1_000
    assert len(toolkit.describe_tool("read_3")) > 100_000


def test_ranker_of_the_developer_is_asked() -> None:
    asked: list[tuple[str, int]] = []

    def rank(query: str, texts: Mapping[str, str]) -> list[str]:
        asked.append((query, len(texts)))
        return sorted(texts, key=lambda name: "Refund" not in texts[name])

    toolkit = Toolkit(many_tools(20), ranker=rank)
    assert toolkit.search_tools("give the client his money back", 1).startswith("def refund_shipping(")
    assert asked == [("give the client his money back", 20)]
    toolkit = Toolkit(many_tools(20), ranker=lambda query, texts: ["other"])
    with pytest.raises(ValueError, match="the ranker returned 'other': expected names of the tools that it was given"):
        toolkit.search_tools("money")


def test_resumed_program_finds_only_the_tools_that_it_began_with(tmp_path: Path) -> None:
    @ez_tool(requires_approval=True)
    def refund(order: int) -> int:
        """Refund an order."""
        return order

    @ez_tool
    def secret_report() -> str:
        """Read the secret report."""
        return "secret"

    with Toolkit([refund], journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute("print(refund(1))\nprint(search_tools('secret report'))")
    with Toolkit([refund, secret_report], journal=tmp_path / "runs.db") as toolkit:
        resumed = toolkit.resume(str(paused.run_id), {paused.pending[0].id: True})
        assert "secret_report" in toolkit.search_tools("secret report")
    assert resumed.output.startswith("1\nNo function fits these words")
    assert "secret" not in resumed.output
