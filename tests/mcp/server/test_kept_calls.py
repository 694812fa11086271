"""Single calls whose results exceed the bound: kept for the client that made them, and read by it alone."""

from __future__ import annotations

import asyncio
import json
import random
import re
import secrets
from typing import Annotated, Literal, TypedDict, cast

import jsonschema_rs
import pytest
from mcp import Client
from mcp_types import CallToolResult
from pydantic import Field

from ez_ptc import Limits, Tool, Toolkit, ez_tool
from ez_ptc.mcp.server.served import ServeMode
from tests.mcp.server.test_serving import client_of, run, text_of
from tests.results.test_paths import hostile_value, is_forged

NAME = re.compile(r"r_[0-9a-f]{32}")


class Row(TypedDict):
    number: int
    text: str


class Named(TypedDict):
    name: Annotated[str, Field(pattern=r"^(\w|\d)+$")]
    pattern: Literal["x"]
    default: Annotated[str, Field(pattern=r"^\w$")]
    patternProperties: list[int]


class Page(TypedDict):
    rows: list[Row]


def make_rows(count: int) -> list[Row]:
    return [{"number": number, "text": f"row {number} " + "é" * 40} for number in range(count)]


@ez_tool(read_only=True)
def listed(count: int) -> list[Row]:
    """Return rows."""
    return make_rows(count)


@ez_tool(read_only=True)
def page(count: int) -> Page:
    """Return a page of rows."""
    return {"rows": make_rows(count)}


@ez_tool(read_only=True)
def untyped(count: int) -> dict[str, object]:
    """Return rows."""
    return {"rows": make_rows(count)}


@ez_tool(read_only=True)
def text(count: int) -> str:
    """Return lines."""
    return "".join(f"line {number:020} {'failed' if number % 300 == 0 else 'done'}\n" for number in range(count))


@ez_tool(read_only=True)
def failing(count: int) -> str:
    """Fail."""
    message = f"{'x' * count} the end"
    raise ValueError(message)


TOOLS = [listed, page, untyped, text, failing]


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """Return the way to connect: as clients do until 2025, and since."""
    return request.param


def size_of(result: CallToolResult) -> int:
    structured = "" if result.structured_content is None else json.dumps(result.structured_content, ensure_ascii=False)
    return max(len(text_of(result)), len(structured))


async def read_whole(client: Client, name: str) -> str:
    parts: list[str] = []
    while not parts or parts[-1]:
        arguments = {"name": name, "start": sum(map(len, parts)), "length": 20_000}
        parts.append(text_of(await client.call_tool("read_result", arguments)))
    return "".join(parts)


@pytest.mark.parametrize("tool", ["listed", "page", "untyped", "text", "failing"])
def test_long_result_is_bounded_and_read_back_whole(mode: str, tool: str) -> None:
    async def test() -> None:
        with Toolkit(TOOLS) as toolkit:
            async with client_of(toolkit.as_mcp_server(), mode=mode) as client:
                result = await client.call_tool(tool, {"count": 40_000 if tool == "failing" else 1_500})
                assert size_of(result) <= 30_000
                (name,) = set(NAME.findall(text_of(result)))
                whole = await read_whole(client, name)
        values: dict[str, object] = {"listed": make_rows(1_500), "page": {"rows": make_rows(1_500)}}
        values["untyped"] = values["page"]
        if tool == "failing":
            assert whole == f"{'x' * 40_000} the end"
        elif tool == "text":
            assert whole == text.fn(1_500)
        else:
            assert json.loads(whole) == values[tool]

    run(test())


@pytest.mark.parametrize("tool", ["listed", "page"])
def test_declared_result_over_the_bound_has_run_and_says_so(mode: str, tool: str) -> None:
    async def test() -> None:
        with Toolkit(TOOLS) as toolkit:
            async with client_of(toolkit.as_mcp_server(), mode=mode) as client:
                result = await client.call_tool(tool, {"count": 1_000})
        assert result.structured_content is None
        assert result.is_error  # for a client, a declared result has structured content, or is an error
        heading, note, sketch = text_of(result).split("\n")
        assert f"{tool} has run, and is not to be called again" in heading
        assert "the whole is kept as results[" in note
        json.loads(sketch)

    run(test())


def test_short_results_are_structured_as_declared(mode: str) -> None:
    async def test() -> None:
        with Toolkit(TOOLS) as toolkit:
            async with client_of(toolkit.as_mcp_server(), mode=mode) as client:
                schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
                for name in ("listed", "page"):
                    result = await client.call_tool(name, {"count": 300})
                    assert not result.is_error
                    assert jsonschema_rs.is_valid(schemas[name] or {}, result.structured_content)

    run(test())


