"""The points at which an extension changes what becomes of workers, on the host's side.

Without one, each worker runs one program and is ended. An extension is a folder beside `host`, which `ProcessSandbox`
finds by the name of the option: `host/extension.py` in it has an `EXTENSION` as described here, and
`zygote/extension.py` the other side, a `WorkerSource` as `worker/lifecycle/extension.py` describes it. Both talk by the
`Extended` messages of the control protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.errors import IsolationUnavailableError
    from ez_ptc.sandbox.host.workers.ready import ReadyWorkers
    from ez_ptc.sandbox.protocol.both_ends.control import Extended

__all__ = ["WorkerExtension"]


class WorkerExtension(Protocol):
    """Changes the workers of the zygotes that it is given to."""

    @property
    def folder(self) -> str:
        """The folder beside `host` that has the zygote's side."""
        ...

    def require(self) -> None:
        """Raise IsolationUnavailableError if it cannot work on this machine."""
        ...

    def unavailable_error(self, reason: str) -> IsolationUnavailableError:
        """Return the error for a reason that the zygote's side has found by trying."""
        ...

    def hold_workers(self, send: Callable[[Extended], None]) -> ReadyWorkers:
        """Return the ready workers of a new zygote.

        `send` sends an order to it, and raises ZygoteGoneError, or OSError if it cannot for now.
        """
        ...
