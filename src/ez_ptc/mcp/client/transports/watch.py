"""What is known of a connection while it lasts, and listings without what is no tool."""

from __future__ import annotations

import logging
from collections import deque
from typing import Any, Final, cast

import mcp_types as types
from pydantic import ValidationError

from ez_ptc.mcp.client.texts import error_line
from ez_ptc.schema.safe_repr import safe_name, safe_repr

__all__ = ["MAX_STDERR_LINE", "Watch"]

MAX_STDERR_LINE: Final = 400

# Of a server that ends, the last lines say why.
_STDERR_LINES: Final = 5
_log = logging.getLogger("ez_ptc.mcp")
_log.addHandler(logging.NullHandler())


class Watch:
    """What is known of a connection: whether the server has ended, its last words, and lines that are no messages."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.is_ended = False
        self.garbage: str | None = None
        self._last_words: deque[str] = deque(maxlen=_STDERR_LINES)

    def take_stderr(self, line: str) -> None:
        """Keep a line that the server wrote on standard error."""
        if line := error_line(line.strip()[:MAX_STDERR_LINE]):
            self._last_words.append(line)
            _log.debug("%s: %s", self.server, line)

    def take_garbage(self, error: Exception) -> None:
        """Keep the first line that is not a message of the protocol."""
        if self.garbage is None:
            sample: object = None
            if isinstance(error, ValidationError):
                sample = error.errors(include_url=False)[0].get("input")
            self.garbage = safe_repr(sample) if isinstance(sample, str) else error_line(type(error).__name__)
            _log.warning("%s wrote a line that is not a message of the protocol: %s", self.server, self.garbage)

    def take_note(self, note: str) -> None:
        """Keep why we have ended the connection."""
        self._last_words.append(note)
        _log.warning("%s: %s", self.server, note)

    def check_listing(self, message: object) -> None:
        """Remove malformed tools from a listing: the SDK would refuse all of it."""
        result: object = getattr(message, "result", None)
        if not isinstance(result, dict) or "tools" not in result or "content" in result:
            return
        listing = cast("dict[str, object]", result)
        tools = listing["tools"]
        if not isinstance(tools, list):
            return
        valid: list[object] = []
        for tool in cast("list[object]", tools):
            problem = _problem_of(tool)
            if problem is None:
                valid.append(tool)
            else:
                name = safe_name(cast("dict[str, object]", tool).get("name")) if isinstance(tool, dict) else "a tool"
                _log.warning("%s of the MCP server %s is left out: %s", name, self.server, problem)
        listing["tools"] = valid

    def explain(self) -> str:
        """Return what the server wrote, as an addition to an error message, or ""."""
        text = ""
        if self.garbage is not None:
            text += f"; it wrote {self.garbage}, which is not a message of the protocol"
        if self._last_words:
            text += f"; its last words: {' | '.join(self._last_words)}"
        return text


def _problem_of(tool: object) -> str | None:
    if not isinstance(tool, dict):
        return f"expected an object, got {safe_repr(tool)}"
    fields = cast("dict[str, Any]", tool)
    schema: object = fields.setdefault("inputSchema", {"type": "object"})
    if isinstance(schema, dict):
        type_ = cast("dict[str, object]", schema).setdefault("type", "object")
        if type_ != "object":
            return f"expected an input schema of the type 'object', got {safe_repr(type_)}"
    output: object = fields.get("outputSchema")
    if output is not None and not (
        isinstance(output, dict) and cast("dict[str, object]", output).get("type") == "object"
    ):
        # The tool works without it; results arrive as they are.
        del fields["outputSchema"]
    try:
        types.Tool.model_validate(fields, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return error_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return None
