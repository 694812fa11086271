"""The tools of a conversation, each with a unique name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from types import MethodType
from typing import Any, Final, cast

from ez_ptc.conversation.validation import check_tool
from ez_ptc.errors import DuplicateToolError
from ez_ptc.providers.lookup import check_provider
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.definitions.names import other_settings_text
from ez_ptc.tools.tool import Tool

__all__ = ["check_names", "check_provider", "with_tools"]

_PROGRAM_TOOL: Final = "execute_tools"

_log = logging.getLogger("ez_ptc.conversation")
_log.addHandler(logging.NullHandler())

_AnyCallable = Callable[..., object]
_Tools = tuple[Tool[..., Any], ...]


def with_tools(tools: _Tools, functions: Iterable[_AnyCallable | Iterable[_AnyCallable]]) -> _Tools:
    """Return tools with others added: tools, functions, or lists and registries of them.

    A tool that is already there is not added again. Raises DuplicateToolError if two have the same name, TypeError for
    anything but a function, and SchemaError if a function cannot be a tool.
    """
    by_name = {tool.name: tool for tool in tools}
    for function in _flat(functions):
        if isinstance(function, Tool):
            tool = cast("Tool[..., Any]", function)
        else:
            tool = Tool.from_function(function)
        present = by_name.setdefault(tool.name, tool)
        is_same = present.definition is tool.definition
        if is_same and isinstance(function, Tool) and present != tool:
            message = other_settings_text(tool.name)
            _log.warning("tool refused: %s", message)
            raise DuplicateToolError(message)
        # A tool with options, such as approval, is never dropped in favor of one without them.
        if not is_same and not isinstance(function, Tool):
            are_methods = isinstance(present.fn, MethodType) and isinstance(function, MethodType)
            is_same = present.fn is function or (are_methods and present.fn == function)
        if not is_same:
            message = f"two tools are called {safe_repr(tool.name)}: rename one with @ez_tool(name=...)"
            _log.warning("tool refused: %s", message)
            raise DuplicateToolError(message)
    return tuple(by_name.values())


def check_names(tools: _Tools, *, has_programs: bool) -> None:
    """Check that no tool has the name of the one that runs programs. Raises DuplicateToolError."""
    if has_programs and any(tool.name == _PROGRAM_TOOL for tool in tools):
        message = f"a tool is called {_PROGRAM_TOOL!r}, like the tool that runs a toolkit's programs: rename it"
        _log.warning("tool refused: %s", message)
        raise DuplicateToolError(message)


def _flat(functions: Iterable[_AnyCallable | Iterable[_AnyCallable]]) -> Iterable[_AnyCallable]:
    for function in functions:
        if callable(function):
            yield check_tool(function)
        elif isinstance(function, Iterable) and not isinstance(function, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            yield from map(check_tool, function)
        else:
            yield check_tool(function)
