"""The specification of conversion, statement by statement. Each test quotes what it runs."""

from datetime import date, datetime, time
from typing import Annotated, Any, Literal

import pytest

from ez_ptc import ScriptedProvider, ToolCall, ToolResultMessage, function_to_tool, llm, type_to_json_schema


def get_weather(location: str, *places: str, unit: str = "celsius", **others: str) -> str:
    """Get weather information for a location."""
    return f"{location} {places} {unit} {others}"


def converted(function: Any = get_weather) -> dict[str, Any]:  # noqa: ANN401 - any function
    found: dict[str, Any] = function_to_tool(function)["function"]
    return found


def test_it_is_exposed() -> None:
    """
    This document describes how to convert native functions to OpenAI tool format for LLM function calling.
    A helper `function_to_tool` must be implemented and exposed for the users.
    function function_to_tool(func):
    """
    assert function_to_tool(func=get_weather)["type"] == "function"


def test_model_requests_a_call_and_application_runs_it() -> None:
    """
    Function calling allows LLMs to request execution of user-defined functions.
    The model doesn't execute functions directly
    it generates structured JSON that your application uses to call the appropriate function.
    """
    provider = ScriptedProvider(ToolCall("", "find", '{"what": "shoes"}'), "Found.")

    def find(what: str) -> str:
        """Find something."""
        return what.upper()

    messages, _ = llm().tools([find]).provider(provider).converse("Find shoes.")
    assert [each.result for each in messages if isinstance(each, ToolResultMessage)] == ["SHOES"]


def test_a_definition_has_these_four_parts() -> None:
    """
    A tool definition has this structure:
    To convert a native function to OpenAI tool format, extract:
    `type` | Always `"function"`
    `function.name` | The function's name (e.g., `get_weather`)
    `function.description` | Details on when and how to use the function
    `function.parameters` | JSON Schema defining the function's input arguments
    Return tool definition object
    """
    definition = function_to_tool(get_weather)
    assert (definition["type"], list(definition)) == ("function", ["type", "function"])
    assert list(definition["function"]) == ["name", "description", "parameters"]
    assert definition["function"]["parameters"]["type"] == "object"


def test_it_has_the_functions_name() -> None:
    """**Function name**: Use the function's identifier"""
    assert converted()["name"] == "get_weather"


def test_it_has_the_functions_words() -> None:
    """**Description**: Extract from docstring/documentation comments"""
    assert converted()["description"] == "Get weather information for a location."


def test_parameter_without_description_is_an_error() -> None:
    """Validate function has documentation (raise error if missing)"""

    def silent() -> None: ...

    with pytest.raises(ValueError, match="silent"):
        function_to_tool(silent)


def test_names_types_and_defaults_are_read_from_the_signature() -> None:
    """
    **Parameters**: Parse function signature for parameter names, types, and defaults
    Get function signature and type hints
    Convert type to JSON Schema using type_to_json_schema()
    """

    def find(what: "Literal['a', 'b']", limit: "int" = 5) -> None:
        """Find it."""

    parameters = converted(find)["parameters"]
    without = {name: {**each} for name, each in parameters["properties"].items()}
    assert [each.pop("description") != "" for each in without.values()] == [True, True]
    assert without == {"what": type_to_json_schema(Literal["a", "b"]), "limit": type_to_json_schema(int)}
    assert parameters["required"] == ["what"]


def test_variadic_parameters_are_skipped() -> None:
    """
    For each parameter (excluding *args, **kwargs):
    Skip these parameter kinds:
    `*args` (VAR_POSITIONAL)
    `**kwargs` (VAR_KEYWORD)
    """
    assert list(converted()["parameters"]["properties"]) == ["location", "unit"]


def test_parameter_without_default_is_required() -> None:
    """
    A parameter is **required** if it has no default value in the function signature.
    **Required parameters**: Parameters without default values
    d. If no default value, mark as required
    """

    def search(what: str | None, limit: int | None = None, *, deep: bool = False, place: str) -> None:
        """Search."""

    assert converted(search)["parameters"]["required"] == ["what", "place"]


def test_parameter_without_type_is_text() -> None:
    """Get the annotated type (default to string if missing)"""

    def find(what: object) -> None:
        """Find it."""

    del find.__annotations__["what"]
    assert converted(find)["parameters"]["properties"]["what"]["type"] == "string"


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (time, {"type": "string", "format": "time"}),
    ],
)
def test_a_native_type_is_one_of_json_schema(annotation: object, schema: dict[str, str]) -> None:
    """
    Convert language-native types to JSON Schema types.
    `string` / `str` | `{"type": "string"}`
    `int` / `integer` | `{"type": "integer"}`
    `float` / `number` | `{"type": "number"}`
    `bool` / `boolean` | `{"type": "boolean"}`
    `bytes` | `{"type": "string", "contentEncoding": "base64"}`
    `datetime` | `{"type": "string", "format": "date-time"}`
    `date` | `{"type": "string", "format": "date"}`
    `time` | `{"type": "string", "format": "time"}`
    """
    assert type_to_json_schema(annotation) == schema


def test_an_unknown_type_is_text() -> None:
    """Any unrecognized type defaults to `{"type": "string"}`."""

    class Unknown:
        pass

    assert type_to_json_schema(Unknown) == {"type": "string"}


def test_annotated_is_unwrapped() -> None:
    """When encountering `Annotated[T, metadata...]`, unwrap to extract the base type `T` and process it."""
    assert type_to_json_schema(Annotated[int, "how many"]) == {"type": "integer"}


def test_descriptions_are_made_of_a_name_and_a_type() -> None:
    """
    Add parameter description
    Generate descriptions by combining:
    Parameter name
    Type information
    Example: `"Parameter location of type str"`
    """
    assert converted()["parameters"]["properties"]["location"]["description"] == "Parameter location of type str"


def test_words_of_an_annotation_are_in_the_description() -> None:
    """Any metadata from annotations"""

    def find(what: Annotated[str, "a name or a number"]) -> None:
        """Find it."""

    described = converted(find)["parameters"]["properties"]["what"]["description"]
    assert described.startswith("Parameter what of type str")
    assert "a name or a number" in described


def test_one_and_two_of_a_union() -> None:
    """Optional[T] (Union[T, None]) - unwrap to just T"""
    assert type_to_json_schema(int | None) == {"type": "integer"}
    assert type_to_json_schema(int | str) == {"oneOf": [{"type": "integer"}, {"type": "string"}]}
