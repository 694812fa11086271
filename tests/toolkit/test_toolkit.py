"""A toolkit: what it takes, what a model sees of it, and what a developer gets back."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ez_ptc import DuplicateToolError, ExecutionResult, Limits, SandboxError, Tool, Toolkit, ToolNotFoundError, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import all_gone, descendants, families
from tests.sandbox.scripts import run_script


@ez_tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    if b < 0:
        raise ValueError(b)
    return a + b


@ez_tool
def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello {name}"


@ez_tool
async def later(number: int) -> int:
    """Say it later."""
    await anyio.lowlevel.checkpoint()
    return number


@pytest.fixture(scope="module", autouse=True)
def _shared() -> Iterator[None]:
    """Keep the shared sandbox from being started anew for each test."""
    with Toolkit([add]) as keeper:
        keeper.execute("1")
        yield


# What it takes --------------------------------------------------------------------------------------------------------


def test_a_toolkit_has_its_tools_in_their_order() -> None:
    toolkit = Toolkit([greet, add])
    assert (list(toolkit), len(toolkit), toolkit.tools) == ([greet, add], 2, (greet, add))
    assert toolkit.get_tool("add") is add


def test_any_iterable_of_tools_will_do() -> None:
    assert Toolkit(iter((greet, add))).tools == (greet, add)
    assert Toolkit([]).tools == ()


def plain(x: int) -> int:
    """Return what came."""
    return x


def test_functions_become_tools_as_if_decorated() -> None:
    assert list(Toolkit([add, plain]).tools)[1].signature == ez_tool(plain).signature


@pytest.mark.parametrize(("thing", "name"), [("add", "str"), (None, "None"), (Tool, "the class Tool"), (7, "int")])
def test_non_tool_error_names_it_with_advice(thing: object, name: str) -> None:
    with pytest.raises(TypeError, match=f"expected a function or a tool, got {name}: pass "):
        Toolkit([add, thing])


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateToolError, match="two tools are called 'add': give one another name"):
        Toolkit([add, greet, ez_tool(name="add")(plain)])


def test_unknown_tool_error_lists_nearest_first() -> None:
    with pytest.raises(ToolNotFoundError, match=r"unknown tool 'greed' .*greet.*; available: greet, add"):
        Toolkit([add, greet]).get_tool("greed")
    with pytest.raises(ToolNotFoundError, match="available: none"):
        Toolkit([]).get_tool("greet")


def test_the_settings_have_names() -> None:
    with pytest.raises(TypeError):
        Toolkit([add], "Preamble", "Postamble")  # pyright: ignore[reportCallIssue] - what is refused
    assert Toolkit([add], "Preamble").preamble == "Preamble"


def test_timeout_defaults_to_the_limits() -> None:
    assert Toolkit([add]).timeout == Limits().timeout == 30
    assert Toolkit([add], limits=Limits(timeout=3)).timeout == 3
    both = Toolkit([add], timeout=5, limits=Limits(timeout=3, calls=7))
    assert (both.timeout, both.limits) == (5, Limits(timeout=5, calls=7))


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_that_leaves_no_time_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout must be a positive number"):
        Toolkit([add], timeout=timeout)
    with pytest.raises(ValueError, match="timeout must be a positive number"):
        Toolkit([add]).execute("1", timeout=timeout)


# What a model sees ----------------------------------------------------------------------------------------------------


def test_every_description_lists_the_tools() -> None:
    toolkit = Toolkit([add, greet])
    for text in (toolkit.prompt(), toolkit.tool_prompt(), str(toolkit.tool_schema()), toolkit.as_tool().__doc__ or ""):
        for words in ("add(a: int, b: int = 1)", "greet(name: str)", "Add two numbers."):
            assert words in text


def test_schema_exists_in_each_provider_format() -> None:
    toolkit = Toolkit([add])
    raw = toolkit.tool_schema("raw")
    assert raw.keys() == {"name", "description", "parameters"}
    assert raw["parameters"]["required"] == ["code"]
    assert toolkit.tool_schema() == toolkit.tool_schema("openai") == toolkit.tool_schema(format="mistral")
    assert toolkit.tool_schema()["function"] == raw
    assert toolkit.tool_schema("anthropic")["input_schema"] == raw["parameters"]
    assert toolkit.tool_schema("gemini")["name"] == "execute_tools"
    for name in ("openai", "anthropic", "gemini", "mistral", "raw"):
        assert json.dumps(raw["description"]) in json.dumps(toolkit.tool_schema(name))


def test_an_unknown_format_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="unknown format 'cohere': expected one of openai"):
        Toolkit([add]).tool_schema("cohere")


def test_two_schemas_share_no_mutable_state() -> None:
    toolkit = Toolkit([add])
    toolkit.tool_schema("raw")["parameters"]["properties"]["code"]["description"] = "changed"
    assert "changed" not in str(toolkit.tool_schema("raw"))
    assert "changed" not in str(Toolkit([add]).tool_schema("openai"))


def test_code_is_extracted_from_answer_and_run() -> None:
    toolkit = Toolkit([add])
    code = toolkit.extract_code("Sure:\n```python\nprint(add(2, 3))\n```\nDone.")
    assert code is not None
    assert toolkit.execute(code).output == "5\n"
    assert toolkit.extract_code("No program is needed.") is None


# As one tool ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["as_tool", "as_async_tool"])
def one_tool(request: pytest.FixtureRequest) -> Callable[..., str]:
    """Make the one tool of a toolkit in either way, and call it."""

    def call(toolkit: Toolkit, code: str) -> str:
        if request.param == "as_tool":
            return toolkit.as_tool()(code)

        async def main() -> str:
            return await toolkit.as_async_tool()(code)

        return asyncio.run(main())

    return call


@pytest.mark.parametrize("make", [Toolkit.as_tool, Toolkit.as_async_tool])
def test_the_one_tool_is_described_as_frameworks_read_it(make: Callable[[Toolkit], Callable[..., object]]) -> None:
    tool = make(Toolkit([add]))
    assert (tool.__name__, tool.__qualname__) == ("execute_tools", "execute_tools")
    assert inspect.signature(tool, eval_str=True).parameters["code"].annotation is str
    assert inspect.iscoroutinefunction(tool) == (make is Toolkit.as_async_tool)
    assert "\n\nArgs:\n    code: The Python program to run.\n    after: " in (tool.__doc__ or "")


def test_the_one_tool_can_be_a_tool_itself() -> None:
    """So it goes wherever any other tool goes."""
    tool = ez_tool(Toolkit([add]).as_tool())
    assert tool.name == "execute_tools"
    assert tool.parameters["properties"]["code"]["description"] == "The Python program to run."
    assert tool.call({"code": "print(add(2, 3))"}) == "5\n"


def test_tool_returns_the_output(one_tool: Callable[..., str]) -> None:
    assert one_tool(Toolkit([add]), "print(add(2, 3))") == "5\n"


@pytest.mark.parametrize(
    "code", ["", None, "1 / 0", "x = (", "add('x')", "nope()", "import os\nos._exit(1)", "10**5000", "(n for n in [1])"]
)
def test_tool_returns_text_for_any_input(one_tool: Callable[..., str], code: object) -> None:
    answer = one_tool(Toolkit([add], timeout=20), code)
    assert isinstance(answer, str)
    assert answer.strip()


def test_prompt_mode_answer_equals_tool_answer() -> None:
    toolkit = Toolkit([add])
    for code in ("print(add(2, 3))", "add('x')", "", "5"):
        assert toolkit.answer(code, toolkit.execute(code), mode="tool") == toolkit.as_tool()(code)


# Running --------------------------------------------------------------------------------------------------------------


def test_a_call_is_recorded_as_the_program_made_it() -> None:
    result = Toolkit([add, greet]).execute("add(2, b=3)\ngreet(name='Ann')\nadd('4')")
    assert result.error is None
    records = [{k: v for k, v in record.items() if k != "duration_ms"} for record in result.tool_calls]
    assert records == [
        {"name": "add", "args": (2,), "kwargs": {"b": 3}, "result": 5, "error": None, "path": "1"},
        {"name": "greet", "args": (), "kwargs": {"name": "Ann"}, "result": "Hello Ann", "error": None, "path": "2"},
        {"name": "add", "args": ("4",), "kwargs": {}, "result": 5, "error": None, "path": "3"},
    ]
    assert all(record["duration_ms"] >= 0 for record in result.tool_calls)


def test_a_failed_call_is_recorded_with_its_error() -> None:
    result = Toolkit([add]).execute("for b in (-1, 'x'):\n    try: add(1, b)\n    except Exception as e: print(e)")
    assert [record["result"] for record in result.tool_calls] == [None, None]
    first, second = (record["error"] for record in result.tool_calls)
    assert first == "-1"
    assert "'b'" in str(second)
    assert result.output == f"{first}\n{second}\n"


def execute_by(driver: str, toolkit: Toolkit, code: str) -> ExecutionResult:
    if driver == "blocking":
        return toolkit.execute(code)
    return anyio.run(toolkit.aexecute, code, backend=driver)


@pytest.mark.parametrize("driver", ["blocking", "asyncio", "trio"])
def test_each_record_is_reported_when_its_call_ends(driver: str) -> None:
    told: list[dict[str, Any]] = []
    toolkit = Toolkit([add], on_tool_call=told.append)
    code = "add(1)\ntry: add(1, -1)\nexcept ValueError: pass\nadd(3)"
    result = execute_by(driver, toolkit, code)
    assert [record["result"] for record in told] == [2, None, 4]
    assert told == result.tool_calls


@pytest.mark.parametrize("driver", ["blocking", "asyncio", "trio"])
def test_listener_exception_reaches_the_caller(driver: str) -> None:
    """It is the developer's own mistake, and no program's."""

    def listen(record: dict[str, Any]) -> None:
        raise LookupError(record["name"])

    toolkit = Toolkit([add], on_tool_call=listen)
    with pytest.raises(LookupError, match="add"):
        execute_by(driver, toolkit, "add(1)")
    assert toolkit.execute("1 + 1").return_value == 2


def test_a_program_calls_only_the_tools_of_its_toolkit() -> None:
    result = Toolkit([greet]).execute("add(1)")
    assert "name 'add' is not defined" in (result.error or "")
    assert result.tool_calls == []


def test_tool_with_the_name_of_a_builtin_is_renamed() -> None:
    tool = ez_tool(name="sum")(plain)
    assert Toolkit([tool]).execute("sum_(5) + sum([1, 2])").return_value == 8


def test_tool_keeps_name_and_documentation_in_program() -> None:
    result = Toolkit([add]).execute("[add.__name__, add.__doc__, callable(add)]")
    assert result.return_value == ["add", "Add two numbers.", True]


@pytest.mark.parametrize("code", ["later(5)", "await later(5)", "parallel((later, 5))[0]", "add(later(2), 3)"])
def test_async_tools_run_from_blocking_and_from_awaiting_callers(code: str) -> None:
    toolkit = Toolkit([add, later])
    assert toolkit.execute(code).return_value == 5
    assert anyio.run(toolkit.aexecute, code).return_value == 5


def test_one_toolkit_serves_several_loops_one_after_the_other() -> None:
    toolkit = Toolkit([add, later])
    for backend in ("asyncio", "trio", "asyncio"):
        assert anyio.run(toolkit.aexecute, "later(add(2, 3))", backend=backend).return_value == 5


# Closing --------------------------------------------------------------------------------------------------------------


def test_closed_toolkit_raises_and_can_be_closed_again() -> None:
    toolkit = Toolkit([add])
    toolkit.execute("1")
    toolkit.close()
    toolkit.close()
    with pytest.raises(SandboxError, match="this toolkit is closed: make a new one"):
        toolkit.execute("1")
    with pytest.raises(SandboxError, match="closed"):
        asyncio.run(toolkit.aexecute("1"))
    assert "add" in toolkit.prompt()


def test_a_toolkit_that_was_never_used_can_be_closed() -> None:
    Toolkit([add]).close()


def test_a_context_manager_closes_its_toolkit() -> None:
    with Toolkit([add]) as toolkit:
        assert toolkit.execute("add(1)").return_value == 2
    with pytest.raises(SandboxError, match="closed"):
        toolkit.execute("1")


@pytest.mark.anyio
async def test_an_asynchronous_context_manager_closes_its_toolkit() -> None:
    async with Toolkit([add, later]) as toolkit:
        assert (await toolkit.aexecute("later(add(1))")).return_value == 2
    with pytest.raises(SandboxError, match="closed"):
        await toolkit.aexecute("1")


def test_closing_one_toolkit_leaves_the_others_running() -> None:
    first, second = Toolkit([add]), Toolkit([greet])
    assert (first.execute("add(1)").return_value, second.execute("greet('Ann')").return_value) == (2, "Hello Ann")
    first.close()
    assert second.execute("greet('Bob')").return_value == "Hello Bob"
    second.close()


def test_a_sandbox_that_was_given_stays_open() -> None:
    sandbox = ProcessSandbox(ready=1)
    try:
        for _ in range(2):
            with Toolkit([add], sandbox=sandbox) as toolkit:
                assert toolkit.execute("add(1)").return_value == 2
    finally:
        sandbox.close()


def test_closed_toolkit_stops_using_its_sandbox() -> None:
    sandbox = ProcessSandbox(ready=1)
    try:
        with Toolkit([add], sandbox=sandbox) as toolkit:
            toolkit.execute("1")
        with pytest.raises(SandboxError, match="closed"):
            toolkit.execute("1")
    finally:
        sandbox.close()


@pytest.mark.sampled(every=0)
def test_the_last_toolkit_ends_the_shared_processes() -> None:
    """Tried in a host of its own, where no other toolkit is open."""
    code = """
