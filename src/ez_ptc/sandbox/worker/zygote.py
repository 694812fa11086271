"""The prepared process that workers are forked from: single-threaded, confined, and idle but for its orders."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from typing import TYPE_CHECKING

from . import values
from .runtime import Runtime, new_link
from .wire import HostGoneError

if TYPE_CHECKING:
    from types import FrameType

    from .lockdown import Lockdown

__all__ = ["Zygote", "confine_worker"]

_WORKER_FD = 3
_WARM_UPS = 3
_MOST_REMEMBERED = 1024
_WARM_UP_PROGRAM = """
import json
from collections import defaultdict

def add(rows, key="n"):
    counts = defaultdict(int)
    for row in rows:
        if row[key] > 0 and row.n is not None:
            counts[row["n"]] += row.n * 2
    return dict(counts)

total = 0
for row in tool("x", n=1):
    total += row["n"]
found = sorted([x for x in range(5) if x % 2], key=lambda x: -x)
try:
    text = f"{total:.2f} {', '.join(map(str, found))} {add([])}"
except (KeyError, ValueError) as error:
    text = json.dumps({"error": str(error)})
print(text)
{"total": total, "rows": [{"a": 1, "b": (1, 2.5, None)}]}
"""


class Zygote:
    """Obeys the host over ``control``: ``F`` forks workers, ``S`` tells how one ended; its end ends everything."""

    def __init__(self, control: socket.socket, lockdown: Lockdown, base_memory: int) -> None:
        self._control = control
        self._lockdown = lockdown
        self._base_memory = base_memory
        self._ended: dict[int, int] = {}
        self._wakeups, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # Looks at the descriptor with a call that the filter refuses: so it is set up before the filter is.
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Take orders until the host closes its end."""
        signal.signal(signal.SIGCHLD, _wake)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeups, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self._wakeups:
                    os.read(fd, 4096)
                    self._reap()
                elif not self._obey():
                    return

    def _obey(self) -> bool:
        order = self._control.recv(64)
        if not order:
            return False
        kind, number = order[:1], int(order[1:])
        if kind == b"F":
            for _ in range(number):
                self._fork()
        else:
            self._tell(number)
        return True

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._ended[pid] = os.waitstatus_to_exitcode(status)
            while len(self._ended) > _MOST_REMEMBERED:
                del self._ended[next(iter(self._ended))]

    def _tell(self, pid: int) -> None:
        """Answer how ``pid`` ended; the host asks when its socket is at its end, so it is ending if it has not."""
        if pid not in self._ended:
            try:
                self._ended[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            except ChildProcessError:
                self._ended[pid] = 0
        self._control.send(f"D{pid} {self._ended[pid]}".encode())

    def _fork(self) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            try:
                self._become_worker(theirs)
            finally:
                os._exit(70)
        theirs.close()
        pidfd = os.pidfd_open(pid)
        socket.send_fds(self._control, [f"W{pid}".encode()], [ours.fileno(), pidfd])
        ours.close()
        os.close(pidfd)

    def _become_worker(self, link_socket: socket.socket) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(link_socket.fileno(), _WORKER_FD)
        os.closerange(_WORKER_FD + 1, 256)
        confine_worker(self._lockdown)
        for _ in range(_WARM_UPS):
            _warm_up(self._base_memory)
            # What a warm-up leaves behind would make the next one, and then the program, touch new pages.
            gc.collect()
        try:
            Runtime(new_link(_WORKER_FD, _WORKER_FD), self._base_memory).serve()
            # The host kills it when it has read the result: an exit now would take the processor from the host.
            os.read(_WORKER_FD, 1)
        except (HostGoneError, OSError):
            os._exit(0)
        os._exit(0)


def _wake(signum: int, frame: FrameType | None) -> None:
    """Do nothing: a signal that is handled writes to the wakeup descriptor, one that is ignored does not."""
    del signum, frame


def confine_worker(lockdown: Lockdown) -> None:
    """Take from a forked worker what the zygote itself still needs."""
    lockdown.die_with_parent()
    lockdown.limit_resources()
    lockdown.filter_calls("worker")


def _warm_up(base_memory: int) -> None:
    """Walk the whole path of a program once, so that its page faults happen before somebody waits for it."""
    host, worker = socket.socketpair()
    frames: list[dict[str, object]] = [
        {
            "t": "run",
            "code": _WARM_UP_PROGRAM,
            "tools": [["tool", "tool(x: str, n: int) -> list", "Warm up.", False]],
            "limits": {"memory": 1 << 28, "output": 1 << 20, "frame": 1 << 20, "outstanding": 1, "calls": 1, "cpu": 0},
            "messages": {},
        },
        {"t": "reply", "id": 1, "v": [{"n": 1}, {"n": 2}]},
    ]
    for frame in frames:
        body = values.dumps(frame)
        os.write(host.fileno(), len(body).to_bytes(4, "big") + body)
    Runtime(new_link(worker.fileno(), worker.fileno()), base_memory).serve(limit=False)
    host.close()
    worker.close()
