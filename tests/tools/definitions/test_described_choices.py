"""Choices that a foreign schema describes one by one, as generators write documented enums."""

from typing import Any

import pytest

from ez_ptc import Toolkit
from ez_ptc.tools.tool import Tool
from tests.schema.suite.measure import echo

Schema = dict[str, Any]
CELSIUS: Schema = {"const": "c", "description": "Degrees\nCelsius"}
FAHRENHEIT: Schema = {"type": "string", "enum": ["f"], "title": "Fahrenheit"}


def weather_tool(unit: Schema) -> Tool[..., Any]:
    return Tool.from_schema("weather", "Get it.", {"type": "object", "properties": {"unit": unit}}, echo)


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
@pytest.mark.parametrize(
    ("beside", "line"),
    [
        ({"description": "Which."}, "unit: Which. ('c': Degrees Celsius; 'f': Fahrenheit)"),
        ({}, "unit: ('c': Degrees Celsius; 'f': Fahrenheit)"),
    ],
)
def test_prompt_has_the_description_of_each_choice(keyword: str, beside: Schema, line: str) -> None:
    tool = weather_tool({keyword: [CELSIUS, FAHRENHEIT, {"type": "null"}], **beside})
    with Toolkit([tool]) as toolkit:
        assert f"    {line}\n" in toolkit.prompt()
        assert toolkit.prompt().count("Args:") == 1
    assert tool.signature == "weather(unit: 'c' | 'f' | None = None)"


@pytest.mark.parametrize(
    "branches",
    [
        [{"const": "c"}, {"const": "f"}],
        [{"enum": ["c", "f"], "description": "Both."}],
        [{"type": "string", "description": "Any."}],
        [{"const": {"a": 1}, "description": "No text."}],
        [{"const": None, "description": "Nothing."}, True],
    ],
)
def test_other_branches_are_no_described_choices(branches: list[Any]) -> None:
    assert "Args:" not in weather_tool({"anyOf": branches}).docstring


def test_hostile_descriptions_of_choices_stay_short_lines() -> None:
    choices = [{"const": str(number), "description": '"""\nimport os' * 999} for number in range(999)]
    tool = weather_tool({"anyOf": choices})
    with Toolkit([tool]) as toolkit:
        entry = toolkit.prompt().partition("\n\nIMPORTANT")[0]
    assert len(entry) < 20_000
    assert entry.count('"""') == 2
    assert not any(line.startswith("import os") for line in entry.splitlines())
