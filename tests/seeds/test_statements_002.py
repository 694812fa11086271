"""The specification of tools, statement by statement. Each test quotes what it runs."""

import ast
import inspect
import logging
from pathlib import Path

import pytest

from ez_ptc import ParameterType, Tool, ToolParameter, ToolRegistry, create_calculator_tool, create_datetime_tool, tool
from ez_ptc.tools import builtin
from tests.seeds.documents import misquoted


def made(*parameters: ToolParameter) -> Tool[..., dict[str, object]]:
    def collect(**given: object) -> dict[str, object]:
        return given

    return Tool("collect", "Collect.", parameters, collect)


def test_a_parameter_has_its_default() -> None:
    """`default` | `Any` | `None` | Default value"""
    tool_of_one = made(ToolParameter("limit", ParameterType.INTEGER, "How many", required=False, default=7))
    assert tool_of_one.execute().output == {"limit": 7}


def test_a_parameter_has_its_allowed_values() -> None:
    """`enum` | `list[str]` | `None` | Allowed values"""
    for kind, enum, right in ((ParameterType.STRING, ["a"], "a"), (ParameterType.INTEGER, ["1"], 1)):
        tool_of_one = made(ToolParameter("choice", kind, "Which", enum=enum))
        assert tool_of_one.execute(choice=right).success
        assert not tool_of_one.execute(choice="other").success


def test_a_parameter_has_the_type_of_its_items() -> None:
    """`items_type` | `ParameterType` | `None` | Array item type"""
    several = made(ToolParameter("tags", ParameterType.ARRAY, "Tags", items_type=ParameterType.STRING))
    assert several.parameters["properties"]["tags"]["items"] == {"type": "string"}


def test_a_parameter_is_required_or_not() -> None:
    """`required` | `bool` | `True` | Whether the parameter is required"""
    assert not made(ToolParameter("name", ParameterType.STRING, "Name")).execute().success
    assert made(ToolParameter("name", ParameterType.STRING, "Name", required=False)).execute().success


def test_types_map_to_those_of_json_schema() -> None:
    """Maps to JSON Schema type strings."""
    assert [each.value for each in ParameterType] == ["string", "integer", "number", "boolean", "array", "object"]


def test_the_decorator_reads_the_function() -> None:
    """The `@tool` decorator automates `Tool` creation"""

    @tool
    def add(first: int, second: int = 1) -> int:
        """Add two numbers."""
        return first + second

    assert (add.name, add.description, add.parameters["required"]) == ("add", "Add two numbers.", ["first"])


def test_the_decorator_registers() -> None:
    """`registry` | `ToolRegistry` | `None` | Auto-register to registry"""
    registry = ToolRegistry()

    @tool(registry=registry)
    def add(first: int) -> int:
        """Add one."""
        return first + 1

    assert registry.get("add") is add


def test_the_calculator_evaluates_no_python() -> None:
    """
    Safe math evaluation via AST parsing (no `eval()`)
    Calculator uses `ast.parse(mode="eval")` -- only arithmetic operators allowed, no function calls.
    """
    calls = [node.func for node in ast.walk(ast.parse(inspect.getsource(builtin))) if isinstance(node, ast.Call)]
    assert not [each for each in calls if isinstance(each, ast.Name) and each.id in {"eval", "exec"}]
    assert create_calculator_tool().execute(expression="2 ** 3 + 1").output == 9
    assert not create_calculator_tool().execute(expression="abs(1)").success


def test_the_clock_takes_a_format() -> None:
    """Current datetime with strftime format"""
    assert len(str(create_datetime_tool().execute(format="%Y").output)) == 4


def test_every_exception_is_wrapped() -> None:
    """
    `Tool.execute()` wraps all exceptions in `ToolResult(success=False)`.
    `Tool.execute()` catches all exceptions, returning `ToolResult(success=False, error=str(e))`.
    """

    def fail() -> None:
        message = "no"
        raise OSError(message)

    result = Tool("fail", "Fail.", [], fail).execute()
    assert (result.success, result.error) == (False, "no")


def test_an_unknown_tool_is_a_result() -> None:
    """`ToolRegistry.execute()` returns error ToolResult for unknown tools (no exception raised)."""
    assert not ToolRegistry().execute("nothing").success


def test_the_calculator_raises_for_other_nodes() -> None:
    """`ValueError` raised by calculator for unsupported AST node types."""
    with pytest.raises(ValueError, match="cannot be worked out"):
        create_calculator_tool()("[1, 2]")


def test_errors_are_logged_before(caplog: pytest.LogCaptureFixture) -> None:
    """All errors logged before propagation."""
    registry = ToolRegistry([create_calculator_tool()])
    with caplog.at_level(logging.WARNING):
        registry.execute("nothing")
        registry.execute("calculator", expression="1 / 0")
        with pytest.raises(ValueError, match="two tools are called"):
            registry.register(create_calculator_tool())
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3


def test_the_quotes_are_the_documents(shared_folder: Path) -> None:
    assert misquoted(shared_folder, "002", globals()) == []
