"""Results too long for the models of a server's clients: each client reads its own."""

from __future__ import annotations

import asyncio
import re
import secrets
from typing import Any

import pytest
from mcp import Client

from ez_ptc import Toolkit
from tests.mcp.server.test_serving import client_of, run, text_of

NAME = re.compile(r"r_[0-9a-f]{32}[a-z]?")


async def execute(client: Client, code: str) -> str:
    return text_of(await client.call_tool("execute_tools", {"code": code}))


async def keep(client: Client, word: str) -> str:
    """Print what is too long, and return the name in the text about it."""
    text = await execute(client, f"print({word!r} * 20_000)")
    assert len(text) <= 30_000
    (name,) = set(NAME.findall(text))
    return name


def test_client_reads_its_own_result_alone() -> None:
    async def test() -> None:
        with Toolkit([]) as toolkit:
            server = toolkit.as_mcp_server(mode="programs")
            async with client_of(server) as ada, client_of(server) as eve:
                names = await asyncio.gather(keep(ada, "ada"), keep(eve, "eve"))
                for client, own, other in ((ada, *names), (eve, *reversed(names))):
                    assert await execute(client, f"print(len(results['{own}']))") == "60001\n"
                    for read in (f"results['{other}']", f"read_result('{other}')", f"search_result('{other}', 'a')"):
                        missing = await execute(client, f"print({read})".replace(other, "r_" + "0" * 32))
                        assert (await execute(client, f"print({read})")).replace(other, "r_" + "0" * 32) == missing

    run(test())


def test_principal_reads_its_result_in_another_connection() -> None:
    async def test() -> None:
        with Toolkit([]) as toolkit:
            async with client_of(toolkit.as_mcp_server(mode="programs", principal="ada")) as client:
                name = await keep(client, "ada")
            for principal, expected in (("ada", True), ("eve", False)):
                async with client_of(toolkit.as_mcp_server(mode="programs", principal=principal)) as client:
                    read = "60001" in await execute(client, f"print(len(results['{name}']))")
                    assert read is expected

    run(test())


@pytest.mark.security
def test_clients_at_once_guess_nothing_of_each_other() -> None:
    async def attack(client: Client, names: list[str]) -> list[Any]:
        texts: list[str] = []
        for _ in range(50):
            guesses = [*names, *(f"r_{secrets.token_hex(16)}" for _ in range(100 - len(names)))]
            texts.append(await execute(client, f"print([results[name] for name in {guesses} if results.get(name)])"))
        return texts

    async def test() -> None:
        with Toolkit([]) as toolkit:
            server = toolkit.as_mcp_server(mode="programs")
            async with client_of(server) as ada, client_of(server) as eve:
                of_ada = [await keep(ada, f"ada{number}") for number in range(5)]
                of_eve = [await keep(eve, f"eve{number}") for number in range(5)]
                texts = await asyncio.gather(attack(ada, of_eve), attack(eve, of_ada))
                assert texts == [["[]\n"] * 50] * 2

    asyncio.run(asyncio.wait_for(test(), 400))
