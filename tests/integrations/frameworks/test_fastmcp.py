"""FastMCP's real code mode over our sandbox, driven by its own client."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from fastmcp.experimental.transforms.code_mode import CodeMode

from ez_ptc import Toolkit, ez_tool
from ez_ptc.errors import ToolError as ProgramError
from ez_ptc.integrations.code_modes.fastmcp import SandboxProvider
from tests.integrations.frameworks.shop import Effects, shop

pytestmark = pytest.mark.anyio


def server(**options: Any) -> FastMCP:
    mcp: FastMCP = FastMCP("shop", transforms=[CodeMode(sandbox_provider=SandboxProvider(**options))])

    @mcp.tool
    def price(item: str) -> float:
        """Look up a price."""
        return float(len(item))

    return mcp


async def execute(code: str) -> Any:
    async with Client(server()) as client:
        return (await client.call_tool("execute", {"code": code})).content


LOOP = """\
total = 0
for item in ['t', 'coffee']:
    total += (await call_tool('price', {'item': item}))['result']
return total
"""
FUNCTION = """\
import statistics
def mean(items):
    return statistics.mean(items)
if True:
    return mean([6.0, 8])
"""


@pytest.mark.parametrize("code", [LOOP, FUNCTION, "7.0", "async def go():\n    return 7.0\nawait go()"])
async def test_code_mode_runs_in_our_sandbox(code: str) -> None:
    assert "7.0" in str(await execute(code))


async def test_printed_output_is_returned_if_nothing_else_is() -> None:
    assert "hello" in str(await execute("print('hello')"))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("open('/etc/passwd')", "PermissionError|not allowed|OSError"),
        ("await call_tool('nothing', {})", "nothing"),
        ("return (", "SyntaxError"),
    ],
)
async def test_failing_code_is_a_tool_error(code: str, text: str) -> None:
    with pytest.raises(ToolError, match=text):
        await execute(code)


async def test_inputs_are_variables() -> None:
    assert await SandboxProvider().run("return a + b", inputs={"a": 1, "b": 2}) == 3


async def test_long_output_is_bounded_and_read_by_the_next_program() -> None:
    provider = SandboxProvider()
    text = await provider.run("print('x' * 500_000)")
    assert len(text) <= 30_000
    (name,) = set(re.findall(r'results\["(r_[0-9a-f]{32})"\]', text))
    assert await provider.run(f"return len(results[{name!r}])") == 500_001
    with pytest.raises(ProgramError) as raised:
        await SandboxProvider().run(f"print('x' * 500_000)\nresults[{name!r}]")
    assert len(str(raised.value)) <= 30_000
    assert f"there is no result '{name}' of this caller" in str(raised.value)


def shop_server() -> FastMCP:
    """Return a server with a tool that reads and one that requires approval."""
    mcp: FastMCP = FastMCP("shop")
    notes: list[str] = []

    @mcp.tool(annotations={"readOnlyHint": True})
    def price(item: str) -> float:
        """Look up a price."""
        return float(len(item))

    @mcp.tool(annotations={"destructiveHint": True})
    def note(text: str) -> list[str]:
        """Keep a note."""
        notes.append(text)
        return notes

    return mcp


@pytest.mark.parametrize("make", [Client, lambda server: server, lambda server: Client(server).transport])
def test_client_or_server_is_a_source_of_tools(make: Any) -> None:
    def double(number: float) -> float:
        """Double a number."""
        return 2 * number

    with Toolkit([make(shop_server()), double], approve=lambda call: call.arguments["text"] != "no") as toolkit:
        assert toolkit.execute("print(double(price('tea')))").output == "6.0\n"
        assert toolkit.execute("note('one'); print(note('two'))").output == "['one', 'two']\n"
        assert "note was not approved" in str(toolkit.execute("note('no')").error)
        assert toolkit.get_tool("price").read_only is True


async def test_clients_own_connection_is_left_alone() -> None:
    async with Client(shop_server()) as client:
        with Toolkit([client]) as toolkit:
            assert (await toolkit.aexecute("print(price('tea'))")).output == "3.0\n"
        assert (await client.call_tool("price", {"item": "tea"})).data == 3.0


def test_command_of_a_client_is_started(tmp_path: Path) -> None:
    code = "from fastmcp import FastMCP\nmcp = FastMCP('x')\n@mcp.tool\ndef two() -> int:\n    return 2\nmcp.run()\n"
    (tmp_path / "server.py").write_text(code)
    with Toolkit([Client(StdioTransport(sys.executable, [str(tmp_path / "server.py")]))]) as toolkit:
        assert toolkit.execute("print(two())").output == "2\n"


async def test_single_tool_is_a_function_with_its_approval() -> None:
    effects: Effects = []

    @ez_tool(requires_approval=True)
    def wipe(disk: str) -> None:
        """Wipe a disk."""
        effects.append((disk,))

    price = shop(effects)[0]
    async with Client(FastMCP("shop", tools=[price, wipe])) as client:
        assert (await client.call_tool("price", {"item": "tea"})).data == 3.0
        with pytest.raises(ToolError, match="requires approval"):
            await client.call_tool("wipe", {"disk": "all"})
    assert effects == []
