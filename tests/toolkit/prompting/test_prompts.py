import re
from enum import Enum
from textwrap import indent
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import docstring_parser
import pytest

from ez_ptc import ExecutionResult, Tool, ez_tool
from ez_ptc.sandbox.protocol.records.call_record import make_record
from ez_ptc.toolkit.prompting.prompts import PromptWriter
from ez_ptc.toolkit.prompting.worked_example import example_program

AnyTool = Tool[..., Any]


class WeatherResult(TypedDict):
    location: str
    temp: int


class ProductResult(TypedDict):
    id: int
    name: str


@ez_tool
def get_weather(location: str, unit: str = "celsius") -> WeatherResult:
    """Get current weather for a location.

    Args:
        location: City and state, e.g. "San Francisco, CA"
        unit: Temperature unit - "celsius" or "fahrenheit"
    """
    raise NotImplementedError


@ez_tool
def search_products(query: str, limit: int = 5) -> list[ProductResult]:
    """Search the product catalog."""
    raise NotImplementedError


@ez_tool
async def fetch(key: str) -> dict[str, int]:
    """Fetch what is stored under a key.

    It may take a while.
    """
    raise NotImplementedError


TOOLS = (get_weather, search_products, fetch)
LISTING = """\
def get_weather(location: str, unit: str = 'celsius') -> WeatherResult:
    \"""Get current weather for a location.

    Args:
        location: City and state, e.g. "San Francisco, CA"
        unit: Temperature unit - "celsius" or "fahrenheit"
    \"""
    # Returns: {location: str, temp: int}

def search_products(query: str, limit: int = 5) -> list[ProductResult]:
    \"""Search the product catalog.\"""
    # Returns: list[{id: int, name: str}]

def fetch(key: str) -> dict[str, int]:
    \"""Fetch what is stored under a key.

    It may take a while.
    \"""
"""
ITEMS = """\
- get_weather(location: str, unit: str = 'celsius') -> WeatherResult
  Get current weather for a location. | Returns: {location: str, temp: int}
- search_products(query: str, limit: int = 5) -> list[ProductResult]
  Search the product catalog. | Returns: list[{id: int, name: str}]
- fetch(key: str) -> dict[str, int]
  Fetch what is stored under a key.

  It may take a while.
"""


def guide(*tools: AnyTool, **settings: Any) -> PromptWriter:
    return PromptWriter(tools=tools or TOOLS, **settings)


def texts(made: PromptWriter) -> tuple[str, str, str]:
    return made.prompt(), made.tool_prompt(), made.description()


def without_returns(text: str) -> str:
    return re.sub(r"\n    # Returns: .*| \| Returns: .*", "", text)


def test_the_prompt_lists_tools_as_functions_with_their_docstrings() -> None:
    assert LISTING in guide(assist_tool_chaining=True).prompt()


@pytest.mark.parametrize("frame", ["tool_prompt", "description"])
def test_tool_mode_lists_tools_as_items(frame: str) -> None:
    assert ITEMS in getattr(guide(assist_tool_chaining=True), frame)()


def test_return_schemas_are_described_only_on_request() -> None:
    prompt, tool_prompt, description = texts(guide())

    assert without_returns(LISTING) in prompt
    assert without_returns(ITEMS) in tool_prompt
    assert without_returns(ITEMS) in description
    assert "Returns:" not in prompt + tool_prompt + description


def test_without_chaining_a_return_schema_changes_nothing() -> None:
    def get_stock(product: str) -> dict[str, int]:
        """Count a product."""
        raise NotImplementedError

    plain = ez_tool(get_stock)
    told = ez_tool(return_schema={"type": "object", "properties": {"count": {"type": "integer"}}})(get_stock)

    assert texts(guide(told)) == texts(guide(plain))
    assert texts(guide(told, assist_tool_chaining=True)) != texts(guide(plain, assist_tool_chaining=True))


@pytest.mark.parametrize("chaining", [True, False])
def test_every_frame_tells_the_same_rules(chaining: bool) -> None:
    made = guide(assist_tool_chaining=chaining)
    for text in texts(made):
        assert "do NOT import them" in text
        assert "each as a function and its arguments" in text
        assert "The standard library can be imported" in text
        assert "no files, no network, no processes" in text
        assert "try again" in text
        assert ("Chain results" in text) is chaining
        assert ("do NOT access" in text) is not chaining
        assert "await" not in text


