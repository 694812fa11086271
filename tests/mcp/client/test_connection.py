"""The states of a connection: what changes is in the table of its docstring, and nothing else does."""

from __future__ import annotations

import asyncio
from typing import Final, cast

import anyio
import pytest
from hypothesis import given
from mcp.server import Server

from ez_ptc import McpServerError, ToolError
from ez_ptc.mcp.client import connection as connections
from ez_ptc.mcp.client.connection import CHANGES, ConnectionChange, ServerConnection
from ez_ptc.mcp.client.dropped_tools import DroppedTools
from ez_ptc.mcp.client.servers import ServerAddress
from ez_ptc.mcp.client.settings import McpSettings
from ez_ptc.mcp.client.transports.processes import ServerProcess
from tests.state_tables import names_of, read_table, walks

TABLE: Final = read_table(connections)


async def _ignore() -> None:
    """Nothing is listed."""


def _connection(target: object = None) -> ServerConnection:
    process = ServerProcess(ServerAddress("shop", target=target))
    return ServerConnection(process, McpSettings(), _ignore, DroppedTools("shop"))


def test_docstring_shows_the_table_of_connections() -> None:
    assert names_of(CHANGES) == TABLE


@given(walks(TABLE))
def test_connection_follows_its_table_on_every_walk(walk: list[str]) -> None:
    connection, state = _connection(), "IDLE"
    for name in walk:
        after = TABLE[state].get(name)
        assert connection.change(cast("ConnectionChange", name)) is (after is not None)
        state = after or state
        assert connection.state.name == state


async def _lose(connection: ServerConnection) -> None:
    """Have a request find the session closed."""

    async def send(client: object) -> None:
        raise anyio.ClosedResourceError

    with pytest.raises(ToolError, match="ended during the call"):
        await connection.request(send, subject="price", seconds=None)
    assert connection.state.name == "ENDED"


async def _fail(connection: ServerConnection) -> str:
    with pytest.raises(McpServerError) as caught:
        await connection.client()
    return str(caught.value).partition(";")[0]


def test_connection_closed_in_any_state_opens_no_session() -> None:
    async def use(state: str) -> tuple[str, str, int]:
        connection = _connection(Server("shop"))
        if state == "OPEN":
            await connection.client()
        elif state == "ENDED":
            await _lose(connection)
        assert connection.state.name == state
        await connection.close()
        await connection.close()
        return await _fail(connection), connection.state.name, connection.generation

    says = "the connection to the MCP server shop is closed: connect again"
    for number, state in enumerate(("IDLE", "OPEN", "ENDED")):
        assert asyncio.run(use(state)) == (says, "CLOSED", min(number, 1))


def test_connection_closed_as_it_opens_is_ended() -> None:
    async def use() -> tuple[str, str]:
        connection = _connection(Server("shop"))
        opening = asyncio.create_task(connection.client())
        await asyncio.sleep(0)
        assert connection.state.name == "OPENING"
        closing = asyncio.create_task(connection.close())
        await asyncio.wait([opening, closing])
        return connection.state.name, await _fail(connection)

    assert asyncio.run(use()) == ("CLOSED", "the connection to the MCP server shop is closed: connect again")


def test_connection_that_has_ended_counts_its_death_once() -> None:
    async def use() -> list[str]:
        connection = _connection(Server("shop"))
        for _ in range(2):
            await _lose(connection)
        errors = [await _fail(connection) for _ in range(2)]
        assert connection.state.name == "IDLE"
        await connection.close()
        return errors

    assert asyncio.run(use()) == ["the MCP server shop is not available: it ended 2 times in a row"] * 2
