"""The trial at each boot: a worker in which everything was changed must be as before once it is restored."""

from __future__ import annotations

import _socket
import json
import select
import time
from typing import TYPE_CHECKING, cast

from ...protocol.both_ends.limits import worker_limits
from .keeper import WorkerKeeper
from .memory import TraceError
from .tracing import Stop, WorkerRegisters

if TYPE_CHECKING:
    from collections.abc import Callable

    from .kept_worker import Kept

__all__ = ["find_problem"]

_SECONDS = 20.0
_CHUNK = 1 << 16
# No program of others runs in the worker of the trial, so it may share that of the zygote.
_NULL_FD = 0
_HEADER = 4
_MOMENT_MS = 1_000
_LIMITS = worker_limits(memory=64 << 20, output=1 << 16, frame=1 << 20, images=1, elements=10_000, cpu=60)
_HEAD: dict[str, object] = {"t": "run", "limits": _LIMITS, "messages": {}, "tools": []}
_LOOK = """
import builtins, ctypes, decimal, json, os, sys, threading
[sorted(vars(builtins)), sorted(sys.modules), sorted(vars(json)), sorted(os.environ), decimal.getcontext().prec,
 sys.getrecursionlimit(), threading.active_count(), ctypes.c_int.in_dll(ctypes.CDLL(None), "optind").value,
 ctypes.CDLL(None).fegetround(), len(sys.path), sorted(globals())]
"""
# Names, modules, the heap of Python and of the C library, its data, thread-local data, the stack, and registers.
_CHANGE = """
import builtins, ctypes, decimal, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
builtins.left = json.left = [bytes(range(256)) * 3 for _ in range(300)]
sys.modules["left"] = sys
sys.path.append("left")
os.environ["LEFT"] = "x"
decimal.getcontext().prec = 7
sys.setrecursionlimit(321)
libc.malloc.restype = ctypes.c_void_p
ctypes.memset(libc.malloc(50_000), 7, 50_000)
ctypes.c_int.in_dll(libc, "optind").value = 77
libc.fesetround(0x800)
nested = []
for _ in range(40):
    nested = [nested]
text = repr(nested)
"""
_NUMBERS = (
    "import os, random, uuid\n[random.random(), os.urandom(8).hex(), str(uuid.uuid4()), random.SystemRandom().random()]"
)
# Each changes something that the kernel keeps of a process.
_TRACES = {
    "a mapping": "import mmap\nmmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
    "a thread": "import threading\nthread = threading.Thread(target=int)\nthread.start()\nthread.join()",
    "a signal handler": "import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    "a signal mask": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])",
    "a timer": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 100)",
    "a descriptor": "import os\nos.pipe()",
    "a closed descriptor": "import os\nos.close(0)",
    "a limit": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (32, 64))",
}


class _Subject:
    """A worker that can be restored, and the socket to it."""

    def __init__(self, fork: Callable[[int, int, int], int]) -> None:
        """Make one. Raises TraceError or OSError if that is impossible."""
        self._until = time.monotonic() + _SECONDS
        self._is_ready = False
        self._poll = select.poll()
        self._keeper = WorkerKeeper(fork, self._hear)
        self._keeper.watch_in(self._poll)
        self._link, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
        self._poll.register(self._link, select.POLLIN)
        try:
            self.kept = self._keeper.make(theirs.fileno(), _NULL_FD)
        finally:
            theirs.close()
        self._send(_HEAD)
        while not self._is_ready:
            self._wait()

    def _hear(self, kept: Kept, reason: str) -> None:
        del kept
        if reason:
            raise TraceError(reason)
        self._is_ready = True

    def _send(self, frame: dict[str, object]) -> None:
        body = json.dumps(frame).encode()
        self._link.send(len(body).to_bytes(_HEADER, "big") + body)

    def _wait(self) -> bool:
        """Serve the worker, and return whether it has sent something."""
        if time.monotonic() > self._until:
            message = "a worker does not answer"
            raise TraceError(message)
        has_data = False
        for fd, event in self._poll.poll(_MOMENT_MS):
            if fd == self._link.fileno():
                has_data = True
            else:
                self._keeper.serve(fd, event)
        return has_data

    def run(self, code: str) -> object:
        """Run a program, and return its value. Raises TraceError."""
        self._send({"t": "run", "spin": 0, "code": code})
        data = b""
        while len(data) < _HEADER or len(data) < _HEADER + int.from_bytes(data[:_HEADER], "big"):
            if self._wait():
                received = self._link.recv(_CHUNK)
                if not received:
                    message = "a worker has ended"
                    raise TraceError(message)
                data += received
        answer = json.loads(data[_HEADER:])
        if "error" in answer:
            message = f"a program failed: {answer['error']}"
            raise TraceError(message)
        return answer["value"]

    def close(self) -> None:
        """End the worker."""
        self._link.close()
        self._keeper.drop(self.kept)


def find_problem(fork: Callable[[int, int, int], int]) -> str:
    """Return why workers cannot be restored here, or nothing. `fork` is that of the zygote."""
    try:
        subject = _Subject(fork)
    except (TraceError, OSError) as error:
        return str(error)
    try:
        return _find_difference(subject) or _find_untold(subject)
    except (TraceError, OSError) as error:
        return str(error)
    finally:
        subject.close()


def _find_difference(subject: _Subject) -> str:
    """Return what was not restored after a program that changed a part of everything, or nothing."""
    kept = subject.kept
    before = subject.run(_LOOK)
    kept.restore()
    numbers = cast("list[object]", subject.run(_NUMBERS))
    kept.restore()
    subject.run(_CHANGE)
    if subject.run(_LOOK) == before:
        return "the program that changes everything changed nothing"
    kept.restore()
    with Stop(kept.pid):
        if (
            kept.memory is None
            or kept.registers is None
            or WorkerRegisters(kept.pid).contents != kept.registers.contents
        ):
            return "registers are not restored"
        # The kernel itself writes to one block: the number of the core, for restartable sequences.
        if len(kept.memory.differing()) > 1:
            return "memory is not restored"
    if subject.run(_LOOK) != before:
        return "a program finds what another one has changed"
    kept.restore()
    others = cast("list[object]", subject.run(_NUMBERS))
    if any(first == second for first, second in zip(numbers, others, strict=True)):
        return "random numbers repeat"
    kept.restore()
    return ""


def _find_untold(subject: _Subject) -> str:
    """Return which change in the kernel was not noticed, or nothing."""
    for name, code in _TRACES.items():
        subject.kept.taint = None
        subject.run(code)
        if subject.kept.taint is None:
            return f"{name} was not noticed"
    return ""
