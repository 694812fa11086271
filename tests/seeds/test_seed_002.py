"""The specification of tools, tables first: each public name has what its table says."""

import dataclasses
import inspect
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from ez_ptc import (
    ParameterType,
    ScriptedProvider,
    Tool,
    ToolCall,
    Toolkit,
    ToolParameter,
    ToolRegistry,
    ToolResult,
    ToolResultMessage,
    create_calculator_tool,
    llm,
    tool,
)
from ez_ptc.formats.catalog import format_named
from ez_ptc.messages import exception_text
from ez_ptc.tools.builtin import create_datetime_tool
from tests.seeds.documents import Seed, read


@pytest.fixture(scope="module")
def specification(shared_folder: Path) -> Seed:
    return read(shared_folder, "002")


def hex_of(**arguments: int) -> list[str]:
    return [hex(each) for each in arguments.values()]


def words(row: list[str]) -> list[str]:
    return [cell.replace("`", "") for cell in row]


def parameters(cell: str) -> list[str]:
    return [each.split(":")[0].strip().lstrip("*") for each in cell.split(",") if each.strip("- ")]


def test_a_tool_has_the_methods_of_its_table(specification: Seed) -> None:
    rows = [words(row) for row in specification.rows("`Tool`")]
    assert {row[0]: row[2] for row in rows} == {
        "to_openai_format": "dict",
        "to_anthropic_format": "dict",
        "execute": "ToolResult",
    }
    made = Tool("show", "Show it.", [ToolParameter("object", ParameterType.INTEGER, "A number")], hex_of)
    assert type(made.to_openai_format()) is dict
    assert type(made.to_anthropic_format()) is dict
    assert isinstance(made.execute(object=2), ToolResult)


def test_a_parameter_has_the_fields_of_its_table(specification: Seed) -> None:
    fields = {each.name: each for each in dataclasses.fields(ToolParameter)}
    hints = get_type_hints(ToolParameter)
    rows = [words(row) for row in specification.rows("`ToolParameter`")]
    assert [row[0] for row in rows] == list(fields)
    for name, kind, default, _ in rows:
        expected = dataclasses.MISSING if default == "--" else {"True": True, "None": None}[default]
        assert fields[name].default is expected
        assert kind.split("[")[0] in str(hints[name])


def test_a_registry_has_the_methods_of_its_table(specification: Seed) -> None:
    for name, taken, _, _ in map(words, specification.rows("`ToolRegistry`")):
        signature = inspect.signature(getattr(ToolRegistry, name))
        assert set(parameters(taken)) - {"kwargs"} <= set(signature.parameters)


def test_decorator_accepts_its_documented_options(specification: Seed) -> None:
    registry = ToolRegistry()
    values: dict[str, Any] = {"name": "double", "description": "Double.", "category": "math", "registry": registry}
    assert [words(row)[0] for row in specification.rows("`@tool` Decorator")] == list(values)

    @tool(**values)
    def twice(x: int) -> int:
        """Something else."""
        return x * 2

    assert (twice.name, twice.description, twice.category) == ("double", "Double.", "math")
    assert registry.get("double") is twice


def test_the_types_of_parameters_are_those_listed(specification: Seed) -> None:
    listed = specification.sections["`ParameterType` (Enum)"].partition("Values:")[2].partition(".")[0]
    assert [each.strip(" `\n") for each in listed.split(",")] == [each.name for each in ParameterType]


def test_factories_make_tools_with_documented_names(specification: Seed) -> None:
    made = {"create_calculator_tool()": create_calculator_tool, "create_datetime_tool()": create_datetime_tool}
    rows = [words(row) for row in specification.rows("Built-in Tools")]
    assert {factory: made[factory]().name for factory, _, _ in rows} == {factory: name for factory, name, _ in rows}


# The first and the last lines of it, with a note between.
LONG = exception_text(OSError("x" * 50_000))


@pytest.mark.parametrize(("how", "text"), [("key", "KeyError: 'k'"), ("empty", "OSError"), ("long", LONG)])
def test_models_read_bounded_errors_with_their_class(how: str, text: str) -> None:
    """`Tool.execute()` catches all exceptions, returning `ToolResult(success=False, error=str(e))`."""

    @tool
    def fail(how: str) -> None:
        """Fail."""
        raise {"key": KeyError("k"), "empty": OSError(), "long": OSError("x" * 50_000)}[how]

    result = fail.execute(how=how)
    assert result.error_text == text
    assert len(text) <= 4_000
    call = ToolCall("call_1", "fail", {"how": how})
    for name in ("openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "mcp"):
        sent = str(format_named(name).results([(call, result)]))
        first_line = text.splitlines()[0]
        assert first_line in sent or first_line.replace("'", "\\'") in sent
        assert len(sent) < 5_000
    messages, _ = llm().tools(fail).provider(ScriptedProvider(call, "Oh.")).converse("?")
    (answered,) = (message.result for message in messages if isinstance(message, ToolResultMessage))
    if how == "long":
        # The conversation keeps the whole.
        assert len(answered) <= 4_000
        assert answered.endswith('(ez-ptc: the whole is kept as results["r1"])')
    else:
        assert answered == text
    with Toolkit([fail]) as toolkit:
        program = toolkit.execute(f"fail({how!r})")
        caught = toolkit.execute(
            f"try:\n    fail({how!r})\nexcept Exception as error:\n    print(type(error).__name__)"
        )
    assert text.splitlines()[0].removeprefix("OSError") in program.error_output
    assert len(program.error_output) < 10_000
    assert program.tool_calls[0]["error"] == text
    assert caught.output in ("KeyError\n", "OSError\n")
