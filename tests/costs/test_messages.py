"""Messages of MCP clients and servers, saved conversations and decisions cost time and memory linear in their size."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_types import ToolListChangedNotification

from ez_ptc import DecisionError, HistoryError, Journal, Toolkit, ez_tool
from ez_ptc.conversation.saving.history import History
from ez_ptc.conversation.saving.serialization import from_json
from ez_ptc.mcp.client.catalog import ServerCatalog
from ez_ptc.mcp.client.definitions import distinct_names
from ez_ptc.mcp.client.dropped_tools import DroppedTools
from ez_ptc.mcp.client.servers import read_servers
from ez_ptc.mcp.client.settings import McpSettings
from ez_ptc.mcp.client.transports.processes import ServerProcess
from ez_ptc.mcp.client.transports.watch import ConnectionWatch
from ez_ptc.redaction.redactor import Redactor
from tests.costs.growth import check_growth
from tests.fuzz.mcp_messages import survive

pytestmark = pytest.mark.security


def _call(name: str, arguments: str) -> str:
    params = f'{{"name":{json.dumps(name)},"arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'


REQUESTS: dict[str, Callable[[int], str]] = {
    "an unknown tool": lambda size: _call("loook" * size, "{}"),
    "a name to describe": lambda size: _call("describe_tool", json.dumps({"name": "look" * size})),
    "words to search": lambda size: _call("search_tools", json.dumps({"query": "look " * size})),
    "unknown arguments": lambda size: _call("look", json.dumps({f"a{n}": n for n in range(size)})),
    "nested arguments": lambda size: _call("look", '{"name":' + "[" * size + "]" * size + "}"),
    "wrong items": lambda size: _call("look", json.dumps({"name": "a", "options": {"x": ["w"] * size}})),
    "a long argument": lambda size: _call("transfer", json.dumps({"to": "\u200b" * size, "amount": 1})),
    "decisions": lambda size: _call(
        "resume_program", json.dumps({"run_id": "r", "decisions": {f"r:{n}": True for n in range(size)}})
    ),
    "a program of errors": lambda size: _call("execute_tools", json.dumps({"code": "look(a=1)\n" * (size // 10)})),
    "lines that are no messages": lambda size: "{}\n" * (size // 10),
    "a long line": lambda size: "[" * size,
    "cancelled requests": lambda size: (
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n' * (size // 50)
    ),
}


@pytest.mark.parametrize("shape", REQUESTS.values(), ids=REQUESTS)
def test_answering_client_takes_linear_time(shape: Callable[[int], str]) -> None:
    check_growth(lambda size: shape(size).encode(), survive, start=2_000, most=128_000, bytes_each=4_000)


LISTED: dict[str, Callable[[int], list[object]]] = {
    "tools": lambda size: [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(size)],
    "tools of one name": lambda size: [{"name": "same", "inputSchema": {"type": "object"}}] * size,
    "tools without schemas": lambda size: [{"name": f"t{n}", "inputSchema": "x"} for n in range(size)],
    "no tools": lambda size: [None] * size,
    "a deep schema": lambda size: [
        {"name": "t", "inputSchema": json.loads('{"a":' * min(size, 900) + "{}" + "}" * min(size, 900))}
    ],
    "a wide schema": lambda size: [
        {
            "name": "t",
            "inputSchema": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(size)}},
        }
    ],
}


@pytest.mark.parametrize("shape", LISTED.values(), ids=LISTED)
def test_checking_listing_takes_linear_time(shape: Callable[[int], list[object]]) -> None:
    def run(listing: dict[str, list[object]]) -> None:
        ConnectionWatch(DroppedTools("shop"), Redactor(["s3cr3t-k3y"])).check_listing(SimpleNamespace(result=listing))

    check_growth(lambda size: {"tools": shape(size)}, run, start=250, most=16_000, bytes_each=8_000)


def test_flood_of_changed_listings_takes_no_memory() -> None:
    async def flood(size: int) -> None:
        catalog = ServerCatalog(ServerProcess(read_servers("python server.py")[0]), McpSettings())
        take = catalog._connection.callbacks._take_message  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as the SDK
        for _ in range(size):
            await take(ToolListChangedNotification())

    check_growth(int, lambda size: asyncio.run(flood(size)), start=20_000, most=80_000, bytes_each=50)


@pytest.mark.parametrize("name", ["same", "print", "_" * 200, "x-y"])
def test_naming_tools_takes_linear_time(name: str) -> None:
    check_growth(
        lambda size: [name] * size,
        lambda names: distinct_names(names, [""] * len(names)),
        start=250,
        most=16_000,
        bytes_each=2_000,
    )


SAVED: dict[str, Callable[[int], str]] = {
    "entries": lambda size: json.dumps(
        {"version": 1, "entries": [{"type": "text", "role": "user", "text": "a"}] * size}
    ),
    "wrong entries": lambda size: json.dumps({"version": 1, "entries": [{}] * size}),
    "fields": lambda size: json.dumps(
        {"version": 1, "entries": [{"type": "text", **{f"f{n}": 1 for n in range(size)}}]}
    ),
    "a long text": lambda size: json.dumps(
        {"version": 1, "entries": [{"type": "text", "role": "user", "text": "\x1b" * size}]}
    ),
    "a long role": lambda size: json.dumps(
        {"version": 1, "entries": [{"type": "text", "role": "x" * size, "text": ""}]}
    ),
    "nested lists": lambda size: '{"version":1,"entries":' + "[" * size + "]" * size + "}",
    "digits": lambda size: '{"version":' + "1" * size + "}",
    "half surrogates": lambda size: (
        '{"version":1,"entries":[{"type":"text","role":"user","text":"' + r"\ud800" * size + '"}]}'
    ),
}


def _load(text: str) -> None:
    try:
        from_json(text)
    except HistoryError:
        return


@pytest.mark.parametrize("shape", SAVED.values(), ids=SAVED)
def test_loading_conversation_takes_linear_time(shape: Callable[[int], str]) -> None:
    check_growth(shape, _load, start=1_000, most=128_000, bytes_each=4_000)


def test_searching_history_takes_linear_time() -> None:
    with History(":memory:") as history:
        check_growth(lambda size: "word " * size, history.search, start=1_000, most=1_000_000, bytes_each=20)


@ez_tool(requires_approval=True)
def pay(amount: int) -> int:
    """Pay."""
    return amount


DECIDED: dict[str, Callable[[int, str], object]] = {
    "calls that do not wait": lambda size, call: {f"{call}{number}": True for number in range(size)},
    "a long id": lambda size, call: {call * size: True},
    "a long answer": lambda size, call: {call: "x" * size},
    "arguments": lambda size, call: {call: {f"a{number}": 1 for number in range(size)}},
    "no dict": lambda size, call: ["x"] * size,
}


@pytest.mark.parametrize("shape", DECIDED.values(), ids=DECIDED)
def test_deciding_takes_linear_time(shape: Callable[[int, str], Any], tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit([pay], journal=journal) as toolkit:
        paused = toolkit.execute("pay(1)")
        assert paused.run_id is not None
        run_id, (call,) = paused.run_id, paused.pending

        def run(decisions: dict[str, object]) -> None:
            try:
                journal.decide(run_id, decisions)
            except DecisionError:
                return

        check_growth(lambda size: shape(size, call.id), run, start=1_000, most=128_000, bytes_each=2_000)
