"""What carries a worker's bytes to its host and back; each kind of worker has one of its own."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Pipe"]


class Pipe(Protocol):
    """Two streams of bytes, to the host and from it. One thread reads at a time, and one writes."""

    spin_seconds: float
    """How many seconds a reader may poll before it sleeps; 0 where nothing sleeps."""

    def read(self, size: int) -> bytes:
        """Wait for bytes and return at most `size` of them; none if no more will come."""
        ...

    def write(self, data: bytes) -> None:
        """Write all of `data`, at the latest before the next `read` waits."""
        ...

    def mute(self) -> None:
        """Discard what is written, until `unmute`."""
        ...

    def unmute(self) -> None:
        """Write to the host again."""
        ...
