"""A server's tools as our tools: their names, schemas, hints and fingerprints."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.errors import EzPtcError, SchemaError
from ez_ptc.mcp.client.texts import clean_schema, clean_text, error_line
from ez_ptc.mcp.sdk import WHOLE
from ez_ptc.schema.arguments.json_text import MAX_DEPTH, is_too_deep
from ez_ptc.schema.safe_repr import safe_name
from ez_ptc.tools.definitions.names import parameter_spellings, tool_spellings
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import mcp_types as types

    from ez_ptc.mcp.client.dropped_tools import DroppedTools
    from ez_ptc.tools.definitions.options import HandmadeOptions

__all__ = [
    "WRAPPER_KEY",
    "ListedTool",
    "distinct_names",
    "fingerprint",
    "listed_tools",
    "log_warning",
    "make_tool",
    "unwrapped_schema",
]

WRAPPER_KEY: Final = "result"
"""What servers wrap results in that are no objects."""

_NO_WORD: Final = re.compile(r"\W")
_MAX_NAME: Final = 100
_log = logging.getLogger("ez_ptc.mcp")


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it.

    `find_problem` checks its structured results, which are wrapped if `is_wrapped`; both depend on `output_schema`.
    `offers_whole`: its server shortens results, unless a call asks for whole ones.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    find_problem: Callable[[object], str | None] | None
    is_wrapped: bool
    options: HandmadeOptions
    fingerprint: str
    offers_whole: bool = False


def listed_tools(tools: Iterable[types.Tool], dropped: DroppedTools) -> dict[str, ListedTool]:
    """Return a server's tools by name; those that cannot be used, such as one that is listed twice, are dropped."""
    listed: dict[str, ListedTool] = {}
    for tool in tools:
        if tool.name in listed:
            dropped.add(tool.name, "it is listed twice; the first is kept")
        elif is_too_deep([tool.input_schema, tool.output_schema]):
            dropped.add(tool.name, f"its schemas are nested more than {MAX_DEPTH} levels deep")
        elif tool.execution is not None and tool.execution.task_support == "required":
            dropped.add(tool.name, "it needs tasks, an experiment of the protocol that is not supported here")
        else:
            listed[tool.name] = _listed(dropped.server, tool)
    return listed


def _listed(server: str, tool: types.Tool) -> ListedTool:
    output, find_problem = tool.output_schema, None
    if output is not None:
        from ez_ptc.schema.imported.parameters import check_result_schema

        try:
            find_problem = check_result_schema(safe_name(tool.name), output)
        except SchemaError as error:
            log_warning(server, tool.name, f"its results are not checked: {error}")
            output = None
    value_schema = unwrapped_schema(output)
    shown = output if value_schema is None else value_schema
    options: HandmadeOptions = {"return_schema": clean_schema(shown), **_hints(tool)}
    return ListedTool(
        name=tool.name,
        description=clean_text(tool.description or tool.title),
        input_schema=clean_schema(tool.input_schema),
        output_schema=output,
        find_problem=find_problem,
        is_wrapped=value_schema is not None,
        options=options,
        fingerprint=fingerprint(tool),
        offers_whole=tool.meta is not None and tool.meta.get(WHOLE) is True,
    )


def _hints(tool: types.Tool) -> HandmadeOptions:
    """Return what a tool's annotations say of it, as options."""
    hints = tool.annotations
    if hints is None:
        return {}
    # The protocol ignores the other hints of a tool that only reads.
    if hints.read_only_hint:
        return {"read_only": True, "idempotent": True}
    options: HandmadeOptions = {"idempotent": hints.idempotent_hint is True}
    if hints.read_only_hint is False:
        options["read_only"] = False
    if hints.destructive_hint:
        options["requires_approval"] = True
    return options


def unwrapped_schema(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the schema of the value in a `{"result": value}` wrapper, or None if the schema declares no such wrapper.

    Servers wrap what is no object, because the protocol's results are objects.
    """
    if schema is None:
        return None
    properties = schema.get("properties")
    if not isinstance(properties, dict) or set(cast("dict[str, Any]", properties)) != {WRAPPER_KEY}:
        return None
    inner = cast("dict[str, Any]", properties)[WRAPPER_KEY]
    if not isinstance(inner, dict) or WRAPPER_KEY not in schema.get("required", ()):
        return None
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {**definitions, **cast("dict[str, Any]", inner)}


def fingerprint(tool: types.Tool) -> str:
    """Return a digest of all that a server says of a tool: it changes with the description, schemas and hints."""
    # Icons and metadata change without a change of meaning.
    content = tool.model_dump(mode="json", by_alias=True, exclude={"meta", "icons"}, exclude_none=True)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def make_tool(
    names: Sequence[str],
    listed: ListedTool,
    function: Callable[..., object],
    overrides: Mapping[str, HandmadeOptions],
    dropped: DroppedTools,
) -> Tool[..., Any] | None:
    """Return a server's tool under the last of its names, or None if it cannot be one, which drops it.

    `overrides` has options by any of the names, of which the later ones count.
    """
    name = names[-1]
    options: HandmadeOptions = {**listed.options}
    for own_name in names:
        options.update(overrides.get(own_name, {}))
    try:
        return Tool.from_schema(name, listed.description or f"Tool: {name}", listed.input_schema, function, **options)
    except EzPtcError as error:
        dropped.add(listed.name, error_line(str(error)))
        return None


def log_warning(server: str, tool: str, text: str) -> None:
    """Log a warning about a tool that is used."""
    _log.warning("the tool %s of the MCP server %s: %s", safe_name(tool), server, text)


def distinct_names(names: Sequence[str], prefixes: Sequence[str]) -> list[str]:
    """Return each name as a Python identifier after its prefix, unless it has that already.

    Names that become equal are numbered; first come those that have their prefix already, so that no new tool of a
    server takes the name of another. A name that hides a name of Python's gets an underscore.
    """
    distinct = [""] * len(names)
    used: dict[str, int] = {}  # with the last number behind each
    has_prefix = [
        _NO_WORD.sub("_", name).startswith(_NO_WORD.sub("_", prefix))
        for name, prefix in zip(names, prefixes, strict=True)
    ]
    for position in sorted(range(len(names)), key=lambda position: not has_prefix[position]):
        full = names[position] if has_prefix[position] else f"{prefixes[position]}{names[position]}"
        full = full[:_MAX_NAME]
        (spelling,) = tool_spellings([parameter_spellings([full]).get(full, full)], ()).values()
        # A toolkit may add an underscore to a name, which must not make it equal to another.
        candidate, stem = spelling, spelling.rstrip("_")
        number = used.get(stem, 1)
        while candidate.rstrip("_") in used:
            number += 1
            candidate = f"{stem}_{number}"
        used[stem] = number
        used.setdefault(candidate.rstrip("_"), 1)
        distinct[position] = candidate
    return distinct
