"""What clients list: each tool with its schemas, and the tools that run programs and find other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types

from ez_ptc.errors import ToolNotFoundError
from ez_ptc.formats import mcp as mcp_format
from ez_ptc.mcp.whole import WHOLE
from ez_ptc.tools.definitions.names import unknown_tool_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ez_ptc.mcp.server.served import Decider, ServedToolkit
    from ez_ptc.tools.tool import Tool

__all__ = ["WRAPPED", "describe_tool", "describe_tools", "is_wrapped", "program_tools", "result_schema", "search_tools"]

WRAPPED: Final = "result"
# A longer description costs every client more than the search for the few tools that a program needs.
_MAX_DESCRIPTION: Final = 16_000
_MAX_FOUND: Final = 20
_MAX_WORDS: Final = 32
# The characters of the line about the tools that are not described.
_MAX_REST: Final = 100

_LARGE: Final = (
    "Run a Python program that calls tools, and return what it prints. There are {count} tools, which are functions in "
    "the program: find them with search_tools, and read their signatures with describe_tools. Programs see nothing of "
    "each other."
)
_SEARCH: Final = "Find tools for programs by words of their names and descriptions; returns signatures, best first."
_DESCRIBE: Final = "Return the signatures and documentation of tools for programs."
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
    description = described["description"]
    if len(description) > _MAX_DESCRIPTION:
        description = _LARGE.format(count=len(toolkit))
    # A program changes nothing if none of its tools does.
    reads_only = all(tool.read_only is True for tool in toolkit)
    tools = [
        _tool("execute_tools", description, described["parameters"], reads_only=reads_only),
        _tool("search_tools", _SEARCH, {"type": "object", "properties": {"query": _TEXT}, "required": ["query"]}),
        _tool("describe_tools", _DESCRIBE, {"type": "object", "properties": {"names": _NAMES}, "required": ["names"]}),
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


def search_tools(toolkit: ServedToolkit, query: str) -> str:
    """Return the signatures of the tools that fit a query best, with the first line of their descriptions."""
    query = query[:_MAX_DESCRIPTION].casefold().replace("_", " ")
    words = list(dict.fromkeys(query.split()))[:_MAX_WORDS]
    scored: list[tuple[int, int, Tool[..., Any]]] = []
    for position, tool in enumerate(toolkit):
        name, description = tool.name.casefold(), tool.prose.casefold()
        score = sum(3 * (word in name) + (word in description) for word in words)
        if score or not words:
            scored.append((-score, position, tool))
    lines: list[str] = []
    for _, _, tool in sorted(scored)[:_MAX_FOUND]:
        first_line = tool.prose.strip().partition("\n")[0]
        lines.append(f"{tool.signature}\n    {first_line}")
    if not lines:
        return f"No tool fits. There are {len(toolkit)}; an empty query lists the first {_MAX_FOUND}."
    if len(scored) > len(lines):
        lines.append(f"and {len(scored) - len(lines)} more: use more specific words")
    return "\n".join(lines)


def describe_tools(toolkit: ServedToolkit, names: Collection[str]) -> str:
    """Return the signatures and documentation of tools, each once, up to the bound for a text or the first tool.

    Raises ToolNotFoundError for an unknown name.
    """
    tools = {tool.name: tool for tool in toolkit}
    # A short name, repeated in a request, would otherwise be answered with as many long descriptions.
    names = dict.fromkeys(names)
    texts: list[str] = []
    size = 0
    for name in names:
        if name not in tools:
            raise ToolNotFoundError(unknown_tool_text(name, tools))
        text = f"{tools[name].signature}\n{tools[name].docstring}"
        size += len(text) + 2
        if texts and size + _MAX_REST > toolkit.limits.text:
            texts.append(f"and {len(names) - len(texts)} more: describe fewer tools at a time")
            break
        texts.append(text)
    return "\n\n".join(texts)


def _tool(name: str, description: str, parameters: dict[str, Any], *, reads_only: bool = True) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=reads_only)
    if not reads_only:
        hints = types.ToolAnnotations(read_only_hint=False, destructive_hint=True)
    return types.Tool(name=name, description=description, input_schema=parameters, annotations=hints)
