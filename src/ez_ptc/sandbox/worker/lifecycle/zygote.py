"""The zygote: a single-threaded, confined process that workers are forked from, idle except for its orders.

Theory of operation. A page written after the fork is copied, and copying 250 pages takes longer than a small program
runs. So everything a program needs is created here once, and a dummy program is run several times before memory is
frozen; `Zygote._become_worker` lists what a new worker does itself.

The control socket brings the host's orders, one per packet: fork workers, or tell the exit code of one. The answers are
a worker with the descriptors of its socket and pidfd, a refusal if the fork fails, or an exit code. A failure to fork
does not affect running workers. When the host closes its end, the zygote exits, and the kernel kills every worker with
it.
"""

from __future__ import annotations

import _socket
import array
import ctypes
import errno
import functools
import gc
import os
import select
import sys
from typing import TYPE_CHECKING

from ...protocol.both_ends.control import (
    MAX_ORDERED,
    AskExitCode,
    ExitCode,
    Extended,
    ForkRefused,
    Message,
    count_ordered_workers,
    decode,
    encode,
    encode_new_worker,
)
from ..kernel.pipe import NOWHERE_FD, DescriptorPipe
from ..kernel.platform import KernelPlatform
from ..running import determinism, warm_up
from ..running.link import HostGoneError, Link
from ..running.runtime import Runtime
from .packages import MAX_OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .extension import WorkerSource
    from .lockdown import Lockdown

__all__ = ["Zygote", "require_device"]

_WORKER_FD = 3
_FIRST_FREE_FD = _WORKER_FD + 1
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_MAX_ORDER_BYTES = 256
_DEVICES_SPACE = _socket.CMSG_LEN(MAX_ORDERED * array.array("i").itemsize)
_STANDARD_FDS = (0, 1, 2)
_LAST_FD = (1 << 31) - 1
_MAX_REMEMBERED = 1024
_REAP_AFTER_MS = 20


