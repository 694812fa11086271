"""The prepared process that workers are forked from: single-threaded, confined, and idle but for its orders.

A page that is written after the fork is a copy, and 250 copies take longer than a small program. So everything a
program needs is made here, once, and run through before it is frozen; what a new worker does itself is listed in
:meth:`Zygote._become_worker`.
"""

from __future__ import annotations

import _socket
import array
import ctypes
import os
import select
import sys
from typing import TYPE_CHECKING

from . import chance, values
from .packages import MOST_OPEN
from .runtime import Runtime, new_link
from .wire import HostGoneError, reply_body

if TYPE_CHECKING:
    from .lockdown import Lockdown

__all__ = ["Zygote", "confine_worker"]

_WORKER_FD = 3
_FIRST_FREE_FD = _WORKER_FD + 1
_NOWHERE_FD = 1
_REHEARSALS = 12
"""How often the path of a program is walked before the first fork: CPython specialises code that has run often."""
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_MOST_REMEMBERED = 1024
_REAP_AFTER_MS = 20
_REHEARSED = """
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
    """Obeys the host over ``control``; its end ends everything.

    ``F`` forks workers, ``H`` forks them without a rehearsal, for callers that wait, ``S`` tells how one ended.
    """

    def __init__(self, control: _socket.socket, lockdown: Lockdown, base_memory: int) -> None:
        """Make what every worker begins with."""
        self._control = control
        self._lockdown = lockdown
        self._ended: dict[int, int] = {}
        # Not os.fork, which does in the child what only a process with threads needs.
        self._raw_fork = ctypes.PyDLL(None).fork
        streams = {name: vars(sys)[name] for name in _STREAMS}
        self._rehearsal = _Rehearsal(base_memory)
        for name, stream in streams.items():
            setattr(sys, name, stream)
        self._runtime = Runtime(new_link(_WORKER_FD, _WORKER_FD), base_memory)

    def serve(self) -> None:
        """Take orders until the host closes its end."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        patience: int | None = None
        while True:
            if poll.poll(patience):
                if not self._obey():
                    return
                patience = _REAP_AFTER_MS
            else:
                self._reap()
                patience = None

    def _obey(self) -> bool:
        order = self._control.recv(64)
        if not order:
            return False
        kind, number = order[:1], int(order[1:])
        if kind == b"S":
            self._tell(number)
        else:
            for _ in range(number):
                self._fork(rehearsed=kind == b"F")
            self._reap()
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

    def _fork(self, *, rehearsed: bool) -> None:
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
        pid = self._raw_fork()
        if pid == 0:
            try:
                self._become_worker(theirs.fileno(), rehearsed=rehearsed)
            finally:
                os._exit(70)
        theirs.close()
        pidfd = os.pidfd_open(pid)
        fds = array.array("i", [ours.fileno(), pidfd])
        self._control.sendmsg([b"W%d" % pid], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
        ours.close()
        os.close(pidfd)

    def _become_worker(self, link: int, *, rehearsed: bool) -> None:
        os.dup2(link, _WORKER_FD)
        os.closerange(_FIRST_FREE_FD, MOST_OPEN)
        confine_worker(self._lockdown)
        chance.renew()
        if rehearsed:
            self._rehearsal.play()
        self._runtime.enter()
        try:
            # After the last program it waits to be killed: an exit would take the processor from the host.
            while True:
                self._runtime.serve()
        except (HostGoneError, OSError):
            os._exit(0)
        os._exit(0)


def confine_worker(lockdown: Lockdown) -> None:
    """Take from a forked worker what the zygote itself still needs."""
    lockdown.die_with_parent()
    lockdown.filter_calls("worker")


class _Rehearsal:
    """Walks the path of a program, so that its page faults happen before somebody waits for it.

    Before the first fork it is all of it, often. A worker walks the part that every program takes: each page that it
    touches beyond that is memory, and time of a core, that its own program may not need.
    """

    def __init__(self, base_memory: int) -> None:
        self._base_memory = base_memory
        tool: list[object] = ["tool", "tool(x: str, n: int) -> list", "Rehearse.", False, "list[{n: int}]"]
        frames = [_run(_REHEARSED, tool), reply_body(1, [{"n": 1}, {"n": 2}])]
        for _ in range(_REHEARSALS):
            self._play(frames, None)
        # Made before the fork, for the numbers that a pipe has in a worker.
        self._frames = [_run("1")]
        self._prepared = Runtime(new_link(_FIRST_FREE_FD, _NOWHERE_FD), base_memory)

    def play(self) -> None:
        """Rehearse in a worker, once."""
        self._play(self._frames, self._prepared)

    def _play(self, frames: list[bytes], runtime: Runtime | None) -> None:
        receive, send = os.pipe()
        os.write(send, b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames))
        if runtime is None:
            runtime = Runtime(new_link(receive, _NOWHERE_FD), self._base_memory)
        runtime.enter()
        runtime.serve(limit=False)
        os.close(receive)
        os.close(send)


def _run(code: str, *tools: list[object]) -> bytes:
    frame = {
        "t": "run",
        "code": code,
        "tools": tools,
        "limits": {"memory": 1 << 28, "output": 1 << 20, "frame": 1 << 20, "outstanding": 1, "calls": 1, "cpu": 0},
        "messages": {},
        "patience": 0.0,
    }
    return values.dumps(frame)
