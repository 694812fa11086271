"""The specification of tools, statement by statement. Each test quotes what it runs."""

import ast
import inspect
import logging
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, is_dataclass
from importlib.metadata import requires

import pytest

from ez_ptc import (
    Context,
    ParameterType,
    SchemaError,
    Tool,
    ToolParameter,
    ToolRegistry,
    ToolResult,
    create_calculator_tool,
    create_datetime_tool,
    ez_tool,
    tool,
)
from ez_ptc.tools import builtin


def made(*parameters: ToolParameter) -> Tool[..., dict[str, object]]:
    def collect(**given: object) -> dict[str, object]:
        return given

    return Tool("collect", "Collect.", parameters, collect)


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry([create_calculator_tool(), create_datetime_tool()])


PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Which"}},
    "required": ["city"],
}


def test_a_tool_wraps_a_function_with_its_parameters() -> None:
    """
    Provides structured tool definitions with JSON Schema parameter types,
    which wraps a callable with structured parameter metadata.
    """
    tool_of_one = made(ToolParameter("city", ParameterType.STRING, "Which"))
    assert tool_of_one.parameters == PARAMETERS
    assert tool_of_one(city="Oslo") == {"city": "Oslo"}


def test_a_tool_is_written_for_openai() -> None:
    """`to_openai_format` | -- | `dict` | OpenAI function-calling schema"""
    assert made(ToolParameter("city", ParameterType.STRING, "Which")).to_openai_format() == {
        "type": "function",
        "function": {"name": "collect", "description": "Collect.", "parameters": PARAMETERS},
    }


def test_a_tool_is_written_for_anthropic() -> None:
    """`to_anthropic_format` | -- | `dict` | Anthropic tool schema"""
    written = made(ToolParameter("city", ParameterType.STRING, "Which")).to_anthropic_format()
    assert written == {"name": "collect", "description": "Collect.", "input_schema": PARAMETERS}


def test_a_tool_is_executed_to_a_result() -> None:
    """`execute` | `**kwargs` | `ToolResult` | Execute with exception wrapping"""
    result = made(ToolParameter("city", ParameterType.STRING, "Which")).execute(city="Oslo")
    assert result == ToolResult(success=True, output={"city": "Oslo"})


def test_parameter_has_name_type_and_description() -> None:
    """
    `name` | `str` | -- | Parameter name
    `param_type` | `ParameterType` | -- | JSON Schema type
    `description` | `str` | -- | Human-readable description
    """
    parameter = ToolParameter(name="city", param_type=ParameterType.STRING, description="Which")
    assert (parameter.name, parameter.param_type, parameter.description) == ("city", ParameterType.STRING, "Which")
    assert made(parameter).parameters == PARAMETERS


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


def test_a_registry_finds_lists_and_executes(registry: ToolRegistry) -> None:
    """
    a registry for tool management, and serialization to OpenAI and Anthropic formats.
    `ToolRegistry` provides lookup, listing by category, and execution.
    """
    assert [registry.get(each.name) for each in registry.list_tools()] == registry.list_tools()
    assert len(registry.to_openai_format()) == len(registry.to_anthropic_format()) == 2


def test_a_tool_is_added() -> None:
    """`register` | `tool: Tool` | `None` | Add a tool to the registry"""
    registry, calculator = ToolRegistry(), create_calculator_tool()
    add: Callable[..., object] = registry.register
    assert add(tool=calculator) is None
    assert registry.list_tools() == [calculator]


def test_a_tool_is_looked_up(registry: ToolRegistry) -> None:
    """`get` | `name: str` | `Tool` | Look up a tool by name"""
    found = registry.get(name="calculator")
    assert isinstance(found, Tool)
    assert found.name == "calculator"


def test_tools_are_listed_by_category(registry: ToolRegistry) -> None:
    """`list_tools` | `category: str` | `list[Tool]` | List all or category-filtered tools"""
    assert [each.name for each in registry.list_tools()] == ["calculator", "get_datetime"]
    assert [each.name for each in registry.list_tools(category="math")] == ["calculator"]