class Zygote:
    """Obeys the host's orders on `control`, and ends when the host closes it.

    `ez_ptc.sandbox.protocol.both_ends.control` defines the orders and their answers.
    """

    def __init__(
        self,
        control: _socket.socket,
        lockdown: Lockdown,
        base_memory: int,
        *,
        extension: WorkerSource | None = None,
        are_alike: bool = False,
    ) -> None:
        """Prepare everything workers start with, also those that an `extension` makes.

        If they `are_alike`, workers have equal objects at equal addresses; else the first is made before all rehearsals
        have run, because a caller waits for it.

        Raises OSError if workers would keep the control socket open.
        """
        if control.fileno() >= MAX_OPEN:
            raise OSError(errno.EMFILE, "the control socket has too high a number")
        self._control = control
        self._ended: dict[int, int] = {}
        self._devices: list[int | None] = [None] * MAX_ORDERED
        # Not os.fork, whose work in the child is needed only by processes with threads.
        self._raw_fork = ctypes.PyDLL(None).fork
        self._base_memory = base_memory
        self._rehearsals_left = warm_up.RUNS
        self.runtime = Runtime(Link(DescriptorPipe(_WORKER_FD, _WORKER_FD)), KernelPlatform(base_memory))
        self._warm_up_run = warm_up.small_run()
        self._makes_spare = are_alike
        self._rehearse(warm_up.RUNS if are_alike or extension is not None else 1)
        self.lockdown = lockdown
        # An extension opens more than packages do.
        self._max_open = MAX_OPEN if extension is None else _LAST_FD
        self._close = functools.partial(os.closerange, _FIRST_FREE_FD, self._max_open)
        self.renewals = determinism.renewals()
        self._steps = (*lockdown.confining, *self.renewals)
        self._extension = extension
        if extension is not None:
            extension.join(self)

    def serve(self) -> None:
        """Obey orders until the host closes its end."""
        self._get_ready()
        if self._makes_spare:
            # The first one costs objects that the others find here, at addresses that the first one uses otherwise.
            control = self._control
            self._control, unread = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
            self._make_worker(os.dup(0))
            unread.close()
            self._control = control
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if self._extension is not None:
            self._extension.watch_in(poll)
        control = self._control.fileno()
        timeout_ms: int | None = None
        while True:
            if events := poll.poll(timeout_ms):
                for fd, event in events:
                    if fd == control:
                        if not self._obey():
                            return
                    elif self._extension is not None:
                        self._extension.serve(fd, event)
                timeout_ms = _REAP_AFTER_MS
            else:
                self._reap()
                timeout_ms = None

    def _get_ready(self) -> None:
        # The environment of programs is set up for workers only; the zygote prints nothing.
        self.runtime.enter()
        # Once more, since other code may have evicted a program's entries from CPython's caches.
        self.runtime.warm_up(self._warm_up_run)

    def _rehearse(self, times: int) -> None:
        """Run a dummy program several times: CPython specializes code that has run, and caches its lookups."""
        self._rehearsals_left -= times
        streams = {name: vars(sys)[name] for name in _STREAMS}
        reply, run = warm_up.reply(), warm_up.large_run()
        for _ in range(times):
            receive, send = os.pipe()
            os.write(send, reply)
            runtime = Runtime(Link(DescriptorPipe(receive, NOWHERE_FD)), KernelPlatform(self._base_memory))
            runtime.enter()
            runtime.warm_up(run)
            os.close(receive)
            os.close(send)
        for name, stream in streams.items():
            setattr(sys, name, stream)

    def _obey(self) -> bool:
        packet = self._receive()
        if number := count_ordered_workers(packet):
            for position in range(number):
                self._make_worker(self.take_device(position))
                if self._rehearsals_left:
                    # A caller may wait for the first worker.
                    self._rehearse(self._rehearsals_left)
                    self._get_ready()
                    gc.freeze()
            self._reap()
            return True
        order = decode(packet)
        if isinstance(order, AskExitCode):
            pid = order.pid
            # The host asks when its socket has ended, so the process is ending or has ended.
            if pid not in self._ended:
                try:
                    self._ended[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                except ChildProcessError:
                    self._ended[pid] = 0
                self._forget(pid)
            self.send(ExitCode(pid, self._ended[pid]))
        elif isinstance(order, Extended) and self._extension is not None:
            self._extension.obey(order.content)
        return order is not None

    def _receive(self) -> bytes:
        """Return the next packet, and keep the null devices that came with it."""
        packet, ancillary, _, _ = self._control.recvmsg(_MAX_ORDER_BYTES, _DEVICES_SPACE, _socket.MSG_CMSG_CLOEXEC)
        # In a list of one size, and without what they came in: workers have equal objects at equal addresses.
        for _, _, data in ancillary:
            for position, device in enumerate(array.array("i", data)):
                self._devices[position] = device
        return packet

    def take_device(self, position: int) -> int | None:
        """Return a null device that came with the last packet, or None if there was no room for it in this process."""
        device, self._devices[position] = self._devices[position], None
        return device

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._ended[pid] = os.waitstatus_to_exitcode(status)
            self._forget(pid)
            while len(self._ended) > _MAX_REMEMBERED:
                del self._ended[next(iter(self._ended))]

    def _forget(self, pid: int) -> None:
        if self._extension is not None:
            self._extension.forget(pid)

    def send(self, message: Message, fds: Sequence[int] = ()) -> None:
        """Send the host a message, perhaps with descriptors."""
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self._control.sendmsg([encode(message)], rights)

    def fork(self, become: Callable[[], object]) -> int:
        """Fork a process for an extension, which calls `become` and ends; return its id. Raises OSError."""
        pid = self._raw_fork()
        if pid < 0:
            self._reap()
            pid = os.fork()
        if pid == 0:
            try:
                become()
            finally:
                os._exit(70)
        return pid

    def _make_worker(self, device: int | None) -> None:
        """Send the host a new worker, or the reason why there is none; running workers are unaffected.

        The worker gets the null device `device`, which is closed here.
        """
        ends: tuple[_socket.socket, ...] = ()
        try:
            its_device = require_device(device)
            ends = ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
            pid = self._raw_fork()
            if pid < 0:
                # Dead processes count against the limit until they are reaped. The second attempt reports the reason.
                self._reap()
                pid = os.fork()
            if pid == 0:
                try:
                    self._become_worker(theirs.fileno(), its_device)
                finally:
                    os._exit(70)
            # Without a pidfd it could not be killed; it exits when the other end of its link is closed.
            pidfd = os.pidfd_open(pid)
            try:
                fds = array.array("i", [ours.fileno(), pidfd])
                self._control.sendmsg([encode_new_worker(pid)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
            finally:
                os.close(pidfd)
        except OSError as error:
            self.send(ForkRefused(str(error)))
        finally:
            if device is not None:
                os.close(device)
            for end in ends:
                end.close()

    def _become_worker(self, link: int, device: int) -> None:
        if max(link, device) >= self._max_open:
            # More descriptors are open than are closed below.
            return
        self.take_descriptors(link, device)
        self._close()
        self.make_worker()
        runtime = self.runtime
        # Its page faults happen before a caller waits. Each page beyond what every program touches costs memory and CPU
        # time that this program may not need.
        runtime.warm_up(self._warm_up_run)
        self.serve_host()

    @staticmethod
    def take_descriptors(link: int, device: int) -> None:
        """Have the standard descriptors of a worker lead to its own null device, and take its link."""
        for number in _STANDARD_FDS:
            os.dup2(device, number)
        os.dup2(link, _WORKER_FD)

    def warm_up(self) -> None:
        """Have the page faults of a worker happen now, before a caller waits."""
        self.runtime.warm_up(self._warm_up_run)

    def serve_host(self) -> None:
        """Run the host's programs in a worker, until it is ended."""
        try:
            # After its last program it waits to be killed, because its exit would take CPU time from the host.
            while True:
                self.runtime.serve()
        except (HostGoneError, OSError):
            os._exit(0)
        os._exit(0)

    def make_worker(self) -> None:
        """Remove what only the zygote needs from a forked process, and give it random numbers of its own.

        Raises:
            OSError: The kernel refuses.
        """
        for step in self._steps:
            if (step() or 0) < 0:
                raise OSError


def require_device(device: int | None) -> int:
    """Return the null device of a new worker: without its own, there must be none. Raises OSError."""
    if device is None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return device
