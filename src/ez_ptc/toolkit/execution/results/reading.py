"""The tools for kept results: `results["r1"]` in programs, `read_result` and `search_result` everywhere."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypedDict

from ez_ptc.errors import ToolError
from ez_ptc.sandbox.protocol.execution import Grant, Grants
from ez_ptc.schema.standard.pattern_sizes import expanded_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ez_ptc.schema.annotations.context import Context
    from ez_ptc.tools.tool import Tool

__all__ = [
    "MAX_LENGTH",
    "RESULT_TOOLS",
    "FoundText",
    "ReadableResults",
    "ResultReading",
    "SearchOutcome",
    "read_result",
    "reader_tools",
    "result_grants",
    "result_tools",
    "results",
    "search_result",
]

RESULT_TOOLS: Final = ("read_result", "search_result")
"""The names of the tools for single calls."""
MAX_LENGTH: Final = 1_000_000
"""The maximum characters of a result's text for one call in a program."""
_MAX_MATCHES: Final = 20
_MAX_PATTERN: Final = 1_000
# Lines longer than a piece are searched in pieces, each of which begins in the middle of the one before.
_PIECE: Final = 400
_BLOCK: Final = 1 << 16
_MAX_COUNT: Final = 1_000
# Nothing else of the process runs while a block is searched: by the most costly patterns, about 60 ms.
_MAX_PARTS: Final = 1_000
_MAX_STEPS: Final = _MAX_PARTS * _PIECE


class ReadableResults(Protocol):
    """Kept results by name; LookupError says why a name has none."""

    def value(self, name: str) -> object:
        """Return a copy of a value."""
        ...

    def text(self, name: str) -> str:
        """Return the text of a value."""
        ...


@dataclass(frozen=True, slots=True)
class ResultReading:
    """The results for a call, `max_length` characters at a time; a search takes `max_seconds` at most."""

    scope: ReadableResults
    max_length: int = MAX_LENGTH
    max_seconds: float = 10.0


class FoundText(TypedDict):
    """A line with a match, or a piece of a long line, and its position in the result's text."""

    start: int
    text: str


class SearchOutcome(TypedDict):
    """The number of lines with a match, up to 1,000, and the first of them."""

    count: int
    matches: list[FoundText]


def results(name: str, reading: Context[ResultReading]) -> object:
    """Return a kept result."""
    return reading.scope.value(name)


def read_result(name: str, start: int = 0, length: int = 10_000, *, reading: Context[ResultReading]) -> str:
    """Read a part of a kept result's text.

    Args:
        name: The name under which the result is kept, as its note says.
        start: The position of the first character.
        length: The maximum number of characters.
    """
    text = reading.scope.text(name)
    if start < 0 or length < 1:
        message = f"expected start >= 0 and length >= 1, got start={start} and length={length}"
        raise ToolError(message)
    if start > len(text):
        message = f"expected start <= {len(text)}, the number of characters of {name}, got {start}"
        raise ToolError(message)
    return text[start : start + min(length, reading.max_length)]


def search_result(name: str, pattern: str, *, reading: Context[ResultReading]) -> SearchOutcome:
    """Search the lines of a kept result's text for a regular expression, without look-around and backreferences.

    Returns the number of lines with a match, up to 1,000, and the first 20 of them with their positions, to read on
    from there.

    Args:
        name: The name under which the result is kept, as its note says.
        pattern: The regular expression; `(?i)` at its beginning ignores case.
    """
    text = reading.scope.text(name)
    matches, size = _linear_search(pattern, reading.max_seconds)
    count, matched, room = 0, list[FoundText](), reading.max_length // 2
    for start, block in _blocks(text, size):
        # A longer block is one line, which is searched in pieces alone.
        if len(block) <= size and not matches(block):
            continue
        for offset, piece in _pieces(block):
            if not matches(piece):
                continue
            count += 1
            room -= len(piece)
            if len(matched) < _MAX_MATCHES and room >= 0:
                matched.append({"start": start + offset, "text": piece})
        if count >= _MAX_COUNT:
            break
    return {"count": min(count, _MAX_COUNT), "matches": matched}


def _linear_search(pattern: str, seconds: float) -> tuple[Callable[[str], bool], int]:
    """Return whether a text has a match, as a function, and the maximum length of the text.

    The function raises ToolError after `seconds`. Raises ToolError for a pattern without one in linear time.
    """
    # Rust's engine takes linear time, whatever the pattern.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(pattern) > _MAX_PATTERN:
        message = f"expected a pattern of at most {_MAX_PATTERN:,} characters, got {len(pattern):,}"
        raise ToolError(message)
    parts = expanded_size(pattern)
    if parts > _MAX_PARTS:
        message = f"the pattern {pattern!r} repeats too much: simplify it to {_MAX_PARTS:,} parts with all repetitions"
        raise ToolError(message)
    try:
        schema = core_schema.str_schema(pattern=f"(?mR:{pattern})", regex_engine="rust-regex")
        has_match = SchemaValidator(schema).isinstance_python
    except SchemaError as error:
        reason = str(error).strip().rpartition("\n")[2].strip().removeprefix("error: ")
        message = f"the pattern {pattern!r} cannot be searched for ({reason}): simplify it, or write re.escape(text)"
        raise ToolError(message) from None
    ends_at = time.monotonic() + seconds

    def matches(text: str) -> bool:
        if time.monotonic() > ends_at:
            message = f"the search for {pattern!r} took longer than {seconds:g} s: simplify the pattern"
            raise ToolError(message)
        return has_match(text)

    return matches, min(_BLOCK, _MAX_STEPS // max(parts, 1))


def _blocks(text: str, size: int) -> Iterator[tuple[int, str]]:
    """Yield whole lines of a text, many at a time, with their position: most blocks have no match."""
    start = 0
    while start < len(text):
        end = text.rfind("\n", start, start + size) + 1 or text.find("\n", start + size) + 1 or len(text)
        yield start, text[start:end]
        start = end


def _pieces(block: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a block with their positions; a long line in pieces that overlap."""
    start = 0
    for line in block.split("\n"):
        for offset in range(0, max(len(line) - _PIECE // 2, 1), _PIECE // 2):
            yield start + offset, line[offset : offset + _PIECE].rstrip("\r")
        start += len(line) + 1


@functools.cache
def result_tools() -> dict[str, Tool[..., Any]]:
    """Return the tools for kept results, by name; their context is a `ResultReading`."""
    from ez_ptc.tools.decorators import ez_tool

    make = ez_tool(read_only=True)
    return {tool.name: tool for tool in (make(results), make(read_result), make(search_result))}


def reader_tools(scope: ReadableResults, max_text: int) -> dict[str, Tool[..., Any]]:
    """Return the tools for single calls to read a scope's results, by name, `max_text` characters at a time."""
    from ez_ptc.tools.call_settings import CallSettings
    from ez_ptc.tools.tool import Tool

    settings = CallSettings(ResultReading(scope, max_text), max_text=max_text)
    tools = result_tools()
    return {name: Tool.from_definition(tools[name].definition, settings) for name in RESULT_TOOLS}


@functools.cache
def result_grants() -> Grants:
    """Return these tools as a sandbox knows them."""
    return Grants(
        Grant(tool.name, tool.signature, tool.docstring, return_type=tool.return_type_text or "", read_only=True)
        for tool in result_tools().values()
    )
