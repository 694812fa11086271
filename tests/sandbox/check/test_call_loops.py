"""Who asks for what no tool returns, or makes up an id, is shown a program that reads it."""

from __future__ import annotations

from typing import Any, TypedDict

from ez_ptc import Tool, Toolkit, ez_tool


class City(TypedDict):
    code: str
    name: str


class House(TypedDict):
    house_id: int
    street: str


def proposed_beginning(*tools: Tool[..., Any], code: str) -> str:
    with Toolkit(tools) as made:
        shown = made.execute(code).error_output
    return shown.partition("```python\n")[2].partition("\n```")[0]


@ez_tool(read_only=True)
def list_cities() -> list[City]:
    """List the cities."""
    raise NotImplementedError


@ez_tool(read_only=True)
def list_houses(city_code: str) -> list[House]:
    """List the houses in a city."""
    raise NotImplementedError


@ez_tool(read_only=True)
def get_tenants(house_id: int, month: str) -> list[str]:
    """Get the names of a house's tenants."""
    raise LookupError(house_id)


@ez_tool
def evict(house_id: int) -> bool:
    """Evict the tenants of a house."""
    raise LookupError(house_id)


def test_invented_id_shows_loops_that_read_it() -> None:
    begun = proposed_beginning(list_cities, list_houses, get_tenants, code="print(get_tenants(7, '2026-03'))")
    assert begun == (
        "for city in list_cities():\n"
        '    for house in list_houses(city["code"]):\n'
        "        result = get_tenants(house[\"house_id\"], '2026-03')"
    )


def test_effectful_call_is_not_proposed_per_item() -> None:
    assert proposed_beginning(list_cities, list_houses, evict, code="evict(7)") == ""


def test_read_ids_are_not_taken_for_invented() -> None:
    code = "number = 7\nget_tenants(number, '2026-03')"
    assert proposed_beginning(list_cities, list_houses, get_tenants, code=code) == ""
