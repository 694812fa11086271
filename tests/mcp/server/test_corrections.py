"""Corrections of failed programs of a server's clients: by the token in the failure's text, for their caller alone."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from ez_ptc import Toolkit, ez_tool
from tests.mcp.server.test_questions import YES, run_id_of
from tests.mcp.server.test_serving import client_of, run, text_of
from tests.mcp.servers.places import PLACES, open_place

TOKEN = re.compile(r"p_[0-9a-f]{24}")
REFUSED = "there is no such program of this caller; nothing was run"


class Till:
    """A tool that notes what it does."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def toolkit(self, **options: Any) -> Toolkit:
        @ez_tool
        def charge(customer: str) -> str:
            """Charge a customer."""
            self.done.append(customer)
            return f"receipt {len(self.done)}"

        @ez_tool(requires_approval=True)
        def refund(customer: str) -> str:
            """Refund a customer."""
            self.done.append(f"refund {customer}")
            return f"refund {len(self.done)}"

        return Toolkit([charge, refund], **options)


async def send(client: Client, code: str, after: object = None) -> str:
    arguments = {"code": code} if after is None else {"code": code, "after": after}
    return text_of(await client.call_tool("execute_tools", arguments))


async def fail(client: Client, customer: str) -> str:
    """Run a program that charges a customer and fails; return the token for its correction."""
    (token,) = set(TOKEN.findall(await send(client, f"charge('{customer}')\n1 / 0")))
    return token


