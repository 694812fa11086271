"""The prepared process that workers are forked from: single-threaded, confined, and idle but for its orders.

A page that is written after the fork is a copy, and 250 copies take longer than a small program. So everything a
program needs is made here, once, and run through before it is frozen; what a new worker does itself is listed in
:meth:`Zygote._become_worker`.
"""

from __future__ import annotations

import _socket
import array
import ctypes
import errno
import functools
import os
import select
import sys
from typing import TYPE_CHECKING

from ..running import determinism as chance
from ..running.link import HostGoneError, reply_body
from ..running.runtime import Runtime, new_link
from ..values import codec as values
from .packages import MOST_OPEN

if TYPE_CHECKING:
    from .lockdown import Lockdown

__all__ = ["Zygote"]

_WORKER_FD = 3
_FIRST_FREE_FD = _WORKER_FD + 1
_NOWHERE_FD = 1
_REHEARSALS = 12
"""How often the path of a program is walked before the first fork: CPython specialises code that has run often."""
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_TOOL = ("tool", "tool(x: str, n: int) -> list", "Rehearse.", False, "list[{n: int}]", False)
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
        """Make what every worker begins with. Raises OSError where workers would be left with the control socket."""
        if control.fileno() >= MOST_OPEN:
            raise OSError(errno.EMFILE, "the control socket has too high a number")
        self._control = control
        self._ended: dict[int, int] = {}
        # Not os.fork, which does in the child what only a process with threads needs.
        self._raw_fork = ctypes.PyDLL(None).fork
        streams = {name: vars(sys)[name] for name in _STREAMS}
        self._link = new_link(_WORKER_FD, _WORKER_FD)
        self._runtime = Runtime(self._link, base_memory)
        self._rehearsed = _run("1", _TOOL)
        _rehearse(base_memory)
        for name, stream in streams.items():
            setattr(sys, name, stream)
        self._close = functools.partial(os.closerange, _FIRST_FREE_FD, MOST_OPEN)
        self._steps = (*lockdown.confining, *chance.renewals())

    def serve(self) -> None:
        """Take orders until the host closes its end."""
        # What workers find around them is theirs alone: nothing is printed here.
        self._runtime.enter()
        # Once more, after all that may have pushed out of CPython's caches what a program looks up.
        self._runtime.rehearse(self._rehearsed)
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
                self._make(rehearsed=kind == b"F")
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

    def _make(self, *, rehearsed: bool) -> None:
        """Hand a new worker to the host, or say why there is none: those that run are to go on."""
        ends: tuple[_socket.socket, ...] = ()
        try:
            ends = ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
            pid = self._fork(theirs.fileno(), rehearsed=rehearsed)
            # Without one nobody could end it; it ends by itself when the other end of its link is closed.
            pidfd = os.pidfd_open(pid)
            try:
                fds = array.array("i", [ours.fileno(), pidfd])
                self._control.sendmsg([b"W%d" % pid], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
            finally:
                os.close(pidfd)
        except OSError as error:
            self._control.send(b"N" + str(error).encode())
        finally:
            for end in ends:
                end.close()

    def _fork(self, link: int, *, rehearsed: bool) -> int:
        pid = self._raw_fork()
        if pid < 0:
            # The dead count until they are taken away; and this one says why it fails.
            self._reap()
            pid = os.fork()
        if pid == 0:
            try:
                self._become_worker(link, rehearsed=rehearsed)
            finally:
                os._exit(70)
        return pid

    def _become_worker(self, link: int, *, rehearsed: bool) -> None:
        if link >= MOST_OPEN:
            # More is open than is closed below.
            return
        os.dup2(link, _WORKER_FD)
        self._close()
        self.make_worker()
        runtime = self._runtime
        if rehearsed:
            # Its page faults happen before somebody waits. Each page touched beyond what every program takes is memory,
            # and time of a core, that this one may not need.
            runtime.rehearse(self._rehearsed)
        self._link.open()
        try:
            # After the last program it waits to be killed: an exit would take the processor from the host.
            while True:
                runtime.serve()
        except (HostGoneError, OSError):
            os._exit(0)
        os._exit(0)

    def make_worker(self) -> None:
        """Take from a forked process what the zygote itself still needs, and give it random numbers of its own.

        Raises:
            OSError: The kernel refuses.
        """
        for step in self._steps:
            if (step() or 0) < 0:
                raise OSError


def _rehearse(base_memory: int) -> None:
    """Walk the path of a program, often: CPython specialises code that has run, and keeps what it has looked up."""
    reply = reply_body(1, [{"n": 1}, {"n": 2}])
    run = _run(_REHEARSED, _TOOL)
    for _ in range(_REHEARSALS):
        receive, send = os.pipe()
        os.write(send, len(reply).to_bytes(4, "big") + reply)
        runtime = Runtime(new_link(receive, _NOWHERE_FD), base_memory)
        runtime.enter()
        runtime.rehearse(run)
        os.close(receive)
        os.close(send)


def _run(code: str, *tools: tuple[object, ...]) -> bytes:
    frame = {
        "t": "run",
        "code": code,
        "tools": tools,
        "limits": dict.fromkeys(("memory", "output", "frame"), 1 << 20)
        | {"elements": 1_000, "images": 1, "outstanding": 1, "calls": 1, "cpu": 0},
        "messages": {},
        "patience": 0.0,
    }
    return values.dumps(frame)
