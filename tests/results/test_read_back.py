"""One hostile value on every path: within the bound, no note of ours forged, and each byte read back as it was.

`EZ_PTC_VALUES` is the number of values of the longer test.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server

from ez_ptc import Limits, ScriptedProvider, ToolCall, Toolkit, ToolRegistry, ez_tool, llm
from ez_ptc.integrations.offers import offers_of
from ez_ptc.mcp.client.connect import amcp_tools
from ez_ptc.messages import ToolResultMessage
from tests.results.test_paths import (
    VALUES,
    Quoting,
    as_result,
    data_text,
    hostile_text,
    hostile_value,
    is_forged,
    text_of_format,
)

NAME = re.compile(r'results\["(r[0-9a-z_]+)"\]')
LIMITS: Final = (400, 1_000, 4_000, 30_000)
# What a program does with the value, and the part of its result that is shown of it.
PROGRAMS: Final[dict[str, tuple[str, Callable[[Any], object]]]] = {
    "output": ("print(take())", lambda result: result.output),
    "value": ("take()", lambda result: result.return_value if result.return_value is not None else result.described),
    "error": ("raise ValueError(take())", lambda result: result.error_output),
    "errors": ("import sys; print(take(), file=sys.stderr); 1 / 0", lambda result: result.error_output),
}


class Hostile:
    """A server, an agent and conversations with one tool, which returns `value`."""

    def __init__(self, most: int) -> None:
        self.value: object = None
        self.most = most
        self.calls = 0
        self.stack = AsyncExitStack()

        @ez_tool
        def take() -> object:
            """Take the value."""
            self.calls += 1
            return self.value

        self.take = take
        self.toolkit = Toolkit([take], limits=Limits(timeout=300.0, text=most, output=16 << 20, frame=64 << 20))

    async def open(self) -> None:
        enter = self.stack.enter_async_context
        await enter(self.toolkit)
        self.session = self.stack.enter_context(self.toolkit.session())
        self.client = await enter(Client(self.toolkit.as_mcp_server(mode="both").server))
        self.resources = await amcp_tools(await enter(resource_client(self)))
        (self.offer,) = offers_of(self.toolkit)
        (self.call_offer,) = offers_of(ToolRegistry([self.take], max_text=self.most))


@asynccontextmanager
async def resource_client(hostile: Hostile) -> AsyncGenerator[Any]:
    async def read(context: object, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        del context
        text = hostile.value if isinstance(hostile.value, str) else "x"
        text = text.encode("utf-8", "replace").decode()
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=text)])

    async def list_one(context: object, params: object) -> types.ListResourcesResult:
        del context, params
        return types.ListResourcesResult(resources=[types.Resource(name="value", uri="a://b")])

    server: Server[Any] = Server("hostile", on_read_resource=read, on_list_resources=list_one)
    async with Client(server) as client:
        yield client.session


def check(path: str, text: str, most: int) -> None:
    assert len(text) <= most, (path, most, len(text), text[:200])
    assert not is_forged(text), (path, text[:2_000])


def text_of(result: types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


COMPARED: Final = """
import sys

def is_same(one, other):
    if isinstance(one, dict):
        return [*map(repr, one)] == [*map(repr, other)] and all(map(is_same, one.values(), other.values()))
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, (set, frozenset)):
        return one == other
    return repr(one) == repr(other)

sys.set_int_max_str_digits(0)
print(is_same(results["NAME"], take()))
"""


def compare(name: str) -> str:
    """Return a program that compares a kept value with the tool's."""
    return COMPARED.replace("NAME", name)


