"""What providers take and how their models ask, without the library: by the SDKs' request types, and by rules."""

import json
import re
from collections.abc import Mapping
from typing import Any, NotRequired

import jsonschema_rs
from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import TypedDict

__all__ = ["FORMATS", "STRICT_FORMATS", "Requests", "asked", "parameters_in"]

FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "mcp")
STRICT_FORMATS = ("openai-chat", "openai-responses", "anthropic", "mistral")

NAMES: Mapping[str, str] = {
    **dict.fromkeys(("openai-chat", "openai-responses", "anthropic", "mistral"), r"[A-Za-z0-9_-]{1,64}"),
    "gemini": r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}",
    "mcp": r"[A-Za-z0-9._-]{1,128}",
}
KEYS: Mapping[str, str] = {"anthropic": r"[A-Za-z0-9_.-]{1,64}", "gemini": r"[A-Za-z_][A-Za-z0-9_]{0,63}"}


class McpTool(TypedDict):
    """A tool as MCP lists it, for which there is no SDK here."""

    name: str
    description: NotRequired[str]
    inputSchema: dict[str, object]
    outputSchema: NotRequired[dict[str, object]]


class Requests:
    """The SDKs' types of a request's tools.

    Raises:
        ImportError: An SDK is not installed; importing them all takes seconds.
    """

    def __init__(self) -> None:
        from anthropic.types import ToolParam
        from google.genai.types import FunctionDeclaration
        from mistralai.client.models import Tool as MistralTool
        from openai.types.chat import ChatCompletionFunctionToolParam
        from openai.types.responses import FunctionToolParam

        types: Mapping[str, Any] = {
            "openai-chat": ChatCompletionFunctionToolParam,
            "openai-responses": FunctionToolParam,
            "anthropic": ToolParam,
            "gemini": FunctionDeclaration,
            "mistral": MistralTool,
            "mcp": McpTool,
        }
        self._adapters: Mapping[str, TypeAdapter[object]] = {name: TypeAdapter(each) for name, each in types.items()}

    def refusal(self, provider: str, tool: Mapping[str, Any]) -> str | None:
        """Return why a provider's SDK, or a rule that it does not check, would refuse a tool, or None."""
        try:
            taken = self._adapters[provider].validate_python(tool)
        except ValidationError as error:
            return str(error)
        if isinstance(taken, BaseModel):
            taken = taken.model_dump(exclude_unset=True)
        if provider != "gemini" and taken != tool:  # the other SDKs drop what they do not know
            return f"its SDK would send another tool: {taken}"
        return _broken_rule(provider, tool)


def _broken_rule(provider: str, tool: Mapping[str, Any]) -> str | None:
    name: object = tool.get("function", tool).get("name")
    if not isinstance(name, str) or not re.fullmatch(NAMES[provider], name):
        return f"{name!r} is no name of a tool"
    parameters = parameters_in(tool)
    if parameters.get("type") != "object" or parameters.keys() & {"anyOf", "oneOf", "allOf", "$ref"}:
        return "its parameters are no object at the root"
    keys = [key for key in parameters.get("properties", {}) if not re.fullmatch(KEYS.get(provider, ".*"), key)]
    if keys:
        return f"{keys[0]!r} is no name of a parameter"
    if "parameters" not in tool or provider != "gemini":  # that of Gemini is OpenAPI's
        try:
            jsonschema_rs.meta.validate(parameters)
        except jsonschema_rs.ValidationError as error:
            return f"its parameters are not a valid JSON Schema: {error.message}"
    return None


def parameters_in(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the parameters in a tool as a provider takes it; that of no parameters where it has none."""
    inner: Mapping[str, Any] = tool.get("function", tool)
    keys = ("parameters", "input_schema", "inputSchema", "parameters_json_schema")
    none: dict[str, Any] = {"type": "object", "properties": {}}
    return next((inner[key] for key in keys if key in inner), none)


def asked(provider: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a provider's model that asks for one call."""
    text = json.dumps(arguments)
    match provider:
        case "openai-chat" | "mistral":
            function = {"name": name, "arguments": text}
            return {"role": "assistant", "tool_calls": [{"id": "call000001", "type": "function", "function": function}]}
        case "openai-responses":
            return {"output": [{"type": "function_call", "call_id": "call_1", "name": name, "arguments": text}]}
        case "anthropic":
            return {"content": [{"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}]}
        case "gemini":
            return {"role": "model", "parts": [{"function_call": {"name": name, "args": arguments}}]}
        case _:
            return {"name": name, "arguments": arguments}
