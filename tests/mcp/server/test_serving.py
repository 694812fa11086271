"""A toolkit served to the SDK's own client, in this process and as a command."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.server import Server
from mcp_types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
    TextContent,
)

from ez_ptc import Limits, Tool, Toolkit, ez_tool, mcp_tools
from ez_ptc.cli.app import main
from ez_ptc.mcp.server.serving import McpServer
from tests.mcp.servers.shop import toolkit


class Person:
    """Answers elicitations, and keeps the questions."""

    def __init__(self, action: str = "accept", *, approves: bool = True) -> None:
        self.questions: list[str] = []
        self._answer = ElicitResult.model_validate({"action": action, "content": {"approve": approves}})

    async def __call__(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.questions.append(params.message)
        return self._answer


@asynccontextmanager
async def client_of(server: McpServer | Server[Any], **options: Any) -> AsyncGenerator[Client]:
    async with Client(server.server if isinstance(server, McpServer) else server, **options) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """Return the way to connect: as clients do until 2025, and since."""
    return request.param


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


def test_tools_are_listed_with_schemas_and_hints(mode: str) -> None:
    async def look() -> None:
        async with client_of(toolkit.as_mcp_server(), mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["order", "orders", "refund", "whoami", "picture", "slow", "read_result", "search_result"]
        assert "user" not in tools["whoami"].input_schema["properties"]
        assert (tools["order"].output_schema or {})["properties"].keys() == {"id", "total"}
        assert (tools["orders"].output_schema or {})["required"] == ["result"]
        hints = tools["refund"].annotations
        assert hints is not None
        assert hints.destructive_hint
        assert not hints.read_only_hint

    run(look())


def test_numbers_and_flags_arrive_as_such() -> None:
    def count(word: str) -> int:
        """Count the letters."""
        return len(word)

    async def share(part: int) -> float:
        """Return a share."""
        return part / 4

    def is_open() -> bool:
        """Return whether the shop is open."""
        return True

    def house_number() -> str:
        """Return the house number."""
        return "3"

    server = Toolkit([count, share, is_open, house_number]).as_mcp_server()
    with Toolkit.from_mcp(server.server) as served:
        result = served.execute("[count('lamp'), share(3), is_open(), house_number()]")
    assert result.return_value == [4, 0.75, True, "3"]


def test_results_are_structured_and_failures_marked(mode: str) -> None:
    async def call() -> None:
        async with client_of(toolkit.as_mcp_server(), mode=mode) as client:
            assert (await client.call_tool("order", {"order_id": 1})).structured_content == {"id": 1, "total": 12.5}
            assert (await client.call_tool("orders")).structured_content["result"][1]["id"] == 2
            assert text_of(await client.call_tool("whoami")) == "Ada"
            assert (await client.call_tool("picture")).content[0].type == "image"
            wrong = await client.call_tool("order", {"order_id": "many"})
            failed = await client.call_tool("order", {"order_id": 101})
            with pytest.raises(MCPError, match=r"unknown tool 'ordr' \(did you mean 'order'\?\); available: order"):
                await client.call_tool("ordr")
        assert wrong.is_error
        assert "order_id" in text_of(wrong)
        assert failed.is_error
        assert text_of(failed) == "there is no such order"

    run(call())


@pytest.mark.parametrize(
    ("person", "text"),
    [
        (Person(), "refunded 5.0 of 7"),
        (Person(approves=False), "refund was not approved: the user did not approve it"),
        (Person("decline"), "refund was not approved: the user did not approve it"),
        (None, "this client cannot ask its user"),
    ],
)
def test_approval_is_asked_of_the_clients_user(mode: str, person: Person | None, text: str) -> None:
    async def call() -> None:
        async with client_of(toolkit.as_mcp_server(), mode=mode, elicitation_callback=person) as client:
            result = await client.call_tool("refund", {"order_id": 7})
        assert text in text_of(result)
        assert result.is_error == (not text.startswith("refunded"))
        assert person is None or "amount = 5.0" in person.questions[-1]

    run(call())


@pytest.mark.parametrize("name", ["functions.refund", "Refund", "refund<|channel|>commentary"])
def test_misspelled_name_is_understood_and_approved_as_the_tool(mode: str, name: str) -> None:
    async def call() -> None:
        person = Person()
        async with client_of(toolkit.as_mcp_server(), mode=mode, elicitation_callback=person) as client:
            result = await client.call_tool(name, {"order_id": 7})
        assert text_of(result) == "refunded 5.0 of 7"
        assert "refund" in person.questions[-1]

    run(call())


def test_approval_counts_only_for_the_arguments_shown() -> None:
    async def call() -> None:
        person = Person()
        async with client_of(toolkit.as_mcp_server(), elicitation_callback=person) as client:
            first = await client.session.call_tool("refund", {"order_id": 7}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            (question,) = first.input_requests or {}
            answers: InputResponses = {question: ElicitResult(action="accept", content={"approve": True})}
            other = await client.session.call_tool(
                "refund",
                {"order_id": 8},
                input_responses=answers,
                request_state=first.request_state,
                allow_input_required=True,
            )
        assert isinstance(other, InputRequiredResult)

    run(call())


def test_programs_run_search_and_describe(mode: str) -> None:
    async def call() -> None:
        received: list[tuple[float, str | None]] = []

        async def take(progress: float, total: float | None, message: str | None) -> None:
            received.append((progress, message))

        async with client_of(toolkit.as_mcp_server(mode="programs"), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["execute_tools", "search_tools", "describe_tool"]
            found = await client.call_tool("search_tools", {"query": "refund an order"})
            assert text_of(found).startswith("def refund(order_id: int")
            described = await client.call_tool("describe_tool", {"name": "order"})
            assert "Return an order." in text_of(described)
            code = "print(sum(order(n)['total'] for n in range(4)))"
            result = await client.call_tool("execute_tools", {"code": code}, progress_callback=take)
            assert text_of(result).strip() == "50.0"
            failed = await client.call_tool("execute_tools", {"code": "order(101)"})
            assert failed.is_error
            assert "there is no such order" in text_of(failed)
        assert received == [(number, "called order") for number in range(1, 5)]

    run(call())


def test_program_asks_while_it_waits() -> None:
    async def call() -> None:
        server = toolkit.as_mcp_server(mode="programs")
        async with client_of(server, mode="legacy", elicitation_callback=Person()) as client:
            result = await client.call_tool("execute_tools", {"code": "print(refund(1), refund(2))"})
        assert text_of(result).strip() == "refunded 5.0 of 1 refunded 5.0 of 2"

    run(call())


def test_journaled_program_pauses_for_an_answer(mode: str, tmp_path: Path) -> None:
    async def call() -> None:
        server = replace(toolkit, journal=tmp_path / "runs.db").as_mcp_server(mode="programs", decide="client")
        async with client_of(server, mode="auto", elicitation_callback=Person()) as client:
            asked = await client.call_tool("execute_tools", {"code": "print(refund(1)); print(refund(2))"})
            assert text_of(asked).split("\n")[:2] == ["refunded 5.0 of 1", "refunded 5.0 of 2"]
        async with client_of(server, mode=mode) as client:
            paused = text_of(await client.call_tool("execute_tools", {"code": "print(refund(3))"}))
            assert "waits for a person's decision about 1 call. " in paused
            run_id, call_id = paused.split("run_id '")[1].split("'")[0], paused.splitlines()[2].split(": ")[0]
            arguments = {"run_id": run_id, "approve": [call_id]}
            assert text_of(await client.call_tool("resume_program", arguments)).strip() == "refunded 5.0 of 3"

    run(call())


def test_large_toolkit_is_served_as_programs() -> None:
    def make(number: int) -> Tool[..., Any]:
        @ez_tool(name=f"tool_{number}")
        def function(x: int) -> int:
            """Add the number."""
            return x + number

        return function

    large = Toolkit([make(number) for number in range(500)])

    async def look() -> None:
        async with client_of(large.as_mcp_server()) as client:
            tools = (await client.list_tools()).tools
            assert tools[0].name == "execute_tools"
            assert len(tools[0].description or "") < 16_000
            assert text_of(await client.call_tool("execute_tools", {"code": "print(tool_499(1))"})).strip() == "500"

    run(look())


def test_cancelled_call_is_cancelled_in_the_tool(tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    async def call() -> None:
        async with client_of(toolkit.as_mcp_server(), mode="legacy") as client:
            with pytest.raises(MCPError, match="timed out"):
                await client.call_tool("slow", {"seconds": 60, "marker": str(marker)}, 0.3)
            assert text_of(await client.call_tool("whoami")) == "Ada"

    run(call())
    assert marker.read_text(encoding="utf-8") == "cancelled"


@pytest.mark.security
def test_command_serves_on_standard_streams() -> None:
    async def call() -> None:
        start = "import sys; from ez_ptc.cli.app import main; sys.exit(main(sys.argv[1:]))"
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-c", start, "serve", "shop:toolkit", "--mode", "both"],
            cwd=Path(__file__).parents[1] / "servers",
        )
        async with Client(parameters) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "order" in names
            assert "execute_tools" in names
            assert text_of(await client.call_tool("execute_tools", {"code": "print(whoami())"})).strip() == "Ada"

    run(call())


def test_command_refuses_an_open_address_without_token(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A toolkit of its own, because the command closes it at its end.
    (tmp_path / "open_shop.py").write_text("from ez_ptc import Toolkit\n\ntoolkit = Toolkit([])\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["serve", "open_shop:toolkit", "--http", "8000", "--host", "0.0.0.0", "--no-token"]) == 2
    assert "cannot serve without a token: others could reach the tools on" in capsys.readouterr().err


def test_own_client_and_server_understand_each_other() -> None:
    with mcp_tools(toolkit.as_mcp_server().server, elicit=lambda question: {"approve": True}) as tools:
        served = Toolkit(tools, approve=lambda call: True)
        result = served.execute("print(order(1).total, orders()[1]['id'], refund(3), picture()['media_type'])")

    assert result.output == "12.5 2 refunded 5.0 of 3 image/png\n"


@pytest.mark.parametrize("text", [600, 30_000])
def test_texts_of_a_served_result_are_bounded(text: int) -> None:
    @ez_tool
    def plain() -> str:
        """Return text."""
        return "line\n" * 200_000

    @ez_tool
    def untyped() -> dict[str, object]:
        """Return data."""
        return {"rows": ["x" * 100] * 10_000}

    @ez_tool
    def failing() -> str:
        """Fail."""
        raise ValueError("x" * 1_000_000)

    served = Toolkit([plain, untyped, failing], limits=Limits(text=text))
    server = served.as_mcp_server(mode="both")

    async def call_all() -> None:
        async with client_of(server) as client:
            for name in ("plain", "untyped", "failing"):
                assert len(text_of(await client.call_tool(name, {}))) <= text
            for program in ("print(plain())", "plain()", "failing()", "untyped()"):
                assert len(text_of(await client.call_tool("execute_tools", {"code": program}))) <= text

    asyncio.run(call_all())
    served.close()
