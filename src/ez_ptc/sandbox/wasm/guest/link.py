"""The worker's end of the connection where there is one thread: no one else can be reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...worker.running.link import Link

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...worker.running.link import Pending

__all__ = ["LoneLink"]


class LoneLink(Link):
    """A link without locks for readers."""

    def wait(self, pending: Pending) -> bytes:
        """Return the reply to `pending`; replies to other calls are passed to them."""
        if self.ordered is not None:
            self.ordered.wait(pending)
        while pending.reply is None:
            self._deliver(self._body())
        return pending.reply

    def _until(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._deliver(self._body())
