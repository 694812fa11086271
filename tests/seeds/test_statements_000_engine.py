"""The document of concepts on toolkits and their engine, statement by statement. Each test quotes what it runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ez_ptc import ExecutionResult, ScriptedProvider, ToolCall, Toolkit, ToolResultMessage, ez_tool, llm

FENCE = "`" * 3


@ez_tool
def get_weather(location: str, unit: str = "celsius") -> dict[str, object]:
    """Get current weather for a location."""
    return {"location": location, "temp": 22 if unit == "celsius" else 72}


@ez_tool
def search_products(query: str, limit: int = 5) -> list[str]:
    """Search the product catalog."""
    return [query] * limit


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit(tools=[get_weather, search_products]) as opened:
        yield opened


def test_a_toolkit_groups_tools_for_two_modes(toolkit: Toolkit) -> None:
    """
    A **Toolkit** groups tools and provides two modes of LLM integration:
    tools=[get_weather, search_products],
    """
    assert [tool.name for tool in toolkit] == ["get_weather", "search_products"]
    for text in (toolkit.prompt(), toolkit.as_tool().__doc__ or ""):
        assert "get_weather(" in text
        assert "search_products(" in text


def test_prompt_begins_and_ends_as_configured() -> None:
    """
    preamble="...",              # Optional: custom intro text
    postamble="...",             # Optional: custom instruction text
    """
    prompt = Toolkit([get_weather], preamble="First.", postamble="Last.").prompt()
    assert prompt.startswith("First.\n")
    assert "\nLast.\n" in prompt


def test_chaining_is_off_at_first(toolkit: Toolkit) -> None:
    """assist_tool_chaining=False,  # Optional: enable return schema hints"""
    assert toolkit.assist_tool_chaining is False
    assert Toolkit([get_weather], assist_tool_chaining=False).prompt() == Toolkit([get_weather]).prompt()


# --- the two modes ----------------------------------------------------------------------------------------------------


def test_prompt_mode_puts_a_text_into_the_system_prompt(toolkit: Toolkit) -> None:
    """**Mode 1: Prompt Mode** — The toolkit generates a text block you inject into the system prompt."""
    provider = ScriptedProvider("Hello.")
    llm().agent(toolkit.prompt()).provider(provider).prompt("Hi")
    assert str(provider.prompts[0].entries[0]) == toolkit.prompt()


def test_a_model_is_asked_for_a_block_of_python(toolkit: Toolkit) -> None:
    """The LLM writes Python code in a markdown block."""
    assert f"{FENCE}python\n" in toolkit.prompt()


def test_a_model_writes_code_that_is_found_and_run(toolkit: Toolkit) -> None:
    """
    You extract and execute it.
    You (system prompt) → LLM (writes code) → extract_code() → execute() → result
    """
    code = toolkit.extract_code(f"So:\n{FENCE}python\nprint(get_weather('Oslo')['temp'])\n{FENCE}")
    result = toolkit.execute(code or "")
    assert isinstance(result, ExecutionResult)
    assert result.output == "22\n"


def test_a_framework_registers_one_callable(toolkit: Toolkit) -> None:
    """The toolkit provides a single meta-tool callable that any framework can register."""
    assert toolkit.as_tool()("print(get_weather('Oslo')['temp'])") == "22\n"


def test_the_model_calls_it_as_a_tool(toolkit: Toolkit) -> None:
    """
    The LLM calls it via native tool calling.
    Framework registers tool → LLM calls tool → execute() → result → framework continues
    """
    program: dict[str, object] = {"code": "print(get_weather('Oslo')['temp'])"}
    provider = ScriptedProvider(ToolCall("", "execute_tools", program), "It is 22 degrees.")
    messages, continuation = llm().tools([toolkit.as_tool()]).provider(provider).converse("How warm is it?")
    assert [each.result for each in messages if isinstance(each, ToolResultMessage)] == ["22\n"]
    assert continuation.text == "It is 22 degrees."


