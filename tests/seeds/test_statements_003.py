"""The specification of conversion, statement by statement. Each test quotes what it runs."""

from pathlib import Path
from typing import Annotated, Any

import pytest

from ez_ptc import function_to_tool, type_to_json_schema
from tests.seeds.documents import misquoted


def get_weather(location: str, *places: str, unit: str = "celsius", **others: str) -> str:
    """Get weather information for a location."""
    return f"{location} {places} {unit} {others}"


def converted(function: Any = get_weather) -> dict[str, Any]:  # noqa: ANN401 - any function
    found: dict[str, Any] = function_to_tool(function)["function"]
    return found


def test_it_is_exposed() -> None:
    """A helper `function_to_tool` must be implemented and exposed for the users."""
    assert function_to_tool(get_weather)["type"] == "function"


def test_it_has_the_functions_name() -> None:
    """**Function name**: Use the function's identifier"""
    assert converted()["name"] == "get_weather"


def test_it_has_the_functions_words() -> None:
    """**Description**: Extract from docstring/documentation comments"""
    assert converted()["description"] == "Get weather information for a location."


def test_what_has_no_words_is_an_error() -> None:
    """Validate function has documentation (raise error if missing)"""

    def silent() -> None: ...

    with pytest.raises(ValueError, match="silent"):
        function_to_tool(silent)


def test_variadic_parameters_are_skipped() -> None:
    """
    For each parameter (excluding *args, **kwargs):
    Skip these parameter kinds:
    """
    assert list(converted()["parameters"]["properties"]) == ["location", "unit"]


def test_what_has_no_default_is_required() -> None:
    """A parameter is **required** if it has no default value in the function signature."""
    assert converted()["parameters"]["required"] == ["location"]


def test_what_has_no_type_is_text() -> None:
    """Get the annotated type (default to string if missing)"""

    def find(what: object) -> None:
        """Find it."""

    del find.__annotations__["what"]
    assert converted(find)["parameters"]["properties"]["what"]["type"] == "string"


def test_an_unknown_type_is_text() -> None:
    """Any unrecognized type defaults to `{"type": "string"}`."""

    class Unknown:
        pass

    assert type_to_json_schema(Unknown) == {"type": "string"}


def test_annotated_is_unwrapped() -> None:
    """When encountering `Annotated[T, metadata...]`, unwrap to extract the base type `T` and process it."""
    assert type_to_json_schema(Annotated[int, "how many"]) == {"type": "integer"}


def test_descriptions_are_made() -> None:
    """Example: `"Parameter location of type str"`"""
    assert converted()["parameters"]["properties"]["location"]["description"] == "Parameter location of type str"


def test_one_and_two_of_a_union() -> None:
    """Optional[T] (Union[T, None]) - unwrap to just T"""
    assert type_to_json_schema(int | None) == {"type": "integer"}
    assert type_to_json_schema(int | str) == {"oneOf": [{"type": "integer"}, {"type": "string"}]}


def test_the_quotes_are_the_documents(shared_folder: Path) -> None:
    assert misquoted(shared_folder, "003", globals()) == []
