"""FastMCP's real code mode over our sandbox, driven by its own client."""

from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.experimental.transforms.code_mode import CodeMode

from ez_ptc.integrations.code_modes.fastmcp import SandboxProvider

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
