"""The points at which an extension changes what a zygote does; `ez_ptc.sandbox.host.boot.extension` has the host's.

An extension is a folder beside `worker`. Its `zygote/extension.py` has a class `ZygoteExtension` as described here,
which is made before files are locked away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import select

__all__ = ["WorkerSource"]


class WorkerSource(Protocol):
    """Makes workers in a way of its own, beside those that the zygote forks."""

    filters: dict[str, str]
    """The names of the system call filters to load, by their policy: another one for the `zygote`, and further ones."""
    readable: int
    """The descriptor of the only folder in which the zygote may open files; its workers deny themselves these, too."""

    def join(self, zygote: Any) -> None:  # noqa: ANN401 - a `Zygote`, whose module imports this one
        """Get to know the `Zygote`, in which everything for workers is prepared."""
        ...

    def find_problem(self) -> str:
        """Return why workers cannot be made in this way here, or nothing. The zygote is confined by now."""
        ...

    def watch_in(self, poll: select.poll) -> None:
        """Register every descriptor in `poll`, now and later; its events are passed to `serve`."""
        ...

    def serve(self, fd: int, event: int) -> None:
        """Take what has arrived at a descriptor."""
        ...

    def obey(self, content: list[Any]) -> None:
        """Obey an order of the host's side."""
        ...

    def forget(self, pid: int) -> None:
        """Note that a process has ended, before its id can be that of another one."""
        ...