def test_tools_are_written_for_providers_by_category(registry: ToolRegistry) -> None:
    """
    `to_openai_format` | `category: str` | `list[dict]` | All tools in OpenAI format
    `to_anthropic_format` | `category: str` | `list[dict]` | All tools in Anthropic format
    """
    tools = registry.list_tools()
    assert registry.to_openai_format() == [each.to_openai_format() for each in tools]
    assert registry.to_anthropic_format() == [each.to_anthropic_format() for each in tools]
    assert registry.to_openai_format(category="math") == [tools[0].to_openai_format()]
    assert registry.to_anthropic_format(category="math") == [tools[0].to_anthropic_format()]


def test_a_tool_is_executed_by_its_name(registry: ToolRegistry) -> None:
    """`execute` | `tool_name: str, **kwargs` | `ToolResult` | Execute by name"""
    assert registry.execute(tool_name="calculator", expression="1 + 1") == ToolResult(success=True, output=2)


def test_types_are_those_listed() -> None:
    """Values: `STRING`, `INTEGER`, `NUMBER`, `BOOLEAN`, `ARRAY`, `OBJECT`."""
    names = [each.name for each in ParameterType]
    assert names == ["STRING", "INTEGER", "NUMBER", "BOOLEAN", "ARRAY", "OBJECT"]


def test_types_map_to_those_of_json_schema() -> None:
    """Maps to JSON Schema type strings."""
    assert [each.value for each in ParameterType] == ["string", "integer", "number", "boolean", "array", "object"]


def test_the_decorator_reads_the_function() -> None:
    """
    The `@tool` decorator automates `Tool` creation
    from function signatures using `inspect` and `get_type_hints`.
    """

    @tool
    def add(first: int, second: "int" = 1) -> int:
        """Add two numbers."""
        return first + second

    assert (add.name, add.description, add.parameters["required"]) == ("add", "Add two numbers.", ["first"])
    assert add.parameters["properties"]["second"] == {"type": "integer", "default": 1}


def test_the_decorator_takes_other_words() -> None:
    """
    `name` | `str` | func name | Tool name override
    `description` | `str` | docstring | Tool description override
    `category` | `str` | `None` | Tool category
    """

    def add(first: int) -> int:
        """Add one."""
        return first + 1

    plain, other = tool(add), tool(name="plus", description="Plus one.", category="math")(add)
    assert (plain.name, plain.description, plain.category) == ("add", "Add one.", None)
    assert (other.name, other.description, other.category) == ("plus", "Plus one.", "math")


def test_the_decorator_takes_its_four_parameters_in_order() -> None:
    """
    `description` | `str` | docstring | Tool description override
    `registry` | `ToolRegistry` | `None` | Auto-register to registry
    """

    def add(first: int) -> int:
        """Add one.

        Args:
            first: The number
        """
        return first + 1

    registry = ToolRegistry()
    other = tool("plus", "Plus one.", "math", registry)(add)
    assert (other.name, other.description, other.category, registry.get("plus")) == ("plus", "Plus one.", "math", other)
    assert tool(None, None, "math")(add).category == "math"
    assert tool(add).description == inspect.getdoc(add)
    assert tool(add).to_openai_format()["function"]["description"] == "Add one."
    with pytest.raises(TypeError, match="got its name twice"):
        tool("plus", name="add")


def test_unknown_types_are_strings_in_the_schema_alone() -> None:
    """Python type-to-ParameterType mapping falls back to STRING for unknown types."""

    class Unknown:
        pass

    def take(
        thing: Unknown, anything: object, untyped: int, several: list[Unknown], more: Unknown | None = None
    ) -> object:
        """Take it."""
        return thing, anything, untyped, several, more

    del take.__annotations__["untyped"]
    with pytest.warns(UserWarning, match="describes thing, anything, untyped, several, more as a string"):
        made = tool(take)
    string = {"type": "string"}
    assert made.parameters == {
        "type": "object",
        "properties": {
            "thing": string,
            "anything": string,
            "untyped": string,
            "several": {"type": "array", "items": string},
            "more": string,
        },
        "required": ["thing", "anything", "untyped", "several"],
    }
    assert made.parameter_list[0].param_type is ParameterType.STRING
    unknown = Unknown()
    result = made.execute(thing=unknown, anything=[1], untyped=2, several={"a": None}, more=7)
    assert result.output == (unknown, [1], 2, {"a": None}, 7)
    with pytest.raises(SchemaError, match="parameter 'thing'"):
        ez_tool(take)
    registry = ToolRegistry()
    with pytest.warns(UserWarning, match="as a string"):
        registry.register(take)
    assert registry["take"].parameters == made.parameters


