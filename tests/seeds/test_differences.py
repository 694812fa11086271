"""What is otherwise than in the documents this library began with: the table says so, and it is so.

Each function checks a row of the table, and quotes the statements that the row is about.
"""

import dataclasses
import re
from collections.abc import Callable
from importlib.metadata import requires
from pathlib import Path
from typing import Annotated, Any, Final
from unittest import TestCase

import pytest
from pydantic import Field

from ez_ptc import (
    Answer,
    Context,
    DuplicateToolError,
    LLMPromptBuilder,
    SchemaError,
    Tool,
    ToolCallMessage,
    Toolkit,
    ToolRegistry,
    create_calculator_tool,
    ez_tool,
    function_to_tool,
    generate_tool_schema,
    tool,
)
from ez_ptc.formats.anthropic.messages import answer
from ez_ptc.formats.prompt import Prompt
from ez_ptc.providers import lookup as choosing

ANY_TOOL: Final[Any] = Tool
ANY_DECORATOR: Final[Any] = tool


def find(what: str, limit: int | None = None) -> dict[str, Any]:
    """Find something.

    It looks everywhere.

    Args:
        what: What it is
    """
    return {"what": what, "limit": limit}


def collected(**given: object) -> dict[str, object]:
    return given


def of_builtins() -> None:
    """Only safe builtins are available"""
    with Toolkit([ez_tool(find)]) as toolkit:
        result = toolkit.execute("import subprocess, ctypes\nprint(eval('1 + 1'))\nopen('/etc/passwd')")
    assert (result.output, result.success) == ("2\n", False)
    assert "PermissionError" in (result.error or "")


def of_messages() -> None:
    """
    @dataclass
    arguments: dict
    """
    message = ToolCallMessage("find", "call_1", "{broken")
    assert message.arguments == "{broken"
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(message, "tool_name", "other")  # noqa: B010 - a type checker refuses the plain form


def of_logs() -> None:
    """All errors logged before propagation."""
    calculator, case = create_calculator_tool(), TestCase()
    with case.assertNoLogs("ez_ptc"), pytest.raises(ValueError, match="cannot be worked out"):
        calculator("abs(1)")
    with case.assertLogs("ez_ptc"):
        assert not calculator.execute(expression="abs(1)").success


def of_dependencies() -> None:
    """
    **External**: stdlib
    lightweight, no dependencies
    """
    needed = {re.split(r"[^\w-]", each)[0] for each in requires("ez-ptc-py") or () if "extra ==" not in each}
    assert {"pydantic", "jsonschema-rs", "anyio"} <= needed


def of_what_is_not_there() -> None:
    """`NotImplementedError` for unimplemented paths."""
    with pytest.raises(SchemaError):
        Tool("find", "Find.", [])


def of_register() -> None:
    """`register` | `tool: Tool` | `None` | Add a tool to the registry"""
    registry = ToolRegistry([create_calculator_tool()])
    with pytest.raises(DuplicateToolError):
        registry.register(create_calculator_tool())


def of_metadata() -> None:
    """Any metadata from annotations"""

    def take(count: Annotated[int, "how many", Field(ge=1), 7]) -> None:
        """Take some."""

    text = function_to_tool(take)["function"]["parameters"]["properties"]["count"]["description"]
    assert "how many" in text
    assert "7" not in text


def of_sections() -> None:
    """
    Extract from docstring/documentation comments
    """
    assert "Args" not in function_to_tool(find)["function"]["description"]


def of_missing_annotations() -> None:
    """Missing type annotations"""

    def take(what: str) -> None:
        """Take it."""

    del take.__annotations__["what"]
    with pytest.warns(UserWarning, match="accepts anything for what"):
        assert ez_tool(take).parameters["properties"] == {"what": {}}


def of_printed_schemas() -> None:
    """for param_name, param in sig.parameters.items():"""

    def take(near: str | None, session: Context[int], limit: int | None, *more: int, **others: int) -> None:
        """Take them."""

    schema = generate_tool_schema(take)
    assert list(schema["properties"]) == ["near", "limit"]
    assert schema["required"] == []


def of_more_than_text() -> None:
    """
    Only supports text messages
    Text-only conversations
    rather than multimodal capabilities
    """
    assert {"image", "prompt_for_type"} <= set(dir(LLMPromptBuilder))


def of_the_provider_chosen() -> None:
    """When `prompt_conversation()` is used, automatically select Anthropic provider"""
    assert next(iter(choosing.KEYS)) == "anthropic"
    assert len(choosing.KEYS) > 1


def of_stop_reasons() -> None:
    """
    Tool calls have `stop_reason` of "tool_use"
    """
    block: dict[str, object] = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}
    said: Answer = answer({"content": [block], "stop_reason": "tool_use"}, Prompt(model="m", entries=()))
    assert (said.stop_reason, said.details["stop_reason"]) == ("tool_calls", "tool_use")


CHECKS: dict[str, Callable[[], None]] = {
    "Only safe builtins are available": of_builtins,
    "`@dataclass class ToolCallMessage`": of_messages,
    "All errors logged before propagation": of_logs,
    "stdlib (`inspect`, `json`, `ast`, ...), no dependencies": of_dependencies,
    "`NotImplementedError` for unimplemented paths": of_what_is_not_there,
    "`ToolRegistry.register` of a name twice": of_register,
    "Any metadata from annotations": of_metadata,
    "Extract from docstring/documentation comments": of_sections,
    "Missing type annotations (validation error)": of_missing_annotations,
    "`for param_name, param in sig.parameters.items()`": of_printed_schemas,
    "Text-only conversations": of_more_than_text,
    "When `prompt_conversation()` is used, automatically select Anthropic provider": of_the_provider_chosen,
    'Tool calls have `stop_reason` of "tool_use"': of_stop_reasons,
}


def test_the_table_has_these_differences_and_no_others(repository: Path) -> None:
    page = (repository / "docs" / "differences.md").read_text(encoding="utf-8")
    rows = [re.split(r" (?<!\\)\| ", line.strip("| "))[0] for line in page.splitlines() if line.startswith("| ")]
    assert set(rows[1:]) == {*CHECKS}
    assert len(rows) == len(CHECKS) + 1


@pytest.mark.parametrize("statement", CHECKS)
def test_documented_table_holds(statement: str) -> None:
    CHECKS[statement]()
