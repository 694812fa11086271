"""The agent in the zygote: it makes workers that can be restored, takes their snapshots, and restores them.

Theory of operation. The host gets the socket of a new worker at once, and sends a head: the limits and tools of its
programs. These never come through the zygote, whose memory every later worker has. The worker sets its limits, and then
waits for its first program: there it is stopped, its snapshot is taken, and the host is told that it is ready. When the
host orders it, after a program that ended cleanly, it is stopped where it waits for the next one, and returned to the
snapshot.

The snapshot consists of memory and registers; what the kernel keeps of a process changes only by system calls. Those
that leave nothing go on as ever. The others are told to this agent first, and the worker is never restored after one.
While a program runs, its worker is not traced: signals and exits work as in any other process.

Any doubt kills the worker: a call, a signal, another place of waiting, another size, a refusal of the kernel.
"""

from __future__ import annotations

import _socket
import select
from typing import TYPE_CHECKING

from .birth import ACCESS, LISTENER, receive
from .kept_worker import Kept
from .memory import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WorkerKeeper"]


class WorkerKeeper:
    """The workers of one zygote that are restored."""

    def __init__(self, fork: Callable[[int, int, int], int], tell: Callable[[Kept, str], None]) -> None:
        """Call `fork` with three descriptors for a new worker, and `tell` when it is ready, or why it was ended."""
        self._fork = fork
        self._tell = tell
        self._kept: dict[int, Kept] = {}
        self._by_fd: dict[int, Kept] = {}
        self._last_number = 0
        self._poll = select.poll()

    def watch_in(self, poll: select.poll) -> None:
        """Register every descriptor in `poll`, whose events are passed to `serve`."""
        self._poll = poll
        for fd in self._by_fd:
            poll.register(fd, select.POLLIN)

    def make(self, link: int, device: int) -> Kept:
        """Fork a worker with the descriptors of its socket and of its null device. Raises OSError."""
        agent, its_agent = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
        try:
            pid = self._fork(link, its_agent.fileno(), device)
        finally:
            its_agent.close()
        self._last_number += 1
        kept = Kept(self._last_number, pid, agent)
        self._kept[kept.number] = kept
        self._watch(agent.fileno(), kept)
        return kept

    def _watch(self, fd: int, kept: Kept) -> None:
        self._by_fd[fd] = kept
        self._poll.register(fd, select.POLLIN)

    def _ignore(self, fd: int) -> None:
        if self._by_fd.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def serve(self, fd: int, event: int) -> None:
        """Take what has arrived at a descriptor, or note that its other end is closed."""
        kept = self._by_fd.get(fd)
        if kept is None:
            return
        try:
            if fd == kept.agent.fileno():
                self._take(kept)
            elif event & select.POLLIN:
                kept.answer()
            else:
                self._end(kept, "it has ended")
        except (TraceError, OSError) as error:
            self._end(kept, str(error))

    def _take(self, kept: Kept) -> None:
        """Take a message from a new worker."""
        message, fds = receive(kept.agent)
        if message == ACCESS:
            kept.take_access(fds)
        elif message == LISTENER:
            kept.take_listener(fds)
            if kept.listener is not None:
                self._watch(kept.listener.fd, kept)
        else:
            self._ignore(kept.agent.fileno())
            if kept.listener is None:
                message = "a worker ended before it could be stopped"
                raise TraceError(message)
            kept.take_snapshot()
            self._tell(kept, "")

    def restore(self, number: int) -> str:
        """Restore a worker. Return why that is impossible, or nothing; then it is killed."""
        kept = self._kept.get(number)
        if kept is None:
            return "it has ended"
        try:
            kept.restore()
        except (TraceError, OSError) as error:
            self.drop(kept)
            return str(error) or "it cannot be stopped"
        return ""

    def drop(self, kept: Kept) -> None:
        """Kill a worker, and forget it."""
        if self._kept.pop(kept.number, None) is None:
            return
        self._ignore(kept.agent.fileno())
        if kept.listener is not None:
            self._ignore(kept.listener.fd)
        kept.close()

    def forget(self, pid: int) -> None:
        """Drop a worker that has ended, before its id can be that of another process."""
        for kept in [kept for kept in self._kept.values() if kept.pid == pid]:
            self._end(kept, "it has ended")

    def _end(self, kept: Kept, reason: str) -> None:
        """Drop a worker, and say why if the host waits for it."""
        is_new = kept.memory is None
        self.drop(kept)
        if is_new:
            self._tell(kept, reason)
