"""The design of conversations on tools and their schemas, statement by statement. Each test quotes what it runs."""

import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Dict, List, Literal, Optional, Union, cast  # noqa: UP035 - as printed
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from ez_ptc import (
    Context,
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
    @dataclass
    class Tool:
    name: str
    description: str
    function: Callable[..., Any]
    schema: dict  # Auto-generated from function signature
    `Tool` dataclass for tool metadata and function references
    """
    made = Tool.from_function(get_weather)
    assert (made.name, made.description, made.function) == ("get_weather", get_weather.__doc__, get_weather)
    assert is_dataclass(Tool)
    assert [field.name for field in fields(Tool)][:4] == ["name", "description", "function", "schema"]
    with pytest.raises(FrozenInstanceError):
        setattr(made, "name", "other")  # noqa: B010 - a type checker refuses the plain form
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


def test_the_docstring_is_the_description_unchanged() -> None:
    """description=func.__doc__ or f"Tool: {func.__name__}","""

    def look(what: str, session: Context[str]) -> str:
        """
        Look for something.

        Args:
            what: What it is
        """
        return what + session

    assert Tool.from_function(look).description == look.__doc__
    assert Tool.from_function(look).to_anthropic_format()["description"] == "Look for something."
    look.__doc__ = f"{look.__doc__}    session: A secret of the host\n"
    shown = Tool.from_function(look).description
    assert "secret" not in shown
    assert "what: What it is" in shown


def test_four_fields_may_be_passed_by_position() -> None:
    """
    function: Callable[..., Any]
    schema: dict
    """
    schema = generate_tool_schema(get_weather)
    made = Tool("weather", "Get the weather.", get_weather, schema)
    assert (made.name, made.description, made.function, made.schema) == (
        "weather",
        "Get the weather.",
        get_weather,
        schema,
    )
    assert made.execute(location="Oslo").output == "sunny in Oslo"
    assert Tool("weather", "Get the weather.", function=get_weather, schema=schema) == made


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


class Side(BaseModel):
    grams: int = 5


class Parcel(BaseModel):
    """A parcel."""

    sides: list[Side]
    inner: "Parcel | None" = None


@dataclass
class Label:
    text: str
    side: Side


PLAIN = (
    *(str, int, float, bool, bytes, datetime, date, time, UUID, Decimal, Path, Literal["a", "b"], Any),
    *(tuple[int, str], set[int], dict[str, list[int]], Annotated[int, Field(ge=1)], list[Annotated[str, "text"]]),
    *(Optional[int], Side),  # noqa: UP045 - as printed
)
NESTED = (list[Side], Parcel, dict[str, Parcel], Label, Optional[Label])  # noqa: UP045 - as printed


def printed_schema(folder: Path, function: Callable[..., object]) -> dict[str, Any]:
    namespace: dict[str, Any] = {"Callable": Callable, "Union": Union}
    printed = read(folder, "004").python("Tool Schema Generation")
    exec(compile(printed, "<seed>", "exec", dont_inherit=True), namespace)
    schema: dict[str, Any] = namespace["generate_tool_schema"](function)
    return schema


@pytest.mark.filterwarnings("ignore:function accepts anything")
@pytest.mark.parametrize("function", [find, get_weather, *map(taking, PLAIN)])
def test_the_printed_generator_gives_the_same(shared_folder: Path, function: Callable[..., object]) -> None:
    """
    properties[param_name] = adapter.json_schema()
    schema=generate_tool_schema(func)
    """
    printed = printed_schema(shared_folder, function)
    assert printed == generate_tool_schema(function) == Tool.from_function(function).schema


def inlined(part: Any, root: dict[str, Any], depth: int = 4) -> Any:  # noqa: ANN401 - any part of a schema
    """Return a part of a schema with the definitions it refers to, a few levels deep."""
    if isinstance(part, list):
        return [inlined(item, root, depth) for item in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    fields = cast("dict[str, Any]", part)
    if "$ref" in fields:
        target: Any = root
        for step in str(fields["$ref"]).removeprefix("#/").split("/"):
            target = target[step]
        return inlined(target, root, depth - 1) if depth else {}
    return {key: inlined(value, root, depth) for key, value in fields.items() if key != "$defs"}


@pytest.mark.filterwarnings("ignore:function accepts anything")
@pytest.mark.parametrize("annotation", NESTED)
def test_references_resolve_within_the_result(shared_folder: Path, annotation: object) -> None:
    """ "required": required"""
    function = taking(annotation)
    printed, ours = printed_schema(shared_folder, function), Tool.from_function(function).schema
    value = printed["properties"]["value"]
    assert inlined(ours["properties"]["value"], ours) == inlined(value, value)
    assert ours["required"] == printed["required"]
    made = Tool("take", "Take it.", dict[str, Any], ours)
    assert made.to_openai_format()["function"]["parameters"]["properties"].keys() == {"value"}


def test_classes_of_one_name_have_a_definition_each() -> None:
    """Generate JSON schema from function signature."""

    def local() -> type[BaseModel]:
        class Side(BaseModel):
            name: str

        return Side

    def take(first: list[Side], second: list[Side], third: list[int]) -> None:
        """Take them."""

    take.__annotations__["third"] = list[cast("Any", local())]
    schema = generate_tool_schema(take)
    assert sorted(schema["$defs"]) == ["Side", "Side_2"]
    refs = [schema["properties"][name]["items"]["$ref"] for name in ("first", "second", "third")]
    assert refs == ["#/$defs/Side", "#/$defs/Side", "#/$defs/Side_2"]


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
