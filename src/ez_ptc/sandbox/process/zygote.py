"""The host's side of the zygote: starting it, taking workers from it, asking how one ended."""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ez_ptc._sync import in_forks
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.process.facts import judge, nothing_holds
from ez_ptc.sandbox.process.handle import WorkerHandle

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.isolation import Report

__all__ = ["ZygoteGoneError", "ZygoteProcess"]

_BOOT = Path(__file__).parent.parent / "worker" / "boot.py"
# -I and -E would ignore PYTHONHASHSEED; -S keeps site-packages out, -P the folder of the script.
_FLAGS = ("-P", "-s", "-S", "-B", "-X", "utf8")
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHON_JIT": "0", "TZ": "UTC"}
# A host without standard streams gives their numbers to its sockets, and the zygote has streams there.
_FIRST_FD = 3
_BOOT_SECONDS = 30.0
_FORK_SECONDS = 10.0
_END_SECONDS = 2.0
_MESSAGE = 1 << 16
_FDS_SPACE = socket.CMSG_LEN(2 * array.array("i").itemsize)


class ZygoteGoneError(SandboxError):
    """The zygote has ended; a new one must be started."""


class ZygoteProcess:
    """One zygote. Any thread may take workers from it."""

    def __init__(self, *, require: bool = True) -> None:
        """Boot and wait until it is ready.

        Args:
            require: Refuse to exist where the isolation that is required is missing.

        Raises:
            IsolationUnavailableError: The kernel does not give what is required.
            SandboxError: The interpreter did not start, or not in 30 s.
        """
        self._lock = threading.Lock()
        self._ready: deque[WorkerHandle] = deque()
        self._ended: dict[int, int] = {}
        self._ordered = 0
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(fileno=fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)) as inherited:
            command = [sys.executable, *_FLAGS, os.fspath(_BOOT), str(inherited.fileno())]
            self._process = subprocess.Popen(
                command,
                env=_ENVIRONMENT,
                cwd="/",
                pass_fds=[inherited.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        # A fork of the host must not hold the socket whose end tells the zygote that the host is gone.
        in_forks(self.disown)
        try:
            self.report = self._boot()
            if require:
                self.report.require()
        except BaseException:
            # Whatever went wrong, also an interrupt: no half-started process stays behind.
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The id of the process that was started; the workers' own parent is its child."""
        return self._process.pid

    def _boot(self) -> Report:
        self._control.settimeout(_BOOT_SECONDS)
        try:
            message = self._control.recv(_MESSAGE)
        except TimeoutError:
            message = b"Enothing was heard of it in 30 s"
        if message[:1] == b"R":
            self._control.settimeout(None)
            return judge(cast("dict[str, object]", json.loads(message[1:])))
        if message[:1] == b"E":
            return nothing_holds(message[1:].decode())
        self._process.kill()
        stderr = self._process.communicate()[1].decode(errors="replace").strip()
        problem = f"the sandbox did not start: {stderr[-2000:] or f'{sys.executable} ended at once'}"
        raise SandboxError(problem)

    def take(self) -> WorkerHandle:
        """Return a ready worker; it is the caller's to close. Waits for a fork when there is none.

        Raises:
            ZygoteGoneError: The zygote has ended.
        """
        with self._lock:
            if not self._ready:
                self._drain()
            if not self._ready:
                if not self._ordered:
                    self._order(1)
                self._await(lambda: bool(self._ready))
            return self._ready.popleft()

    def take_ready(self) -> WorkerHandle | None:
        """Return a worker if one is ready, without waiting for anything."""
        with self._lock, contextlib.suppress(ZygoteGoneError):
            if not self._ready:
                self._drain()
            return self._ready.popleft() if self._ready else None
        return None

    def refill(self, wanted: int) -> None:
        """Order workers until ``wanted`` are ready or on their way; does not wait."""
        with self._lock, contextlib.suppress(ZygoteGoneError):
            missing = wanted - len(self._ready) - self._ordered
            if missing > 0:
                self._order(missing)

    def how_ended(self, worker: WorkerHandle) -> int | None:
        """Return the exit code of ``worker`` (negative: the signal) after its socket ended; None when unknown."""
        with self._lock, contextlib.suppress(ZygoteGoneError):
            self._send(f"S{worker.pid}")
            self._await(lambda: worker.pid in self._ended)
            return self._ended.pop(worker.pid)
        return None

    def _order(self, number: int) -> None:
        self._send(f"F{number}")
        self._ordered += number

    def _send(self, order: str) -> None:
        try:
            self._control.send(order.encode())
        except OSError as error:
            message = "the sandbox's zygote has ended"
            raise ZygoteGoneError(message) from error

    def _drain(self) -> None:
        while self._receive(socket.MSG_DONTWAIT):
            pass

    def _await(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + _FORK_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            while not condition():
                left = until - time.monotonic()
                if left <= 0 or not selector.select(left):
                    message = f"the sandbox's zygote did not answer in {_FORK_SECONDS:g} s"
                    raise ZygoteGoneError(message)
                self._receive(0)

    def _receive(self, flags: int) -> bool:
        """Take one message; return whether there was one."""
        try:
            # Not socket.recv_fds: it ignores its flags, and what it receives would be inherited by other processes.
            message, extra, _, _ = self._control.recvmsg(_MESSAGE, _FDS_SPACE, flags | socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return False
        except OSError:
            message, extra = b"", []
        if message[:1] == b"W":
            fds = array.array("i", extra[0][2])
            self._ordered -= 1
            self._ready.append(WorkerHandle(int(message[1:]), *fds))
            return True
        if message[:1] == b"D":
            pid, _, code = message[1:].partition(b" ")
            self._ended[int(pid)] = int(code)
            return True
        message = "the sandbox's zygote has ended"
        raise ZygoteGoneError(message)

    def disown(self) -> None:
        """Forget the zygote in a fork of the host: it belongs to the parent."""
        self._control.close()
        if self._process.stderr is not None:
            self._process.stderr.close()
        # Only its parent can wait for it, and here nobody should complain that nobody does.
        self._process.returncode = 0
        self._lock = threading.Lock()
        while self._ready:
            self._ready.pop().disown()

    def close(self) -> None:
        """End the zygote and with it every worker; returns when it is gone, or after 2 s and a kill."""
        if self._control.fileno() < 0:
            return
        with self._lock:
            self._control.close()
            while self._ready:
                self._ready.pop().close()
        if self._process.stderr is not None:
            self._process.stderr.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