async def check_programs(hostile: Hostile, chance: random.Random) -> int:
    """Run programs at once, in a session, over MCP and in a framework; return the number of values read back."""
    read, most = 0, hostile.most
    names = iter(chance.choices([*PROGRAMS], k=5))
    code, part = PROGRAMS[name := next(names)]
    result = await hostile.toolkit.aexecute(code, principal="ada")
    check(f"{name} of a program", result.to_string(), most)
    check(f"{name} of a program, answered", hostile.toolkit.answer(code, result, mode="tool"), most)
    check(f"{name} of a program, as value", result.value_text(), most)
    scope = hostile.toolkit.results_of("ada")
    for handle in getattr(result.keeper, "kept", {}) if name != "value" else ():
        read += 1
        text = scope.text(handle).strip()
        assert text.startswith(str(part(result)).strip()) or text == result.output.strip(), name
    code = PROGRAMS[name := next(names)][0]
    result = await hostile.session.aexecute(code, after=None)
    text = hostile.toolkit.answer(code, result, mode="tool")
    check(f"{name} in a session", text, most)
    for short in set(NAME.findall(text)) if name == "value" and not result.described else ():
        read += 1
        same = await hostile.session.aexecute(compare(short), after=None)
        assert same.output == "True\n", (short, same)
    code = PROGRAMS[name := next(names)][0]
    check(f"{name} as a tool", await hostile.toolkit.as_async_tool()(code), most)
    code = PROGRAMS[name := next(names)][0]
    check(f"{name} in a framework", (await hostile.offer.acall({"code": code})).text, most)
    code = PROGRAMS[name := next(names)][0]
    check(f"{name} over MCP", text_of(await hostile.client.call_tool("execute_tools", {"code": code})), most)
    return read


async def check_calls(hostile: Hostile) -> int:
    """Call the tool by itself: in a framework, over MCP and in a conversation; return the number read back."""
    read, most = 0, hostile.most
    check("call in a framework", (await hostile.call_offer.acall({})).text, most)
    text = text_of(await hostile.client.call_tool("take", {}))
    check("call over MCP", text, most)
    for handle in set(NAME.findall(text)):
        read += 1
        compared = text_of(await hostile.client.call_tool("execute_tools", {"code": compare(handle)}))
        assert compared == "True\n", (text[:500], compared)
    reader = next(tool for tool in hostile.resources if tool.name == "read_resource")
    (resource,) = offers_of(ToolRegistry([reader], max_text=most))
    check("resource", (await resource.acall({"uri": "a://b"})).text, most)
    same = ToolCall("", "execute_tools", {"code": compare("r1")})
    model = ScriptedProvider(ToolCall("", "take", {}), same, "Done.")
    asked = llm().toolkit(hostile.toolkit, mode="tool").tools(hostile.take).limits(text=most).provider(model)
    messages, _ = await asked.prompt_conversation("Take.")
    result, compared = [entry.result for entry in messages if isinstance(entry, ToolResultMessage)]
    shown = data_text(result)
    assert len(shown) <= most
    check("call in a conversation", text_of_format("anthropic", as_result(result, most)), most)
    check("next program in a conversation", compared, most)
    if NAME.search(shown):
        read += 1
        assert compared == "True\n", (shown[:500], compared)
    return read


async def check_values(count: int, seed: str, limits: tuple[int, ...] = LIMITS) -> int:
    chance, read = random.Random(seed), 0
    hosts = [Hostile(most) for most in limits]
    async with AsyncExitStack() as stack:
        for hostile in hosts:
            await stack.enter_async_context(hostile.stack)
            await hostile.open()
        for number in range(count):
            hostile = hosts[number % len(hosts)]
            hostile.value = hostile_text(chance) * chance.choice((1, 1, 40)) if number % 2 else hostile_value(chance)
            try:
                read += await check_programs(hostile, chance)
                read += await check_calls(hostile)
            except AssertionError as error:
                error.add_note(f"value {number} of {seed!r}")
                raise
    return read


def test_hostile_values_are_bounded_and_read_back_on_every_path(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    assert asyncio.run(check_values(4, "e", (400,))) > 1


class Name(str):
    __slots__ = ()


@pytest.mark.parametrize("kind", [str, Name, Quoting])
def test_text_that_only_escapes_make_too_long_is_kept_as_it_was(kind: Callable[[str], object]) -> None:
    async def call() -> int:
        hostile = Hostile(400)
        hostile.value = kind("\udfff" + "(ez-ptc: " * 40)
        async with hostile.stack:
            await hostile.open()
            return await check_calls(hostile)

    assert asyncio.run(call()) > 1


@pytest.mark.security
@pytest.mark.lengthy
def test_ten_thousand_hostile_values_are_bounded_and_read_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    assert asyncio.run(check_values(VALUES, "b")) > VALUES