@pytest.fixture(params=PLACES)
def place_of(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return partial(open_place, request.param)


@pytest.mark.parametrize("journal", [False, True], ids=["memory", "journal"])
@pytest.mark.sampled(every=3)
def test_correction_with_the_token_makes_no_call_again(
    place_of: Callable[..., Any], tmp_path: Path, *, journal: bool
) -> None:
    async def test() -> None:
        till = Till()
        with till.toolkit(journal=tmp_path / "runs.db" if journal else None) as toolkit:
            async with place_of(toolkit.as_mcp_server(mode="programs")) as place, place.client() as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert tools["execute_tools"].input_schema["properties"].keys() == {"code", "after"}
                assert tools["execute_tools"].input_schema["required"] == ["code"]
                token = await fail(client, "Ada")
                again = await send(client, "print(charge('Ada'))\nprint(charge('Eve'))\n[][0]", token)
                assert set(TOKEN.findall(again)) == {token}
                assert await send(client, "print(charge('Ada'), charge('Eve'))", token) == "receipt 1 receipt 2\n"
                assert "has been corrected; nothing was run" in await send(client, "charge('Ada')", token)
                assert await send(client, "print(charge('Ada'))", "") == "receipt 3\n"
        assert till.done == ["Ada", "Eve", "Ada"]

    run(test())


def test_client_with_the_token_of_another_runs_nothing() -> None:
    async def test() -> None:
        till = Till()
        with till.toolkit() as toolkit:
            server = toolkit.as_mcp_server(mode="programs")
            async with client_of(server) as ada, client_of(server) as eve:
                tokens = await asyncio.gather(fail(ada, "ada"), fail(eve, "eve"))
                for client, other in ((ada, tokens[1]), (eve, tokens[0])):
                    missing = f"p_{'0' * 24}"
                    text = await send(client, "charge('x')", other)
                    assert REFUSED in text
                    assert text.replace(other, missing) == await send(client, "charge('x')", missing)
                assert sorted(till.done) == ["ada", "eve"]
                texts = await asyncio.gather(
                    send(ada, "print(charge('ada'))", tokens[0]), send(eve, "print(charge('eve'))", tokens[1])
                )
        assert sorted(till.done) == ["ada", "eve"]
        assert texts == [f"receipt {1 + till.done.index(name)}\n" for name in ("ada", "eve")]

    run(test())


def test_principal_corrects_its_program_in_another_connection() -> None:
    async def test() -> None:
        till = Till()
        with till.toolkit() as toolkit:
            async with client_of(toolkit.as_mcp_server(mode="programs", principal="ada")) as client:
                token = await fail(client, "Ada")
            async with client_of(toolkit.as_mcp_server(mode="programs", principal="eve")) as client:
                assert REFUSED in await send(client, "charge('Ada')", token)
            async with client_of(toolkit.as_mcp_server(mode="programs", principal="ada")) as client:
                assert await send(client, "print(charge('Ada'))", token) == "receipt 1\n"
        assert till.done == ["Ada"]

    run(test())


@pytest.mark.parametrize("after", [5, ["p_1"], {"token": 1}, True, "nothing", "p_\ud800", "x" * 100_000])
def test_wrong_token_is_an_error_and_runs_nothing(after: object) -> None:
    async def test() -> None:
        till = Till()
        with till.toolkit() as toolkit:
            async with client_of(toolkit.as_mcp_server(mode="programs")) as client:
                result = await client.call_tool("execute_tools", {"code": "charge('Ada')", "after": after})
                assert result.is_error
                assert len(text_of(result)) < 1_000
                assert "expected after to be the token in the text of a failed program, got " in text_of(result)
        assert not till.done

    run(test())


def test_program_that_failed_after_an_approval_can_be_corrected(place_of: Callable[..., Any], tmp_path: Path) -> None:
    async def test() -> None:
        till = Till()
        with till.toolkit(journal=tmp_path / "runs.db") as toolkit:
            server = toolkit.as_mcp_server(mode="programs")
            async with place_of(server) as place, place.client(YES) as client:
                text = await send(client, "charge('Ada')\nrefund('Ada')\n1 / 0")
                (token,) = set(TOKEN.findall(text))
                assert await send(client, "print(charge('Ada'), refund('Ada'))", token) == "receipt 1 refund 2\n"
        assert till.done == ["Ada", "refund Ada"]

    run(test())


def test_correction_that_waits_goes_on_and_is_corrected(tmp_path: Path) -> None:
    async def test() -> None:
        till = Till()
        with till.toolkit(journal=tmp_path / "runs.db") as toolkit:
            async with client_of(toolkit.as_mcp_server(mode="programs")) as client:
                token = await fail(client, "Ada")
                run_id = run_id_of(await send(client, "charge('Ada')\nrefund('Ada')\n[][0]", token))
                assert "waits for a person's decision; nothing was run" in await send(client, "charge('Ada')", token)
                toolkit.open_journal().decide(run_id, {toolkit.open_journal().run(run_id).pending[0].id: True})
                text = text_of(await client.call_tool("resume_program", {"run_id": run_id}))
                (token,) = set(TOKEN.findall(text))
                assert await send(client, "print(charge('Ada'), refund('Ada'))", token) == "receipt 1 refund 2\n"
        assert till.done == ["Ada", "refund Ada"]

    run(test())


@pytest.mark.security
def test_clients_at_once_guess_and_swap_no_token() -> None:
    async def attack(client: Client, tokens: list[str]) -> list[str]:
        guesses = [*tokens, *(f"p_{secrets.token_hex(12)}" for _ in range(500 - len(tokens)))]
        return [await send(client, "print(charge('x'))", guess) for guess in guesses]

    async def test() -> None:
        till = Till()
        with till.toolkit() as toolkit:
            server = toolkit.as_mcp_server(mode="programs")
            async with client_of(server) as ada, client_of(server) as eve:
                of_ada = [await fail(ada, "ada") for _ in range(20)]
                of_eve = [await fail(eve, "eve") for _ in range(20)]
                texts = await asyncio.gather(attack(ada, of_eve), attack(eve, of_ada))
                assert all(REFUSED in text for client in texts for text in client)
                assert till.done == ["ada"] * 20 + ["eve"] * 20

    asyncio.run(asyncio.wait_for(test(), 300))