def test_tool_description_explains_its_call_once(toolkit: Toolkit) -> None:
    """the tool schema and `as_tool()` docstring already include instructions for single-call consolidation."""
    for text in (toolkit.as_tool().__doc__ or "", toolkit.tool_schema()["function"]["description"]):
        assert "Combine ALL operations into a SINGLE program" in text


def test_prompt_repeats_the_instruction(toolkit: Toolkit) -> None:
    """You can optionally add `tool_prompt()` to the system prompt for extra reinforcement"""
    assert "a SINGLE call; do NOT make several calls" in toolkit.tool_prompt()


def test_both_modes_end_in_one_engine(toolkit: Toolkit) -> None:
    """
    Both modes use the same execution engine under the hood.
    When the LLM writes code (in either mode), ez-ptc executes it in a **sandboxed environment**:
    """
    written = "print(get_weather('Oslo')['temp'])\ntry: open('/etc/passwd')\nexcept PermissionError: print('denied')"
    code = toolkit.extract_code(f"{FENCE}python\n{written}\n{FENCE}") or ""
    assert toolkit.execute(code).output == toolkit.as_tool()(written) == "22\ndenied\n"


# --- the engine -------------------------------------------------------------------------------------------------------


def test_tools_are_global_functions(toolkit: Toolkit) -> None:
    """Tools are injected as global functions"""
    program = "print('get_weather' in globals(), callable(search_products), search_products('x', limit=1))"
    assert toolkit.execute(program).output == "True True ['x']\n"


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd').read()",
        "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
        "import subprocess; subprocess.run(['ls'])",
    ],
)
def test_a_program_has_no_files_network_or_shell(toolkit: Toolkit, code: str) -> None:
    """(no file I/O, no networking, no shell access)"""
    result = toolkit.execute(code)
    assert not result.success
    assert "PermissionError" in (result.error or "")


def test_the_standard_library_can_be_imported(toolkit: Toolkit) -> None:
    """Safe stdlib modules can be imported: `math`, `datetime`, `collections`, `itertools`, `re`, and others"""
    program = "import math, datetime, collections, itertools, re, json, statistics\nmath.floor(2.5)"
    assert toolkit.execute(program).return_value == 2


def test_a_timeout_ends_a_program(toolkit: Toolkit) -> None:
    """A configurable timeout prevents runaway execution"""
    result = toolkit.execute("while True: pass", timeout=0.1)
    assert not result.success
    assert "TimeoutError" in (result.error or "")


def test_output_and_errors_are_captured(toolkit: Toolkit) -> None:
    """
    stdout/stderr are captured
    result.output       # str: captured stdout (print output)
    result.error_output # str: captured stderr/traceback
    """
    result = toolkit.execute("import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 / 0")
    assert result.output == "out\n"
    assert result.error_output.startswith("err\n")
    assert "ZeroDivisionError" in result.error_output


def test_every_call_is_logged_with_its_values(toolkit: Toolkit) -> None:
    """
    Every tool call is logged with arguments and return values
    result.tool_calls   # list[dict]: log of tool calls
    """
    (call,) = toolkit.execute("get_weather('Oslo', unit='f')").tool_calls
    assert isinstance(call, dict)
    assert (call["name"], call["args"], call["kwargs"]) == ("get_weather", ("Oslo",), {"unit": "f"})
    assert call["result"] == {"location": "Oslo", "temp": 72}


def test_the_value_of_the_last_expression_is_returned(toolkit: Toolkit) -> None:
    """
    result = toolkit.execute(code)
    result.return_value # Any: last expression value
    """
    assert toolkit.execute("1 + 1").return_value == 2


def test_result_reports_success(toolkit: Toolkit) -> None:
    """
    result.success      # bool: whether execution succeeded
    result.error        # str | None: error message if failed
    """
    right, wrong = toolkit.execute("1 / 2"), toolkit.execute("1 / 0")
    assert (right.success, right.error, wrong.success) == (True, None, False)
    assert "ZeroDivisionError: division by zero" in (wrong.error or "")


def test_page_lists_what_is_allowed(repository: Path) -> None:
    """See [Security & Sandboxing](security.md) for details on what's allowed and blocked."""
    assert (repository / "docs" / "security.md").is_file()
