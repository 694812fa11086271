"""Selecting, renaming and guarding tools: each function returns new tools and leaves its arguments unchanged."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ez_ptc.errors import ToolNotFoundError
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.definitions.names import unknown_tool_text
from ez_ptc.tools.tool import Tool

__all__ = ["filtered", "prefixed", "renamed", "with_approval"]

_Tools = Iterable[Tool[..., Any]]
_Test = Callable[[Tool[..., Any]], bool]


def filtered(
    tools: _Tools,
    test: _Test | None = None,
    *,
    names: Collection[str] | None = None,
    category: str | None = None,
    exclude: Collection[str] = (),
) -> list[Tool[..., Any]]:
    """Return the tools that meet every condition given: they pass `test`, and have one of `names` and the `category`.

    Raises ToolNotFoundError if no tool has a name in `names` or `exclude`.
    """
    all_tools = list(tools)
    for option, value in (("names", names), ("exclude", exclude)):
        if isinstance(value, str):
            message = f"{option} is a list of names: write {option}=[{safe_repr(value)}]"
            raise TypeError(message)
    _check_names(all_tools, [*(names or ()), *exclude])
    return [
        tool
        for tool in all_tools
        if (test is None or test(tool))
        and (names is None or tool.name in names)
        and (category is None or tool.category == category)
        and tool.name not in exclude
    ]


def prefixed(tools: _Tools, prefix: str) -> list[Tool[..., Any]]:
    """Return the tools with `prefix` before each name."""
    return [_renamed(tool, prefix + tool.name) for tool in tools]


def renamed(tools: _Tools, names: Mapping[str, str]) -> list[Tool[..., Any]]:
    """Return the tools, renamed by `names` (old name to new). Raises ToolNotFoundError for an unknown old name."""
    all_tools = list(tools)
    _check_names(all_tools, names)
    return [
        tool if names.get(tool.name, tool.name) == tool.name else _renamed(tool, names[tool.name]) for tool in all_tools
    ]


def with_approval(tools: _Tools, *names: str) -> list[Tool[..., Any]]:
    """Return the tools; those with these names, or all without names, require approval.

    Raises ToolNotFoundError for an unknown name.
    """
    all_tools = list(tools)
    _check_names(all_tools, names)
    return [
        tool.from_definition(replace(tool.definition, requires_approval=True), tool.settings)
        if not names or tool.name in names
        else tool
        for tool in all_tools
    ]


def _renamed(tool: Tool[..., Any], name: str) -> Tool[..., Any]:
    # Unlike `dataclasses.replace`, this does not make the schema of `Tool.from_function`.
    return tool.from_definition(tool.definition.renamed(name), tool.settings)


def _check_names(tools: list[Tool[..., Any]], names: Iterable[str]) -> None:
    known_names = dict.fromkeys(tool.name for tool in tools)
    for name in names:
        if name not in known_names:
            raise ToolNotFoundError(unknown_tool_text(name, list(known_names)))
