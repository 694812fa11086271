"""Tools chosen, renamed and guarded: each function returns new tools and leaves those it was given alone."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ez_ptc.errors import ToolNotFoundError
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.definitions.names import not_found
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
    """Return the tools that pass the test, have one of the names, are of the category and are not excluded.

    What is left out asks nothing. Raises ToolNotFoundError for a name that no tool has.
    """
    all_tools = list(tools)
    _check_names(all_tools, [*_collection(names or (), "names"), *_collection(exclude, "exclude")])
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
    return [tool.changed(name=prefix + tool.name) for tool in tools]


def renamed(tools: _Tools, names: Mapping[str, str]) -> list[Tool[..., Any]]:
    """Return the tools with new names for those in `names`. Raises ToolNotFoundError for a name that no tool has."""
    all_tools = list(tools)
    _check_names(all_tools, names)
    return [
        tool if names.get(tool.name, tool.name) == tool.name else tool.changed(name=names[tool.name])
        for tool in all_tools
    ]


def with_approval(tools: _Tools, *names: str) -> list[Tool[..., Any]]:
    """Return the tools so that those of these names, or all, require approval.

    Raises ToolNotFoundError for a name that no tool has.
    """
    all_tools = list(tools)
    _check_names(all_tools, names)
    return [tool.changed(requires_approval=True) if not names or tool.name in names else tool for tool in all_tools]


def _collection(names: Collection[str], option: str) -> Collection[str]:
    if isinstance(names, str):
        message = f"{option} is a list of names: write {option}=[{safe_repr(names)}]"
        raise TypeError(message)
    return names


def _check_names(tools: list[Tool[..., Any]], names: Iterable[str]) -> None:
    known = [tool.name for tool in tools]
    for name in names:
        if name not in known:
            raise ToolNotFoundError(not_found(name, known))
