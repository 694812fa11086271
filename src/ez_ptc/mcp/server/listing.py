"""What clients list: each tool with its schemas, and the tools that run programs and find other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types

from ez_ptc.formats import mcp as mcp_format
from ez_ptc.mcp.sdk import WHOLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.mcp.server.served import Decider, ServedToolkit
    from ez_ptc.tools.tool import Tool

__all__ = ["WRAPPED", "describe_tool", "is_wrapped", "program_tools", "result_schema"]

WRAPPED: Final = "result"
_SEARCH: Final = "Find functions for programs by words of what they do; returns their documentation, best first."
_DESCRIBE: Final = "Return the documentation of a function for programs."
_RESUME: Final = "Continue a program that waited for a person's decision about calls, once the person has decided."
_DECIDE: Final = "Continue a program that waits for a person's decision about calls. Ask the person first."
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Final = {"type": "string"}
_NAMES: Final = {"type": "array", "items": _TEXT}
# As text, they would arrive as text.
_SCALARS: Final = ((int, {"type": "integer"}), (float, {"type": "number"}), (bool, {"type": "boolean"}))


def result_schema(tool: Tool[..., Any]) -> Mapping[str, Any] | None:
    """Return the schema of a tool's results; None for text and data, which clients recognize without it."""
    if tool.return_schema is not None:
        return tool.return_schema
    annotation = tool.definition.read_signature().return_annotation
    return next((schema for scalar, schema in _SCALARS if annotation is scalar), None)


def is_wrapped(tool: Tool[..., Any]) -> bool:
    """Return whether a tool's results are wrapped, because their schema is not that of an object."""
    schema = result_schema(tool)
    return schema is not None and schema.get("type") != "object"


def describe_tool(tool: Tool[..., Any]) -> types.Tool:
    """Return a tool as clients list it."""
    described = {**mcp_format.describe(tool), "_meta": {WHOLE: True}}
    if "$schema" in tool.parameters:  # converted to the protocol's draft, whatever it was
        described["inputSchema"] = {"$schema": _DRAFT, **described["inputSchema"]}
    if is_wrapped(tool):
        schema = dict(cast("Mapping[str, Any]", result_schema(tool)))
        definitions = {key: schema.pop(key) for key in ("$defs", "definitions") if key in schema}
        described["outputSchema"] = {
            "type": "object",
            "properties": {WRAPPED: schema},
            "required": [WRAPPED],
            "x-fastmcp-wrap-result": True,  # FastMCP's client unwraps only what says so
            **definitions,
        }
    hints: dict[str, Any] = {"readOnlyHint": tool.read_only is True, "idempotentHint": tool.idempotent}
    if tool.read_only is not True:
        hints["destructiveHint"] = bool(tool.requires_approval)
    described["annotations"] = hints
    return types.Tool.model_validate(described, by_name=False)


def program_tools(toolkit: ServedToolkit, decide: Decider) -> list[types.Tool]:
    """Return the tools for programs: run one, search, describe; and, with a journal, continue one."""
    described = toolkit.tool_schema("raw", after=True)
    # A program changes nothing if none of its tools does.
    reads_only = all(tool.read_only is True for tool in toolkit)
    tools = [
        _tool("execute_tools", described["description"], described["parameters"], reads_only=reads_only),
        _tool("search_tools", _SEARCH, {"type": "object", "properties": {"query": _TEXT}, "required": ["query"]}),
        _tool("describe_tool", _DESCRIBE, {"type": "object", "properties": {"name": _TEXT}, "required": ["name"]}),
    ]
    if toolkit.journal is not None:
        properties: dict[str, Any] = {"run_id": _TEXT}
        if decide == "client":
            properties["approve"] = {**_NAMES, "description": "The calls that may run, as they were named."}
            properties["deny"] = {**_NAMES, "description": "The calls that must not run, as they were named."}
        parameters = {"type": "object", "properties": properties, "required": ["run_id"]}
        # Destructive, so that clients show the call to a person: the model writes it.
        description = _DECIDE if decide == "client" else _RESUME
        tools.append(_tool("resume_program", description, parameters, reads_only=False))
    return tools


def _tool(name: str, description: str, parameters: dict[str, Any], *, reads_only: bool = True) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=reads_only)
    if not reads_only:
        hints = types.ToolAnnotations(read_only_hint=False, destructive_hint=True)
    return types.Tool(name=name, description=description, input_schema=parameters, annotations=hints)