@ez_tool
def ratio(top: float) -> float:
    """Divide something."""
    return top * 1e308


@ez_tool
def count() -> int:
    """Count something."""
    return cast("int", "many")


@ez_tool
def first() -> Row:
    """Find a row."""
    return cast("Row", None)


@ez_tool
def last() -> list[Row]:
    """Find rows."""
    return [cast("Row", {"number": "one", "text": "a"})]


@pytest.mark.parametrize(
    ("tool", "arguments", "problem", "shown"),
    [
        (ratio, {"top": 10}, "not of type", "Infinity"),
        (count, {}, "not of type", "many"),
        (first, {}, "not of type", "null"),
        (last, {}, "not of type", '[{"number":"one","text":"a"}]'),
    ],
)
def test_result_unlike_its_declared_schema_has_run_and_says_so(
    mode: str, tool: Tool[..., object], arguments: dict[str, object], problem: str, shown: str
) -> None:
    async def test() -> None:
        with Toolkit([tool]) as toolkit:
            async with client_of(toolkit.as_mcp_server(mode="tools"), mode=mode) as client:
                await client.list_tools()  # with the schema, the client's own check raises
                result = await client.call_tool(tool.name, arguments)
        assert result.is_error
        heading, text = text_of(result).split("\n")
        assert f"{tool.name} has run, and is not to be called again" in heading
        assert problem in heading
        assert text == shown

    run(test())


@pytest.mark.parametrize("name", ["Zo\u00eb", "\u0663"])
def test_pattern_of_a_result_is_left_to_its_own_check(mode: str, name: str) -> None:
    """Pydantic's, and the client's, take letters and digits beyond ASCII."""

    @ez_tool
    def find() -> Named:
        """Find a name."""
        return {"name": name, "pattern": "x", "default": "\u00eb", "patternProperties": []}

    async def test() -> None:
        with Toolkit([find]) as toolkit:
            async with client_of(toolkit.as_mcp_server(mode="tools"), mode=mode) as client:
                result = await client.call_tool("find", {})
        assert (result.is_error, result.structured_content) == (False, find.definition.function())

    run(test())


def test_fitting_number_is_structured_beside_an_infinite_one(mode: str) -> None:
    async def test() -> None:
        with Toolkit([ratio]) as toolkit:
            async with client_of(toolkit.as_mcp_server(mode="tools"), mode=mode) as client:
                results = [await client.call_tool("ratio", {"top": top}) for top in (10, 1)]
        assert [result.is_error for result in results] == [True, False]
        assert results[1].structured_content == {"result": 1e308}

    run(test())