def test_a_tool_is_a_dataclass() -> None:
    """Dataclass-based design centered on `Tool`"""
    calculator = create_calculator_tool()
    assert is_dataclass(Tool)
    assert calculator == create_calculator_tool() != create_datetime_tool()
    assert len({calculator, create_calculator_tool()}) == 1
    with pytest.raises(FrozenInstanceError):
        setattr(calculator, "name", "other")  # noqa: B010 - a type checker refuses the plain form


def test_the_decorator_registers() -> None:
    """`registry` | `ToolRegistry` | `None` | Auto-register to registry"""
    registry = ToolRegistry(context="Ada", approve=lambda _: "not today")

    @tool(registry=registry)
    def add(first: int) -> int:
        """Add one."""
        return first + 1

    @ez_tool(registry=registry, requires_approval=True)
    def pay(to: str, payer: Context[str]) -> str:
        """Pay."""
        return f"{payer} pays {to}"

    assert registry.get("add") is add
    assert registry.get("pay") is pay
    assert (pay.execute(to="Bob").error, pay.settings.context) == ("pay was not approved: not today", "Ada")


def test_the_calculator_evaluates_no_python() -> None:
    """
    Safe math evaluation via AST parsing (no `eval()`)
    Calculator uses `ast.parse(mode="eval")` -- only arithmetic operators allowed, no function calls.
    """
    calls = [node.func for node in ast.walk(ast.parse(inspect.getsource(builtin))) if isinstance(node, ast.Call)]
    assert not [each for each in calls if isinstance(each, ast.Name) and each.id in {"eval", "exec"}]
    assert create_calculator_tool().execute(expression="2 ** 3 + 1").output == 9
    assert not create_calculator_tool().execute(expression="abs(1)").success


def test_the_factories_make_tools_of_these_names() -> None:
    """
    `create_calculator_tool()` | `calculator`
    `create_datetime_tool()` | `get_datetime`
    """
    assert (create_calculator_tool().name, create_datetime_tool().name) == ("calculator", "get_datetime")


def test_the_clock_takes_a_format() -> None:
    """Current datetime with strftime format"""
    assert len(str(create_datetime_tool().execute(format="%Y").output)) == 4


def test_every_exception_is_wrapped() -> None:
    """
    `Tool.execute()` wraps all exceptions in `ToolResult(success=False)`.
    `Tool.execute()` catches all exceptions, returning `ToolResult(success=False, error=str(e))`.
    """

    long = "x" * 50_000

    def fail(how: str) -> None:
        raise {"plain": OSError("no"), "key": KeyError("k"), "empty": OSError(), "long": OSError(long)}[how]

    made = Tool("fail", "Fail.", [ToolParameter("how", ParameterType.STRING, "")], fail)
    for how, error in (("plain", "no"), ("key", "'k'"), ("empty", ""), ("long", long)):
        result = made.execute(how=how)
        assert (result.success, result.error, str(result.exception)) == (False, error, error)


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

    def take(thing: logging.Filter) -> None:
        """Take it."""

    with caplog.at_level(logging.WARNING):
        registry.execute("nothing")
        registry.execute("calculator", expression="1 / 0")
        with pytest.raises(ValueError, match="two tools are called"):
            registry.register(create_calculator_tool())
        with pytest.raises(TypeError, match="parameter 'thing'"):
            ez_tool(take)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 4


def test_schema_page_example_stands_alone() -> None:
    """
    **Internal**: None (standalone framework)
    Tool-calling framework for LLM function calling.
    """
    needed = [each for each in requires("ez-ptc-py") or () if "extra ==" not in each]
    assert not [each for each in needed if re.match("openai|anthropic|langchain|llama|litellm|mcp", each)]
