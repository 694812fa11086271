"""The design of conversations on tools and their schemas, statement by statement. Each test quotes what it runs."""

import inspect
from collections.abc import Callable
from datetime import date, datetime, time
from importlib.resources import files
from pathlib import Path
from typing import Any, Dict, List, Literal, Optional, Union, cast  # noqa: UP035 - as printed
from uuid import UUID

import pytest
from pydantic import TypeAdapter

from ez_ptc import (
    DuplicateToolError,
    LLMPromptBuilder,
    Message,
    SchemaError,
    Tool,
    ToolCallMessage,
    ToolRegistry,
    ToolResultMessage,
    generate_tool_schema,
    llm,
    tool,
)
from tests.seeds.documents import read


def get_weather(location: str) -> str:
    """Get current weather for a location."""
    return f"sunny in {location}"


def find(
    what: str,
    tags: List[int],  # noqa: UP006 - as printed
    prices: Dict[str, float],  # noqa: UP006 - as printed
    either: Union[int, str],  # noqa: UP007 - as printed
    near: Optional[str],  # noqa: UP045 - as printed
    limit: int = 5,
) -> None:
    """Find it."""


def taking(annotation: object) -> Callable[..., object]:
    def function(value: object, other: object) -> None:
        """Take a value, and another of any type."""

    function.__annotations__ = {"value": annotation}
    return function


# --- a tool -----------------------------------------------------------------------------------------------------------


def test_a_tool_has_its_four_fields() -> None:
    """
    class Tool:
    name: str
    description: str
    function: Callable[..., Any]
    schema: dict  # Auto-generated from function signature
    `Tool` dataclass for tool metadata and function references
    """
    made = Tool.from_function(get_weather)
    assert (made.name, made.description, made.function) == ("get_weather", get_weather.__doc__, get_weather)
    assert made.schema["properties"] == {"location": {"type": "string"}}


def test_a_tool_is_made_of_a_function() -> None:
    """
    @classmethod
    def from_function(cls, func: Callable[..., Any]) -> "Tool":
    Create Tool from function, deriving metadata automatically.
    return cls(
    name=func.__name__,
    function=func,
    """
    made = Tool.from_function(func=get_weather)
    assert type(made) is Tool
    assert (made.name, made.function) == (get_weather.__name__, get_weather)


def test_a_function_without_words_is_described_by_its_name() -> None:
    """description=func.__doc__ or f"Tool: {func.__name__}","""

    def silent(location: str) -> str:
        return location

    with pytest.warns(UserWarning, match="has no docstring"):
        made = Tool.from_function(silent)
    assert (made.description, Tool.from_function(get_weather).description) == ("Tool: silent", get_weather.__doc__)


# --- its schema -------------------------------------------------------------------------------------------------------


def test_a_schema_is_generated_of_the_annotations() -> None:
    """
    Automatic JSON schema generation from Python function type annotations
    def generate_tool_schema(func: Callable) -> dict:
    Generate JSON schema from function signature.
    if param_name in type_hints:
    if not is_optional and not has_default:
    "required": required
    """
    assert list(generate_tool_schema(taking(int))["properties"]) == ["value"]
    schema = generate_tool_schema(func=find)
    assert list(schema) == ["type", "properties", "required"]
    assert list(schema["properties"]) == ["what", "tags", "prices", "either", "near", "limit"]
    assert schema["required"] == ["what", "tags", "prices", "either"]


@pytest.mark.parametrize("name", ["what", "tags", "prices", "either", "near", "limit"])
def test_a_type_has_the_schema_that_pydantic_gives_it(name: str) -> None:
    """
    The system will use Pydantic's `TypeAdapter` to generate JSON schemas from function signatures:
    The design leverages Pydantic's existing JSON schema generation capabilities
    Leverage existing Pydantic dependency for schema generation
    Use `TypeAdapter` for converting Python types to JSON schemas
    Support for complex types (List, Dict, Optional, Union)
    """
    annotation = inspect.signature(find).parameters[name].annotation
    assert generate_tool_schema(find)["properties"][name] == TypeAdapter(annotation).json_schema()


PLAIN = (str, int, float, bool, datetime, date, time, UUID, Literal["a", "b"], tuple[int, str], set[int], Any)