def test_each_frame_asks_for_one_program() -> None:
    prompt, tool_prompt, description = texts(guide())

    assert "answer with ONE ```python block" in prompt
    assert "`execute_tools`" in tool_prompt
    assert "SINGLE" in tool_prompt
    assert "SINGLE" in description
    assert "```" not in tool_prompt + description


def test_preamble_and_postamble_replace_surrounding_text() -> None:
    prompt = guide(preamble="Hello.", postamble="Goodbye.").prompt()

    assert prompt == (
        "Hello.\n\nAvailable tools:\n\n" + without_returns(LISTING) + "\nGoodbye.\n"
        "If a program fails, read its error, correct the program and try again."
    )


def test_the_error_hint_is_replaced_everywhere() -> None:
    made = guide(error_hint="Think first.")

    assert all("Think first." in text and "try again" not in text for text in texts(made))
    assert made.answer("", ExecutionResult(success=False, error="E")) == "ERROR: E\n\nThink first."


def test_corrected_program_comes_without_error_advice() -> None:
    result = ExecutionResult(success=False, error="E", error_output="E\nRun this:\n```python\nprint(1)\n```\n")

    assert guide().answer("", result) == "ERROR: E\nRun this:\n```python\nprint(1)\n```"
    answer = guide(error_hint="Think.").answer("", result)
    assert answer == "ERROR: E\n\nRun this:\n```python\nprint(1)\n```\nThink."


def test_program_to_copy_is_the_last_that_is_read() -> None:
    trace = "E\nHint: h\nChanged: a -> b\nRun this:\n```python\nprint(1)\n```\n"
    result = ExecutionResult(success=False, output="1\n", error="E", error_output=trace)

    assert guide().answer("", result) == (
        "ERROR: E\nHint: h\n\nPrinted before the error:\n    1\n\nChanged: a -> b\nRun this:\n```python\nprint(1)\n```"
    )


def test_empty_error_hint_adds_nothing() -> None:
    made = guide(error_hint="")

    assert not any("try again" in text for text in texts(made))
    assert made.answer("", ExecutionResult(success=False, error="E")) == "E"


def test_worked_example_comes_last() -> None:
    prompt, tool_prompt, description = texts(guide(assist_tool_chaining=True))
    program = example_program(TOOLS, with_shapes=True) or ""

    assert prompt.endswith(f"\n```python\n{program}\n```")
    assert tool_prompt.endswith("\n" + indent(program, "    "))
    assert description.endswith("\n" + indent(program, "    "))


def test_tool_without_callable_name_has_no_example() -> None:
    @ez_tool(name="shop.search")
    def search(query: str) -> str:
        """Search."""
        raise NotImplementedError

    assert guide(search).description().endswith("try again.")


def test_prompt_without_tools_says_so() -> None:
    assert PromptWriter(tools=()).prompt() == "No tools are available."
    assert "No tools are available." in PromptWriter(tools=()).description()


# --- how a tool is told -----------------------------------------------------------------------------------------------


def test_undescribed_tool_is_listed_by_signature() -> None:
    def ping(host: str) -> bool:
        raise NotImplementedError

    with pytest.warns(UserWarning, match="ping has no docstring"):
        tool = ez_tool(ping)

    assert "\n\ndef ping(host: str) -> bool:\n\n" in guide(tool).prompt()
    assert "\n\n- ping(host: str) -> bool\n\n" in guide(tool).description()


def test_given_description_precedes_docstring() -> None:
    @ez_tool(description="Count what is in the shop.")
    def count() -> int:
        """Internal: reads the table."""
        raise NotImplementedError

    prompt = guide(count).prompt()

    assert 'def count() -> int:\n    """Count what is in the shop."""\n' in prompt
    assert "Internal" not in prompt


def test_parameter_descriptions_outside_docstring_are_listed() -> None:
    @ez_tool
    def book(seat: Annotated[str, "Row and letter"], nights: int = 1) -> str:
        """Book a seat.

        Args:
            nights: How long
        """
        raise NotImplementedError

    prompt = guide(book).prompt()

    assert "Args:\n        seat: Row and letter\n" in prompt
    assert prompt.count("How long") == 1


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Grade(Enum):
    A, B, C, D, E, F, G, H, J = range(1, 10)


class Address(TypedDict):
    street: str
    floor: NotRequired[int]


