"""What reads a schema's properties reads those that only a branch at the root names, too."""

from typing import Any

import pytest

from ez_ptc import Tool
from ez_ptc.integrations.offers import ToolOffer, offers_of
from ez_ptc.toolkit.prompting.worked_example import example_program

_LIMIT: dict[str, Any] = {
    "properties": {"limit": {"type": "integer", "description": "how many", "enum": [41]}},
    "required": ["limit"],
}
_OBJECT: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "string"}}}
_KINDS: dict[str, dict[str, Any]] = {
    "allOf": {**_OBJECT, "allOf": [_LIMIT]},
    "anyOf": {**_OBJECT, "anyOf": [_LIMIT, _LIMIT | {"minProperties": 1}]},
    "oneOf": {"type": "object", "oneOf": [_LIMIT | {"maxProperties": 1}, _LIMIT | {"minProperties": 2}]},
    "$ref": {**_OBJECT, "$ref": "#/$defs/L", "$defs": {"L": _LIMIT}},
    "root $ref": {"$ref": "#/$defs/L", "$defs": {"L": {"type": "object", **_LIMIT}}},
}


def _echo(**arguments: object) -> dict[str, object]:
    return arguments


@pytest.fixture(params=_KINDS.values(), ids=list(_KINDS))
def tool(request: pytest.FixtureRequest) -> Tool[..., Any]:
    returns = {"type": "object", "properties": {"name": {"type": "string"}}}
    return Tool.from_schema("find", "Find.", request.param, _echo, return_schema=returns)


def test_parameter_list_has_arguments_of_branches(tool: Tool[..., Any]) -> None:
    (limit,) = [parameter for parameter in tool.parameter_list if parameter.name == "limit"]

    assert (limit.description, limit.required, limit.enum) == ("how many", True, ["41"])


def test_framework_is_offered_arguments_of_branches(tool: Tool[..., Any]) -> None:
    (offer,) = offers_of(tool)

    assert isinstance(offer, ToolOffer)
    assert offer.parameters["properties"]["limit"]["description"] == "how many"
    assert offer.parameters["required"] == ["limit"]


def test_worked_example_passes_required_arguments_of_branches(tool: Tool[..., Any]) -> None:
    assert example_program([tool], with_shapes=False) == "print(find(41))"