@pytest.mark.parametrize("function", [find, get_weather, *map(taking, PLAIN)])
def test_the_printed_generator_gives_the_same(shared_folder: Path, function: Callable[..., object]) -> None:
    namespace: dict[str, Any] = {"Callable": Callable, "Union": Union}
    printed = read(shared_folder, "004").python("Tool Schema Generation")
    exec(compile(printed, "<seed>", "exec", dont_inherit=True), namespace)
    assert namespace["generate_tool_schema"](function) == generate_tool_schema(function)


# --- tools of a builder -----------------------------------------------------------------------------------------------


def test_functions_are_given_by_the_names_printed() -> None:
    """
    class LLMPromptBuilder:
    def tool(self, tool_function: Callable[..., Any]) -> LLMPromptBuilder:
    Add a single tool definition from function, auto-deriving metadata.
    def tools(self, tool_functions: List[Callable[..., Any]]) -> LLMPromptBuilder:
    Add multiple tool definitions from functions, auto-deriving metadata.
    """
    functions: list[Callable[..., Any]] = [get_weather]
    assert [each.name for each in llm().tool(tool_function=get_weather).settings.tools] == ["get_weather"]
    assert [each.name for each in llm().tools(tool_functions=functions).settings.tools] == ["get_weather"]
    assert [each.name for each in llm().tools(functions).settings.tools] == ["get_weather"]
    assert isinstance(llm().tools(functions), LLMPromptBuilder)


def test_a_builder_takes_registries_and_keeps_their_tools() -> None:
    """
    **Tool Definition System**
    Tool registry management within the builder
    """
    registry = ToolRegistry([Tool.from_function(get_weather)])
    builder = llm().tools(registry).tools([find])
    assert [each.name for each in builder.settings.tools] == ["get_weather", "find"]
    assert llm().tools(registry).settings.tools == tuple(registry)


def test_step_returns_new_builder_without_changing_old() -> None:
    """The design extends the existing builder pattern with new methods for tool definition"""
    begun = llm().agent("You help.")
    assert [each.name for each in begun.tools([get_weather]).settings.tools] == ["get_weather"]
    assert begun.settings.tools == ()


def test_non_tool_is_found_by_the_builder() -> None:
    """
    Builder validates and stores tools
    Unsupported parameter types
    """

    class Unknown:
        pass

    def take(thing: Unknown) -> None:
        """Take it."""

    with pytest.raises(SchemaError, match="parameter 'thing'"):
        llm().tools([take])
    with pytest.raises(DuplicateToolError, match="two tools are called"):
        llm().tools([get_weather]).tool(Tool.from_function(get_weather))


@pytest.mark.parametrize("function", [int, getattr, 5, "get_weather"])
def test_callable_without_usable_signature_is_an_error(function: object) -> None:
    """Invalid function signatures"""
    with pytest.raises(TypeError, match=r"its parameters cannot be read|expected a function, got"):
        llm().tools([cast("Any", function)])


# --- types ------------------------------------------------------------------------------------------------------------


def test_the_package_is_typed() -> None:
    """
    while maintaining type safety
    Full typing for tool definitions and responses
    """
    assert (files("ez_ptc") / "py.typed").is_file()


def test_tool_is_generic_in_parameters_and_result() -> None:
    """Generic types for tool function parameters"""
    assert [str(each) for each in cast("Any", Tool).__parameters__] == ["~P", "+R_co"]
    assert tool(get_weather)("Oslo").upper() == "SUNNY IN OSLO"


def test_conversations_have_return_annotations() -> None:
    """
    Proper return type annotations for conversation methods
    def prompt_conversation(self, message: str = None, **kwargs) -> Tuple[List[Message], LLMPromptBuilder]:
    """
    signature = inspect.signature(LLMPromptBuilder.prompt_conversation)
    assert signature.return_annotation == "tuple[list[Message], LLMPromptBuilder]"
    assert signature.parameters["message"].default is None
    assert [each.kind.name for each in signature.parameters.values()][-1] == "VAR_KEYWORD"


def test_messages_are_of_one_family() -> None:
    """
    New message types to support tool calling:
    class ToolCallMessage(Message):
    class ToolResultMessage(Message):
    Message type hierarchy with tool-specific message types
    """
    assert issubclass(ToolCallMessage, Message)
    assert issubclass(ToolResultMessage, Message)
