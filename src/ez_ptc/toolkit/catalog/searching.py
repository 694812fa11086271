"""Search among a toolkit's tools, for programs, models and callers: `search_tools` and `describe_tool`."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._lazy import lazy
from ez_ptc.errors import ToolError
from ez_ptc.sandbox.protocol.execution import Grant, Grants
from ez_ptc.sandbox.protocol.output_text import encodable
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.catalog.listing import describe_groups
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.definitions.names import NearNames, unknown_tool_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.schema.annotations.context import Context
    from ez_ptc.toolkit.catalog.entries import EntryWriter
    from ez_ptc.toolkit.catalog.listing import ToolCatalog
    from ez_ptc.toolkit.catalog.ranking import ToolIndex, ToolRanker
    from ez_ptc.tools.definitions.definition import Definition
    from ez_ptc.tools.tool import Tool

__all__ = ["MAX_FOUND", "ToolSearch", "describe_tool", "search_tools"]

MAX_FOUND: Final = 20
"""The maximum tools of one search."""
# The maximum characters of a search's entries; tools beyond it, and longer entries, get one line.
_MAX_ENTRIES: Final = 8_000
_MAX_GROUPS: Final = 1_000
_MAX_NEAR: Final = 3
_MAX_HINT: Final = 1_000
_UNDEFINED: Final = re.compile(r"NameError: name '(\w{1,80})' is not defined", re.ASCII)
_SHORTENED: Final = "In one line, because their descriptions are long; {describe} returns the whole:"


class ToolSearch:
    """Finds and describes the tools of one toolkit."""

    def __init__(
        self,
        tools: Sequence[Tool[..., Any]],
        catalog: ToolCatalog,
        entries: EntryWriter,
        ranker: ToolRanker | None = None,
    ) -> None:
        self._tools = tools
        self._catalog = catalog
        self.entries = entries
        self._ranker = ranker

    def among(self, names: Collection[str]) -> ToolSearch:
        """Return a search among the tools with these names only."""
        tools = tuple(tool for tool in self._tools if tool.name in names)
        return ToolSearch(tools, self._catalog, self.entries, self._ranker)

    @lazy
    def _by_name(self) -> Mapping[str, Tool[..., Any]]:
        return {tool.name: tool for tool in self._tools}

    @lazy
    def _index(self) -> ToolIndex:
        from ez_ptc.toolkit.catalog.ranking import (
            make_index,  # SQLite is not needed before the first search
            tool_document,
        )

        return make_index([tool_document(tool) for tool in self._tools])

    @lazy
    def _near_names(self) -> NearNames:
        return NearNames(self._by_name)

    @lazy
    def _texts(self) -> Mapping[str, str]:
        return {tool.name: self.entries.definition(tool) for tool in self._tools}

    def search(self, query: str, limit: int = 5) -> str:
        """Return the entries of the best tools for a query, best first, or a sentence if no tool fits.

        Raises ToolError for a limit outside 1 to 20.
        """
        if not 1 <= limit <= MAX_FOUND:
            message = f"expected a limit from 1 to {MAX_FOUND}, got {safe_repr(limit)}"
            raise ToolError(message)
        ranked = self._rank(query, limit)
        if not ranked:
            listed = describe_groups(self._tools, _MAX_GROUPS)
            if len(self._tools) <= MAX_FOUND:
                listed = ", ".join(tool.name for tool in self._tools) or "none"
            return f"No function fits these words: use others. The functions ({len(self._tools)}): {listed}."
        entries, lines, room = list[str](), list[str](), _MAX_ENTRIES
        for tool in ranked:
            entry = self.entries.definition(tool)
            room -= len(entry)
            if room >= 0:
                entries.append(entry)
            else:
                lines.append(self.entries.line(tool))
                room += len(entry) - len(lines[-1])
        if lines:
            entries.append("\n".join([_SHORTENED.format(describe=self._catalog.describe), *lines]))
        return encodable("\n\n".join(entries))

    def _rank(self, query: str, limit: int) -> list[Tool[..., Any]]:
        """Return the best tools for a query: first one of that name, then by rank, else those of similar names."""
        named = [name for name in query[:_MAX_ENTRIES].split() if name in self._by_name]
        if self._ranker is None:
            ranked: Iterable[str] = self._index.rank(query, limit)
        else:
            ranked = list(self._ranker(query, self._texts))
            unknown = [name for name in ranked if name not in self._by_name]
            if unknown:
                message = f"the ranker returned {safe_repr(unknown[0])}: expected names of the tools that it was given"
                raise ValueError(message)
        names = dict.fromkeys([*named, *ranked])
        if not names:
            names = dict.fromkeys(self._near_names.find(query.strip(), _MAX_NEAR))
        return [self._by_name[name] for name in names][:limit]

    def hints(self, result: ExecutionResult) -> list[str]:
        """Return the tools for the words of a name that a failed program has invented, if prompts leave tools out."""
        invented = None if result.is_denied else _UNDEFINED.search(result.error_output)
        if invented is None or not self._is_abridged:
            return []
        near = [self.entries.definition(self._by_name[name]) for name in self._index.rank(invented[1], _MAX_NEAR)]
        entries = [encodable(entry) for entry in near if len(entry) <= _MAX_HINT]
        return ["\n\n".join([f"Functions that fit the words of {invented[1]}:", *entries])] if entries else []

    @lazy
    def _is_abridged(self) -> bool:
        return self._catalog.whole(self._tools, self.entries.definition, "\n\n") is None

    def describe(self, name: str) -> str:
        """Return the entry of a tool. Raises ToolError, with similar names, for an unknown one."""
        tool = self._by_name.get(name)
        if tool is None:
            raise ToolError(unknown_tool_text(name, self._by_name))
        return encodable(self.entries.definition(tool))

    # In programs ------------------------------------------------------------------------------------------------------

    @property
    def grants(self) -> Grants:
        """The functions for programs, as a sandbox knows them."""
        return _grants(self._catalog.search, self._catalog.describe)

    def function(self, name: str) -> tuple[Definition, CallSettings] | None:
        """Return a function for programs with the settings of its calls, or None for any other name."""
        definition = _definitions(self._catalog.search, self._catalog.describe).get(name)
        if definition is None:
            return None
        return definition, CallSettings(self)


def search_tools(query: str, limit: int = 5, *, tools: Context[ToolSearch]) -> str:
    """Find functions by words of what they do.

    Returns those that fit best, with their parameters and documentation.

    Args:
        query: Words of what the function does.
        limit: The maximum number of functions, up to 20.
    """
    return tools.search(query, limit)


def describe_tool(name: str, *, tools: Context[ToolSearch]) -> str:
    """Return the parameters and the documentation of a function.

    Args:
        name: Its name.
    """
    return tools.describe(name)


@functools.cache
def _definitions(search: str, describe: str) -> Mapping[str, Definition]:
    from ez_ptc.tools.decorators import ez_tool

    make = ez_tool(read_only=True)
    functions = {search: make(search_tools), describe: make(describe_tool)}
    return {name: tool.definition.renamed(name) for name, tool in functions.items()}


@functools.cache
def _grants(search: str, describe: str) -> Grants:
    return Grants(
        Grant(name, definition.signature, definition.docstring, read_only=True)
        for name, definition in _definitions(search, describe).items()
    )
