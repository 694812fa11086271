"""Mistral's JSON."""

from typing import Any

from ez_ptc.formats.mistral import describe

PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"cups": {"type": "integer"}}, "required": ["cups"]}


def test_a_tool_is_described_as_mistral_wants_it() -> None:
    assert describe("brew", "Brew tea.", PARAMETERS) == {
        "type": "function",
        "function": {"name": "brew", "description": "Brew tea.", "parameters": PARAMETERS},
    }


def test_a_description_shares_nothing_with_the_schema_it_was_made_from() -> None:
    described = describe("brew", "Brew tea.", PARAMETERS)
    _schema(described)["properties"]["cups"]["type"] = "string"

    assert PARAMETERS["properties"] == {"cups": {"type": "integer"}}


def _schema(described: dict[str, Any]) -> dict[str, Any]:
    return described["function"]["parameters"]