def test_tools_for_kept_results_are_listed_where_single_calls_are() -> None:
    async def names(toolkit: Toolkit, mode: ServeMode) -> list[str]:
        async with client_of(toolkit.as_mcp_server(mode=mode)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    async def test() -> None:
        readers = ["read_result", "search_result"]
        with Toolkit([text]) as toolkit:
            assert await names(toolkit, "tools") == ["text", *readers]
            assert (await names(toolkit, "both"))[:3] == ["text", *readers]
            assert not {*await names(toolkit, "programs")} & {*readers}

    run(test())


def test_search_finds_lines_with_their_positions() -> None:
    async def test() -> None:
        with Toolkit(TOOLS) as toolkit:
            async with client_of(toolkit.as_mcp_server()) as client:
                (name,) = NAME.findall(text_of(await client.call_tool("text", {"count": 1_100})))
                found = await client.call_tool("search_result", {"name": name, "pattern": "failed$"})
                assert json.loads(text_of(found))["count"] == 4
                start = json.loads(text_of(found))["matches"][1]["start"]
                part = await client.call_tool("read_result", {"name": name, "start": start, "length": 32})
                assert text_of(part) == "line 00000000000000000300 failed"

    run(test())


def test_backtracking_pattern_of_a_client_takes_linear_time() -> None:
    async def test() -> None:
        with Toolkit(TOOLS) as toolkit:
            async with client_of(toolkit.as_mcp_server()) as client:
                (name,) = NAME.findall(text_of(await client.call_tool("failing", {"count": 200_000})))
                for pattern in ("(x+x+)+y", "(x*)*$y", "(x|xx)+y", "(.*)*y"):
                    found = await client.call_tool("search_result", {"name": name, "pattern": pattern})
                    assert json.loads(text_of(found))["count"] == 0
                refused = await client.call_tool("search_result", {"name": name, "pattern": "(?=x)"})
                assert refused.is_error

    run(test())


def test_program_reads_the_result_of_a_single_call() -> None:
    async def test() -> None:
        with Toolkit(TOOLS) as toolkit:
            async with client_of(toolkit.as_mcp_server(mode="both")) as client:
                (name,) = NAME.findall(text_of(await client.call_tool("listed", {"count": 1_000})))
                code = f"print(sum(row['number'] for row in results['{name}']))"
                assert text_of(await client.call_tool("execute_tools", {"code": code})) == "499500\n"
                kept = text_of(await client.call_tool("execute_tools", {"code": "print('y' * 50_000)"}))
                (name,) = set(NAME.findall(kept))
                assert await read_whole(client, name) == f"{'y' * 50_000}\n"

    run(test())


def test_another_client_finds_no_such_result() -> None:
    async def test() -> None:
        with Toolkit(TOOLS) as toolkit:
            server = toolkit.as_mcp_server(mode="both")
            async with client_of(server) as ada, client_of(server) as eve:
                (name,) = NAME.findall(text_of(await ada.call_tool("text", {"count": 1_500})))
                for tool, more in (("read_result", {}), ("search_result", {"pattern": "line"})):
                    of_ada = await eve.call_tool(tool, {"name": name, **more})
                    of_none = await eve.call_tool(tool, {"name": "r_" + "0" * 32, **more})
                    assert of_ada.is_error
                    assert text_of(of_ada).replace(name, "r_" + "0" * 32) == text_of(of_none)
                assert not (await ada.call_tool("read_result", {"name": name})).is_error

    run(test())


def test_own_client_passes_whole_results_to_programs() -> None:
    server = Toolkit(TOOLS, limits=Limits(text=500)).as_mcp_server()
    with Toolkit.from_mcp(server.server) as served:
        program = "len(listed(300)), len(page(300).rows), len(untyped(300)['rows']), len(text(300))"
        assert served.execute(program).return_value == (300, 300, 300, len(text.fn(300)))


def test_hostile_results_keep_within_the_bound_of_a_server() -> None:
    run(check_hostile_results(9))


@pytest.mark.security
@pytest.mark.lengthy
def test_ten_thousand_hostile_results_keep_within_the_bound_of_a_server() -> None:
    asyncio.run(check_hostile_results(10_000))


async def check_hostile_results(count: int) -> None:
    chance = random.Random(3)
    value: object = None

    @ez_tool
    def find() -> object:
        """Find."""
        return value

    @ez_tool(return_schema={"type": "object", "properties": {"value": {}}})
    def declared() -> object:
        """Find."""
        return {"value": value}

    for most in (60, 1_000, 30_000):
        with Toolkit([find, declared], limits=Limits(text=most)) as toolkit:
            async with client_of(toolkit.as_mcp_server()) as client:
                for _ in range(count // 3):
                    value = hostile_value(chance)
                    for name in ("find", "declared"):
                        result = await client.call_tool(name, {})
                        assert len("".join(block.text for block in result.content if block.type == "text")) <= most
                        assert not is_forged(text_of(result))
                        structured = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
                        if name == "find":
                            assert not is_forged(structured)
                        if result.structured_content is not None:
                            assert len(structured) <= most


@pytest.mark.security
def test_ten_thousand_guesses_of_clients_at_once_read_nothing() -> None:
    async def attack(client: Client, names: list[str]) -> None:
        for number in range(5_000):
            name = names[number % len(names)] if number % 5 == 0 else f"r_{secrets.token_hex(16)}"
            tool, more = ("search_result", {"pattern": "line"}) if number % 2 else ("read_result", {})
            result = await client.call_tool(tool, {"name": name, **more})
            assert result.is_error
            assert "line" not in text_of(result)

    async def test() -> None:
        with Toolkit(TOOLS) as toolkit:
            server = toolkit.as_mcp_server()
            async with client_of(server) as ada, client_of(server) as eve:
                kept: list[list[str]] = []
                for client in (ada, eve):
                    texts = [text_of(await client.call_tool("text", {"count": 1_100 + size})) for size in range(9)]
                    kept.append([NAME.findall(found)[0] for found in texts])
                await asyncio.gather(attack(ada, kept[1]), attack(eve, kept[0]))

    asyncio.run(asyncio.wait_for(test(), 500))
