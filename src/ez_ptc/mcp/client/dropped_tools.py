"""Unusable tools of a server, until their user is warned."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from ez_ptc.schema.safe_repr import safe_name

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DroppedTools"]

# A server may list other tools each time, as long as it lives.
_MAX_MESSAGES: Final = 100


class DroppedTools:
    """The unusable tools of one server, with a message each: a connection adds them, callers' threads warn."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.names: set[str] = set()
        self._messages: set[str] = set()
        self._new: deque[tuple[str | None, str]] = deque()

    def add(self, name: object, reason: str) -> None:
        """Add a tool under its server's name for it, of any type, with the reason."""
        tool = f"the tool {safe_name(name)}" if isinstance(name, str) else "a tool"
        self._add(name, f"{tool} of the MCP server {self.server} is left out: {reason}")

    def add_rest(self, subject: str) -> None:
        """Add the rest of a listing beyond its limit."""
        self._add(None, f"the MCP server {self.server} lists too much; the rest of {subject} is left out")

    def _add(self, name: object, message: str) -> None:
        if message in self._messages or len(self._messages) > _MAX_MESSAGES:
            return
        if len(self._messages) == _MAX_MESSAGES:
            name, message = None, f"further tools of the MCP server {self.server} are left out"
        self._messages.add(message)
        if isinstance(name, str):
            self.names.add(name)
        self._new.append((name if isinstance(name, str) else None, message))

    def take_new(self) -> Iterator[tuple[str | None, str]]:
        """Yield new names, or None, each with its message, once."""
        while self._new:
            yield self._new.popleft()
