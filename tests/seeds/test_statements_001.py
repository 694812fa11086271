"""The document of tool chaining, statement by statement. Each test quotes what it runs."""

from pathlib import Path
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from ez_ptc import Toolkit, ez_tool
from tests.seeds.documents import misquoted


class Weather(TypedDict):
    location: str
    temp: int


class Model(BaseModel):
    location: str
    temp: int


@ez_tool
def typed(location: str) -> Weather:
    """Get weather for a location."""
    return {"location": location, "temp": 22}


@ez_tool
def modelled(location: str) -> Model:
    """Get weather for a location."""
    return Model(location=location, temp=22)


@ez_tool
def plain(location: str) -> dict[str, Any]:
    """Get weather for a location."""
    return {"location": location, "temp": 22}


def texts(toolkit: Toolkit) -> list[str]:
    return [toolkit.prompt(), toolkit.as_tool().__doc__ or "", toolkit.tool_schema()["function"]["description"]]


def test_without_it_nothing_changes() -> None:
    """When `False` (default): no change to current behavior."""
    assert all("Returns:" not in text for text in texts(Toolkit([typed])))


@pytest.mark.parametrize("tool", [typed, modelled])
def test_with_it_the_shapes_are_told(tool: Any) -> None:  # noqa: ANN401 - a tool of any function
    """
    When `True`: return schema info is appended to tool listings in `prompt()`, `as_tool()`, and `tool_schema()`.
    This also works with Pydantic `BaseModel` return types.
    """
    told = texts(Toolkit([tool], assist_tool_chaining=True))
    assert all("Returns: {location: str, temp: int}" in text for text in told)


def test_an_explicit_schema_comes_first() -> None:
    """An explicit `return_schema` always takes priority over auto-detection."""
    schema = {"type": "object", "properties": {"other": {"type": "string"}}}
    assert ez_tool(typed.fn, return_schema=schema).return_schema == schema


def test_what_says_nothing_is_not_announced() -> None:
    """These return `None` for `return_schema`, and no hint is shown to the LLM."""
    assert plain.return_schema is None
    assert texts(Toolkit([plain], assist_tool_chaining=True)) == texts(Toolkit([plain]))


def test_the_separator_is_a_bar() -> None:
    """Return info is appended with a `|` separator:"""
    told = Toolkit([typed], assist_tool_chaining=True).tool_schema()["function"]["description"]
    assert "Get weather for a location. | Returns: {" in told


def test_the_keys_that_were_told_work() -> None:
    """The LLM can now confidently write:"""
    with Toolkit([typed, modelled], assist_tool_chaining=True) as toolkit:
        program = "print(typed('x')['temp'], modelled('x')['temp'], modelled('x').temp)"
        assert toolkit.execute(program).output == "22 22 22\n"


def test_the_quotes_are_the_documents(shared_folder: Path) -> None:
    assert misquoted(shared_folder, "001", globals()) == []
