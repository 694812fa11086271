"""An asynchronous tool is driven by hand in every way that CPython has for a coroutine function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ez_ptc import Toolkit, ez_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

SETUP = """
import asyncio, functools, inspect, threading

async def main():
    return await fetch("y")

def new_loop():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop
"""
SIDE_LOOP = "loop = new_loop()\nthreading.Thread(target=loop.run_forever, daemon=True).start()\n"
DRIVEN = {
    "asyncio.run": "asyncio.run(fetch('y'))",
    "asyncio.run twice": "asyncio.run(main())\nasyncio.run(main())",
    "asyncio.run of gather": "asyncio.run(asyncio.gather(fetch('y'), fetch('x')))[0]",
    "asyncio.run of wait_for": "asyncio.run(asyncio.wait_for(fetch('y'), 5))",
    "run_until_complete": "new_loop().run_until_complete(fetch('y'))",
    "run_until_complete of gather": "new_loop().run_until_complete(asyncio.gather(fetch('y'), fetch('x')))[0]",
    "gather in another loop": "asyncio.new_event_loop().run_until_complete(asyncio.gather(fetch('y')))[0]",
    "result of a gather": "results = asyncio.gather(fetch('y'))\nnew_loop().run_until_complete(results)\n"
    "results.result()[0]",
    "run_until_complete of wait_for": "new_loop().run_until_complete(asyncio.wait_for(fetch('y'), 5))",
    "create_task": "loop = new_loop()\nloop.run_until_complete(loop.create_task(fetch('y')))",
    "ensure_future": "loop = new_loop()\nfuture = asyncio.ensure_future(fetch('y'), loop=loop)\n"
    "loop.run_until_complete(future)\nfuture.result()",
    "ensure_future inside": "async def go():\n    return await asyncio.ensure_future(fetch('y'))\nasyncio.run(go())",
    "a runner": "with asyncio.Runner() as runner: value = runner.run(fetch('y'))\nvalue",
    "a runner twice": "with asyncio.Runner() as runner:\n    runner.run(main())\n"
    "    value = runner.run(fetch('y'))\nvalue",
    "a runner's loop": "with asyncio.Runner() as runner:\n"
    "    value = runner.get_loop().run_until_complete(fetch('y'))\nvalue",
    "from a thread": f"{SIDE_LOOP}asyncio.run_coroutine_threadsafe(fetch('y'), loop).result(20)",
    "main from a thread": f"{SIDE_LOOP}asyncio.run_coroutine_threadsafe(main(), loop).result(20)",
    "run_forever": "loop = new_loop()\nasync def go():\n    global value\n    value = await fetch('y')\n"
    "    loop.stop()\nloop.create_task(go())\nloop.run_forever()\nvalue",
    "a function that asks": "def call(function, *args):\n"
    "    return asyncio.run(function(*args)) if inspect.iscoroutinefunction(function) else function(*args)\n"
    "call(fetch, 'y')",
    "a coroutine that asks": "async def call(function, *args):\n"
    "    return await function(*args) if asyncio.iscoroutinefunction(function) else function(*args)\n"
    "asyncio.run(call(fetch, 'y'))",
}


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    @ez_tool(read_only=True)
    async def fetch(url: str) -> str:
        """Fetch a page."""
        return f"<{url}>"

    @ez_tool(read_only=True)
    def look_up(url: str) -> str:
        """Look up a page."""
        return f"<{url}>"

    with Toolkit([fetch, look_up]) as opened:
        yield opened


@pytest.mark.parametrize("program", DRIVEN.values(), ids=DRIVEN)
def test_asynchronous_tool_is_driven_by_hand(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(SETUP + program)

    assert (result.return_value, result.error, result.error_output) == ("<y>", None, "")


@pytest.mark.parametrize("module", ["asyncio", "inspect"])
def test_only_asynchronous_tools_are_coroutine_functions(toolkit: Toolkit, module: str) -> None:
    asked = "fetch, functools.partial(fetch, 'y'), main, look_up, parallel, print"

    result = toolkit.execute(f"{SETUP}[{module}.iscoroutinefunction(function) for function in ({asked})]")

    assert result.return_value == [True, True, True, False, False, False]


def test_errors_of_a_driven_tool_stay_what_they_are(toolkit: Toolkit) -> None:
    result = toolkit.execute(SETUP + "new_loop().run_until_complete(fetch())")

    assert "missing argument 'url'" in (result.error or "")


@pytest.mark.parametrize(
    "program",
    [
        "print(await fetch('y'))\nasyncio.run(main())",
        "await main()\nasyncio.new_event_loop().run_until_complete(main())",
        "await main()\nasyncio.get_event_loop().run_until_complete(main())",
        "await main()\nwith asyncio.Runner() as runner:\n    runner.run(main())",
        "async def outer():\n    return asyncio.run(main())\nasyncio.run(outer())",
    ],
    ids=["run", "new loop", "same loop", "Runner", "in a function"],
)
@pytest.mark.filterwarnings("ignore:coroutine")
def test_second_loop_in_a_running_one_gets_a_hint(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(SETUP + program)

    assert "an event loop runs here already: write await f(), not asyncio.run(f())" in (result.error or "")


@pytest.mark.parametrize("use", ["fetch('y')[0]", "fetch('y').upper()", "fetch('y') + 'z'", "len(fetch('y'))"])
def test_call_that_is_not_awaited_gets_a_hint(toolkit: Toolkit, use: str) -> None:
    for program in (f"await fetch('x')\nprint({use})", f"async def go():\n    return {use}\nawait go()"):
        result = toolkit.execute(program)
        assert "not awaited: write `await` before it" in (result.error or ""), program


SEVERAL = {
    "a list": "async def go():\n    return await asyncio.gather([fetch('y'), fetch('x')])\nasyncio.run(go())",
    "a generator": "async def go():\n    return await asyncio.gather(fetch(url) for url in 'yx')\nasyncio.run(go())",
    "a tuple": "async def go():\n    return await asyncio.ensure_future((fetch('y'), fetch('x')))\nasyncio.run(go())",
    "wait_for": "async def go():\n    return await asyncio.wait_for([fetch('y')], 5)\nasyncio.run(go())",
    "await": "async def go():\n    return await [fetch('y')]\nasyncio.run(go())",
    "without a loop": "asyncio.gather(fetch(url) for url in 'yx')",
    "coroutines": "async def go():\n    return await asyncio.gather([main()])\nasyncio.run(go())",
}


@pytest.mark.parametrize("program", SEVERAL.values(), ids=SEVERAL)
@pytest.mark.filterwarnings("ignore:coroutine")
def test_several_calls_in_one_value_cannot_be_awaited(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(SETUP + program)

    assert "TypeError: An asyncio.Future, a coroutine or an awaitable is required" in (result.error or "")
    assert "give each call as an argument of its own: asyncio.gather(*calls)" in (result.error or "")


def test_list_that_a_tool_returns_can_be_awaited(toolkit: Toolkit) -> None:
    program = (
        "async def go():\n    return await asyncio.gather(look_up('y'), ['<z>'], [], fetch('x'))\nasyncio.run(go())"
    )

    assert toolkit.execute(SETUP + program).return_value == ["<y>", ["<z>"], [], "<x>"]