def test_parameter_type_known_only_by_name_is_described() -> None:
    @ez_tool
    def ship(size: Size, grade: Grade, to: Address | None = None, how: Literal["air", "sea"] = "sea") -> str:
        """Ship it."""
        raise NotImplementedError

    grades = " | ".join(map(str, range(1, 10)))
    told = "Takes size: 's' | 'l'", f"Takes grade: {grades}", "Takes to: {street: str, floor?: int}"

    assert '"""Ship it."""\n    # ' + "\n    # ".join(told) + "\n\nIMPORTANT" in guide(ship).prompt()
    assert "\n  Ship it.\n  " + "\n  ".join(told) + "\n\n" in guide(ship).description()
    assert guide(ship).prompt().count("Takes ") == len(told)


def test_quotes_in_a_docstring_do_not_end_it() -> None:
    @ez_tool
    def echo(text: str) -> str:
        '''Repeat """text""".'''
        raise NotImplementedError

    prompt = guide(echo).prompt()

    assert "    \"\"\"Repeat '''text'''.\"\"\"\n" in prompt


# --- what a model reads afterwards ------------------------------------------------------------------------------------


CALLED: list[dict[str, Any]] = [{"name": "get_weather"}, {"name": "fetch"}, {"name": "get_weather"}]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (ExecutionResult(output="12\n", return_value=5), "12\n"),
        (ExecutionResult(return_value={"temp": 22}), "{'temp': 22}"),
        (ExecutionResult(), "[Done. The program printed nothing.]"),
        (ExecutionResult(output="aaa", truncated={"output": 7}), "aaa\n[7 more bytes were cut: print less.]"),
    ],
    ids=["output", "value", "nothing", "truncated"],
)
def test_program_answers_with_output_or_value(result: ExecutionResult, answer: str) -> None:
    assert guide().answer("1", result) == answer


def test_failure_answers_with_hint_traceback_and_output() -> None:
    result = ExecutionResult(
        success=False, output="1 of 2\n", error_output="Traceback: line 3\nKeyError: 'x'\n", error="KeyError: 'x'"
    )

    assert guide().answer("", result) == (
        "ERROR: Traceback: line 3\nKeyError: 'x'\n\n"
        "Printed before the error:\n    1 of 2\n\n"
        "Write the whole corrected program in one ```python block."
    )


def test_error_missing_from_stderr_is_added() -> None:
    result = ExecutionResult(success=False, error_output="warning\n", error="It took longer than 30 s")

    assert guide(error_hint="").answer("", result) == "warning\nIt took longer than 30 s"


def test_end_of_long_output_before_error_is_kept() -> None:
    result = ExecutionResult(success=False, error="E", output="x" * 5_000 + "end")

    answer = guide(error_hint="").answer("", result)

    assert answer.endswith("xend")
    assert re.search(r"\(ez-ptc: 3,\d+ characters left out here\)", answer)
    assert len(answer) < 2_500


def test_unprinted_call_results_are_corrected() -> None:
    result = ExecutionResult(tool_calls=[make_record(call) for call in CALLED])
    readers = [Tool.from_function(tool.fn, name=tool.name, read_only=True) for tool in (get_weather, fetch)]

    for made in (guide(*readers), guide(*readers, assist_tool_chaining=True)):
        answer = made.answer("w = get_weather('Oslo')", result)
        assert "No output captured" in answer
        assert "get_weather(), fetch() " in answer


def test_program_with_effects_is_not_rerun() -> None:
    @ez_tool
    def pay(euros: int) -> str:
        """Pay."""
        raise NotImplementedError

    result = ExecutionResult(tool_calls=[make_record({"name": "pay", "arguments": {"euros": 1}, "result": "paid"})])

    assert guide(pay).answer("paid = pay(1)", result) == (
        "[Done. The program called pay() and printed nothing: only what it print()s is seen.]"
    )


def test_print_without_output_was_intended() -> None:
    result = ExecutionResult(tool_calls=[make_record(call) for call in CALLED])

    assert guide().answer("print(end='')", result) == "[Done. The program printed nothing.]"


def test_print_advice_comes_only_without_chaining() -> None:
    result = ExecutionResult(tool_calls=[make_record(call) for call in CALLED], return_value=22)

    assert guide(assist_tool_chaining=True).answer("fetch('a')", result) == "22"
    assert guide().answer("fetch('a')", result).startswith("22\n[No output captured")


def test_docstring_parsers_find_no_section_in_the_description() -> None:
    """Frameworks cut sections off a docstring before a model sees it."""
    description = guide(assist_tool_chaining=True).description()

    parsed = docstring_parser.parse(description)

    assert parsed.meta == []
    assert parsed.description == description
