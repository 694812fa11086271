"""The tools that a conversation offers to its model: each name once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from types import MethodType
from typing import Any, Final, cast

from ez_ptc.conversation.validation import check_tool
from ez_ptc.errors import DuplicateToolError
from ez_ptc.schema.safe_repr import shown
from ez_ptc.tools.tool import Tool

__all__ = ["check_names", "with_tools"]

_PROGRAM_TOOL: Final = "execute_tools"

_log = logging.getLogger("ez_ptc.conversation")
_log.addHandler(logging.NullHandler())

_AnyCallable = Callable[..., object]
_Tools = tuple[Tool[..., Any], ...]


def with_tools(tools: _Tools, functions: Iterable[_AnyCallable | Iterable[_AnyCallable]]) -> _Tools:
    """Return tools with further ones, each given as itself, as its function, or in a list or registry.

    What is there already is not added again. Raises DuplicateToolError where two have one name, TypeError for what is
    no function, and SchemaError for a function that cannot be a tool.
    """
    by_name = {tool.name: tool for tool in tools}
    for function in _flat(functions):
        made = cast("Tool[..., Any]", function) if isinstance(function, Tool) else Tool.from_function(function)
        present = by_name.setdefault(made.name, made)
        if not _is_the_same(present, cast("_AnyCallable", function), made):
            message = f"two tools are called {shown(made.name)}: give one another name, @ez_tool(name=...)"
            _log.warning("tool refused: %s", message)
            raise DuplicateToolError(message)
    return tuple(by_name.values())


def check_names(tools: _Tools, *, has_programs: bool) -> None:
    """Check the tools beside the one that runs programs. Raises DuplicateToolError where one has its name."""
    if has_programs and any(tool.name == _PROGRAM_TOOL for tool in tools):
        message = f"a tool is called {_PROGRAM_TOOL!r}, as the one that runs a toolkit's programs: give it another name"
        _log.warning("tool refused: %s", message)
        raise DuplicateToolError(message)


def _is_the_same(present: Tool[..., Any], function: _AnyCallable, made: Tool[..., Any]) -> bool:
    if present.definition is made.definition:
        return True
    # A tool that was made with options, as of approval, is never left out for one made without them.
    return not isinstance(function, Tool) and _is_one_function(present.fn, function)


def _is_one_function(one: object, other: object) -> bool:
    return one is other or (isinstance(one, MethodType) and isinstance(other, MethodType) and one == other)


def _flat(functions: Iterable[_AnyCallable | Iterable[_AnyCallable]]) -> Iterable[_AnyCallable]:
    for each in functions:
        if callable(each):
            yield each
        elif isinstance(each, Iterable) and not isinstance(each, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            yield from map(check_tool, each)
        else:
            yield check_tool(each)
