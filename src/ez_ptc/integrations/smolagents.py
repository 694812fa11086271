"""smolagents: their tools as our tools, and ours as theirs."""

from typing import Any

from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import import_framework, tools_exporter
from ez_ptc.integrations.offers import Offer
from ez_ptc.tools.tool import Tool

__all__ = ["export_tools", "import_tools"]

_smolagents: Any = import_framework("smolagents", package="smolagents")

# Their types that JSON Schema has too; others are described as any value.
_TYPES = frozenset({"string", "boolean", "integer", "number", "array", "object", "null"})


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of a smolagents `Tool`, or None for anything else."""
    if not isinstance(thing, _smolagents.Tool):
        return None
    tool: Any = thing
    inputs: dict[str, dict[str, Any]] = tool.inputs

    def call(**arguments: object) -> object:
        return tool(**arguments)

    schema = {
        "type": "object",
        "properties": {name: _property_of(item) for name, item in inputs.items()},
        "required": [name for name, item in inputs.items() if not item.get("nullable")],
        "additionalProperties": False,
    }
    returns = _property_of({"type": tool.output_type}) or None
    return [Tool.from_schema(tool.name, tool.description, schema, call, return_schema=returns)]


def _property_of(item: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of one of their inputs."""
    kinds: list[str] = item["type"]
    if isinstance(kinds, str):
        kinds = [kinds]
    schema = {key: text for key, text in item.items() if key == "description"}
    if not _TYPES.issuperset(kinds):
        return schema
    if item.get("nullable"):
        kinds = [*kinds, "null"]
    return {"type": kinds, **schema}


@tools_exporter("smolagents")
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as its tools: `ToolCallingAgent(export_tools(toolkit), model)`."""
    return [_OfferTool(offer) for offer in offers]


class _OfferTool(_smolagents.Tool):
    # Its base checks the signature of `forward` against `inputs`, which are those of each offer.
    skip_forward_signature_validation = True
    output_type = "any"

    def __init__(self, offer: Offer) -> None:
        required: list[str] = offer.parameters.get("required", [])
        self.name, self.description = offer.name, offer.description
        self.inputs: dict[str, dict[str, Any]] = {}
        for name, schema in offer.parameters["properties"].items():
            type_ = schema.get("type")
            if not isinstance(type_, str) or type_ not in _TYPES:
                type_ = "any"
            self.inputs[name] = {"type": type_, "description": str(schema.get("description", name))}
            if name not in required:
                self.inputs[name]["nullable"] = True
        self._offer = offer
        _smolagents.Tool.__init__(self)

    def forward(self, *args: object, **arguments: object) -> object:
        arguments = {**dict(zip(self.inputs, args, strict=False)), **arguments}
        outcome = self._offer.call({name: value for name, value in arguments.items() if value is not None})
        if outcome.error is not None:
            raise ToolError(outcome.error)
        return outcome.data
