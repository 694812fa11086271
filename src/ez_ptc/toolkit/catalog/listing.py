"""How much of its tools a prompt describes: all of them up to a budget, then one line each, then groups with counts.

Programs find the others. The text of a part depends on the tools alone, not on the order of their registration, so
providers can cache it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from ez_ptc.errors import ToolNotFoundError
from ez_ptc.sandbox.protocol.both_ends.quoting import name_text
from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type
from ez_ptc.tools.definitions.names import unknown_tool_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ez_ptc.tools.tool import Tool

__all__ = ["WHOLE", "CatalogSize", "ToolCatalog", "describe_groups"]

CatalogSize = Literal["auto", "full"] | int
"""How much of the tools a prompt describes: "auto", "full", or a number of tokens."""

_DEFAULT_BUDGET: Final = 8_000
_BUDGETS: Final = {"auto": _DEFAULT_BUDGET, "full": None}
_CHARACTERS_OF_A_TOKEN: Final = 4
_MIN_GROUPS: Final = 200
_LINES: Final = "One line about each of the {count} functions:"
_OTHER_LINES: Final = "One line about each of the {count} other functions:"
_GROUPS: Final = "{count} functions are not described here, in groups: {groups}."
_MORE_GROUPS: Final = "{count} more functions are not described here, in groups: {groups}."
_HOW: Final = (
    'Find functions in a program of its own: print({search}("what to do")) prints those that fit best with their '
    'parameters, print({describe}("name")) prints one. Then write the program that calls them.'
)
# The first word of a name, with the underscores after it: `crm_` of `crm_get_lead`, `get` of `getLead`.
_PREFIX: Final = re.compile(r"_*(?:[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+)_*")


@dataclass(frozen=True, slots=True)
class ToolCatalog:
    """How much of its tools a toolkit's prompts describe.

    Attributes:
        budget: The maximum characters of the entries of all tools, or of a text without all of them; None for any.
        pinned: The names of the tools to describe in full in any case.
        search, describe: The names of the functions for programs to find the others.
    """

    budget: int | None = _DEFAULT_BUDGET
    pinned: frozenset[str] = frozenset()
    search: str = "search_tools"
    describe: str = "describe_tool"

    @classmethod
    def of(cls, size: object, pinned: object, spellings: Mapping[str, str]) -> ToolCatalog:
        """Return the catalogue of a toolkit's settings; `spellings` are the names of its tools in programs.

        Raises TypeError or ValueError for another size, and ToolNotFoundError for an unknown pinned tool.
        """
        taken = {*spellings.values()}
        search, describe = (_free(name, taken) for name in ("search_tools", "describe_tool"))
        return cls(_budget(size), frozenset(_names_of_pins(pinned, spellings)), search, describe)

    def whole(self, tools: Sequence[Tool[..., Any]], write: Callable[[Tool[..., Any]], str], gap: str) -> str | None:
        """Return the entries of all tools, `gap` between two; None if they exceed the budget.

        One tool alone is described whatever its size: there is nothing to search among.
        """
        entries: list[str] = []
        size = 0
        for tool in tools:
            entries.append(write(tool))
            size += len(entries[-1])
            size += len(gap)
            if self.budget is not None and size - len(gap) > self.budget and len(tools) > 1:
                return None
        return gap.join(entries)

    def select_pinned(self, tools: Iterable[Tool[..., Any]]) -> list[Tool[..., Any]]:
        """Return the pinned tools, by name."""
        return sorted((tool for tool in tools if tool.name in self.pinned), key=_name_of)

    def rest(self, tools: Sequence[Tool[..., Any]], line: Callable[[Tool[..., Any]], str], size: int) -> str:
        """Return the text about all tools but the pinned ones, beside `size` characters of other text."""
        others = sorted((tool for tool in tools if tool.name not in self.pinned), key=_name_of)
        room = (self.budget or 0) - size
        how = _HOW.format(search=self.search, describe=self.describe)
        head, groups_head = _LINES, _GROUPS
        if len(others) < len(tools):
            head, groups_head = _OTHER_LINES, _MORE_GROUPS
        head = head.format(count=len(others))
        lines = [head]
        left = room - len(head) - len(how) - 2
        for tool in others:
            lines.append(line(tool))
            left -= len(lines[-1]) + 1
            if left < 0:
                break
        else:
            return "\n".join([*lines, how])
        frame = len(groups_head) + len(how)
        groups = describe_groups(others, max(room - frame, _MIN_GROUPS))
        return f"{groups_head.format(count=len(others), groups=groups)}\n{how}"


WHOLE: Final = ToolCatalog(None)
"""The catalogue of all tools, whatever its size."""


def describe_groups(tools: Sequence[Tool[..., Any]], most: int) -> str:
    """Return the categories of tools, or the beginnings of their names, with counts, in up to `most` characters."""
    counts = Counter(map(_group_of, tools))
    # A group of one is a tool, and its name says little about the others.
    ordered = sorted(counts.items(), key=lambda group: (-group[1], group[0]))
    listed, length, left = list[str](), 0, len(tools)
    for group, count in ordered:
        text = f"{group} {count}"
        if count == 1 or length + len(text) + len(f", other {left}") > most:
            break
        listed.append(text)
        length += len(text) + 2
        left -= count
    if left and listed:
        listed.append(f"other {left}")
    elif left:
        listed.append(f"{left} of any kind")
    return ", ".join(listed)


def _group_of(tool: Tool[..., Any]) -> str:
    if tool.category:
        return f"category {name_text(tool.category)}"
    prefix = _PREFIX.match(tool.name)
    if prefix is None or prefix[0] == tool.name:
        return name_text(tool.name)
    return f"{prefix[0]}…"


def _name_of(tool: Tool[..., Any]) -> str:
    return tool.name


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _budget(size: object) -> int | None:
    expected = "expected catalog to be 'auto', 'full' or a number of tokens"
    if isinstance(size, str):
        try:
            return _BUDGETS[size]
        except KeyError:
            message = f"{expected}, got {safe_repr(size)}"
            raise ValueError(message) from None
    if isinstance(size, bool) or not isinstance(size, int):
        message = f"{expected}, got {safe_repr_with_type(size)}"
        raise TypeError(message)
    if size < 1:
        message = f"expected catalog as a number of tokens to be positive, got {safe_repr(size)}"
        raise ValueError(message)
    return size * _CHARACTERS_OF_A_TOKEN


def _names_of_pins(pinned: object, spellings: Mapping[str, str]) -> list[str]:
    """Return the names in programs of pinned tools, given as names, functions or tools."""
    if isinstance(pinned, str) or callable(pinned) or not hasattr(pinned, "__iter__"):
        message = f"expected pinned to be a list of tools or of their names, got {safe_repr_with_type(pinned)}"
        raise TypeError(message)
    in_programs = {*spellings.values()}
    names: list[str] = []
    for item in cast("Iterable[object]", pinned):
        name = item if isinstance(item, str) else getattr(item, "__name__", None)
        if not isinstance(name, str):
            message = f"expected a tool or its name in pinned, got {safe_repr_with_type(item)}"
            raise TypeError(message)
        spelling = spellings.get(name, name)
        if spelling not in in_programs:
            message = f"pinned: {unknown_tool_text(name, in_programs)}"
            raise ToolNotFoundError(message)
        names.append(spelling)
    return names