import os
from ez_ptc import Toolkit, ez_tool
from tests.sandbox.processes import all_gone, descendants
from tests.sandbox.scripts import run_script

@ez_tool
def add(a: int, b: int = 1) -> int:
    "Add."
    return a + b

first, second = Toolkit([add]), Toolkit([add])
print(len(descendants(os.getpid())))
assert first.execute("add(1)").return_value == second.execute("add(1)").return_value == 2
pids = descendants(os.getpid())
first.close()
first.close()
assert second.execute("add(1)").return_value == 2
second.close()
print(all_gone(pids | descendants(os.getpid()), within=30))
assert Toolkit([add]).execute("add(1)").return_value == 2
"""
    assert run_script(code).splitlines() == ["0", "True"]


def test_a_toolkit_starts_nothing_before_its_first_program() -> None:
    before = descendants(os.getpid())
    sandbox = ProcessSandbox()
    toolkit = Toolkit([add], sandbox=sandbox)
    toolkit.prompt()
    toolkit.tool_schema()
    assert families(os.getpid(), without=before) == set()
    toolkit.execute("1")
    started = families(os.getpid(), without=before)
    assert started
    sandbox.close()
    assert all_gone(started, within=30)


def test_single_tool_instead_of_list_is_explained() -> None:
    with pytest.raises(TypeError, match=r"expected a list of tools, got the tool abs: write \[abs\]"):
        Toolkit(ez_tool(abs))  # pyright: ignore[reportArgumentType] - the mistake
