"""The host's side of the zygote: starting it, taking workers from it, asking how one ended."""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ez_ptc._sync import in_forks
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.process.handle import WorkerHandle
from ez_ptc.sandbox.process.packages import NO_PACKAGES

if TYPE_CHECKING:
    from ez_ptc.sandbox.isolation import Report
    from ez_ptc.sandbox.process.packages import Packages

__all__ = ["LIMITS_OF_PROCESSES", "ZygoteGoneError", "ZygoteProcess"]


LIMITS_OF_PROCESSES = (
    "raise the limit that is reached: RLIMIT_NPROC, RLIMIT_NOFILE, or pids.max or the memory of its cgroup"
)
_LIMITED = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
_BOOT = Path(__file__).parent.parent / "worker" / "boot.py"
# -I and -E would ignore PYTHONHASHSEED; -S keeps site-packages out, -P the folder of the script.
_FLAGS = ("-P", "-s", "-S", "-X", "utf8")
# With LD_BIND_NOW, functions of libraries are looked up once at boot, not by every worker in copied pages.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHON_JIT": "0", "TZ": "UTC", "LD_BIND_NOW": "1"}
# A library that computes in threads would start them at its import, and a fork has none of them.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "BLIS", "POLARS", "RAYON")}
# A host without standard streams gives their numbers to its sockets, and the zygote has streams there.
_FIRST_FD = 3
# A boot that fails is noticed when it ends; this is for one that hangs, and many at once on a small board are slow.
_BOOT_SECONDS = 120.0
_ANSWER_SECONDS = 10.0
_MOMENT_MS = 20
_END_SECONDS = 2.0
_FACTS = 1 << 16
_MESSAGE = 256
# Not socket.recv_fds: it ignores its flags, and what it receives would be inherited by other processes.
_AT_ONCE = int(socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
_FDS_EACH = 2
_FDS_SPACE = socket.CMSG_LEN(_FDS_EACH * array.array("i").itemsize)


class ZygoteGoneError(SandboxError):
    """The zygote has ended; a new one must be started."""


def _gone() -> ZygoteGoneError:
    return ZygoteGoneError("the sandbox's zygote has ended")


class ZygoteProcess:
    """One zygote and the workers that it has made and nobody has taken. Who uses it from several threads locks it."""

    def __init__(self, packages: Packages = NO_PACKAGES, *, alike: bool = False, require: bool = True) -> None:
        """Boot and wait until it is ready.

        Args:
            packages: What programs may import besides the standard library.
            alike: Let all workers of all such zygotes have the same things at the same addresses.
            require: Refuse to exist where the isolation that is required is missing.

        Raises:
            IsolationUnavailableError: The kernel does not give what is required.
            ZygoteGoneError: It was killed before it was ready.
            SandboxError: The interpreter cannot be started, or is not ready in 120 s.
        """
        self._alike = alike
        self._ready: deque[WorkerHandle] = deque()
        self._ended: dict[int, int] = {}
        self._ordered = 0
        self.refusal = ""
        self.refusals = 0
        self._heard_at = time.monotonic()
        self._control, self._process = _started(packages, alike=alike)
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
        # While it boots.
        from ez_ptc.sandbox.process.facts import judge, nothing_holds

        self._control.settimeout(_BOOT_SECONDS)
        try:
            message = self._control.recv(_FACTS)
        except TimeoutError:
            message = b"Enothing was heard of it in %d s" % _BOOT_SECONDS
        if message[:1] == b"R":
            self._control.settimeout(None)
            return judge(cast("dict[str, object]", json.loads(message[1:])))
        if message[:1] == b"P":
            raise SandboxError(message[1:].decode())
        if message[:1] == b"E":
            return nothing_holds(message[1:].decode())
        self._process.kill()
        stderr = self._process.communicate()[1].decode(errors="replace").strip()
        if not stderr:
            message = f"the sandbox did not start: {sys.executable} was killed, or ended at once"
            raise ZygoteGoneError(message)
        problem = f"the sandbox did not start: {stderr[-2000:]}"
        raise SandboxError(problem)

    @property
    def ready(self) -> int:
        """How many workers are known to be ready."""
        return len(self._ready)

    @property
    def coming(self) -> int:
        """How many workers are ready or on their way."""
        return len(self._ready) + self._ordered

    def pop(self) -> WorkerHandle | None:
        """Return a worker if one is known to be ready; it is the caller's to close.

        It may have been killed while it waited: whoever sends it a program finds out.
        """
        return self._ready.popleft() if self._ready else None

    def take_ended(self) -> list[WorkerHandle]:
        """Return those that are ready no more, because something has ended them; they are the caller's to close."""
        ended = [worker for worker in self._ready if worker.ended]
        for worker in ended:
            self._ready.remove(worker)
        return ended

    def spare(self, wanted: int) -> list[WorkerHandle]:
        """Return the workers that are ready beyond ``wanted``; they are the caller's to close."""
        with contextlib.suppress(ZygoteGoneError):
            self.take_in()
        return [self._ready.popleft() for _ in range(len(self._ready) - wanted)]

    def order(self, number: int, *, hurry: bool) -> None:
        """Order so many workers. Raises ZygoteGoneError.

        One that is ordered in a hurry comes without a rehearsal: it is there sooner, and its program takes longer.
        """
        self._send(b"%b%d" % (b"H" if hurry and not self._alike else b"F", number))
        self._ordered += number

    def ask(self, worker: WorkerHandle) -> None:
        """Ask how ``worker`` ended. Raises ZygoteGoneError."""
        self._send(b"S%d" % worker.pid)

    def told(self, worker: WorkerHandle) -> int | None:
        """Return the exit code of a worker that was asked for (negative: the signal), if it is known by now."""
        self.take_in()
        return self._ended.pop(worker.pid, None)

    def wait(self) -> None:
        """Return when there is something to take, or a moment later. Raises ZygoteGoneError; needs no lock."""
        poll = select.poll()
        try:
            poll.register(self._control, select.POLLIN)
        except ValueError as error:
            raise _gone() from error
        if not poll.poll(_MOMENT_MS) and time.monotonic() - self._heard_at > _ANSWER_SECONDS:
            message = f"the sandbox's zygote did not answer in {_ANSWER_SECONDS:g} s"
            raise ZygoteGoneError(message)

    def _send(self, order: bytes) -> None:
        try:
            self._control.send(order, socket.MSG_NOSIGNAL)
        except OSError as error:
            raise _gone() from error
        self._heard_at = time.monotonic()

    def take_in(self) -> None:
        """Take what the zygote has sent: workers that are ready now, and how others ended. Raises ZygoteGoneError."""
        while self._receive():
            pass

    def _receive(self) -> bool:
        """Take one message; return whether there was one."""
        try:
            message, extra, _, _ = self._control.recvmsg(_MESSAGE, _FDS_SPACE, _AT_ONCE)
        except BlockingIOError:
            return False
        except OSError:
            message, extra = b"", []
        self._heard_at = time.monotonic()
        if message[:1] == b"W":
            self._take_worker(int(message[1:]), array.array("i", extra[0][2] if extra else b""))
            return True
        if message[:1] == b"N":
            self._refused(message[1:].decode())
            return True
        if message[:1] == b"D":
            pid, _, code = message[1:].partition(b" ")
            self._ended[int(pid)] = int(code)
            return True
        raise _gone()

    def _take_worker(self, pid: int, fds: array.array[int]) -> None:
        if len(fds) == _FDS_EACH:
            self._ordered -= 1
            self.refusals = 0
            self._ready.append(WorkerHandle(pid, *fds))
            return
        # The kernel leaves out what this process has no room for; and a worker that nobody holds ends by itself.
        for fd in fds:
            os.close(fd)
        self._refused(str(OSError(errno.EMFILE, os.strerror(errno.EMFILE))))

    def _refused(self, why: str) -> None:
        self._ordered -= 1
        self.refusals += 1
        self.refusal = why

    def disown(self) -> None:
        """Forget the zygote in a fork of the host: it belongs to the parent."""
        self._control.close()
        if self._process.stderr is not None:
            self._process.stderr.close()
        # Only its parent can wait for it, and here nobody should complain that nobody does.
        self._process.returncode = 0
        while self._ready:
            self._ready.pop().disown()

    def close(self) -> None:
        """End the zygote and with it every worker; returns when it is gone, or after 2 s and a kill."""
        if self._control.fileno() < 0:
            return
        with contextlib.suppress(OSError):
            # Whoever waits in `wait` would not see it being closed.
            self._control.shutdown(socket.SHUT_RDWR)
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


def _started(packages: Packages, *, alike: bool) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Return the host's end of the control socket, and the process that has the other end."""
    with contextlib.ExitStack() as on_failure:
        try:
            control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            on_failure.enter_context(control)
            with theirs, socket.socket(fileno=fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)) as inherited:
                process = _popen(packages, inherited.fileno(), alike=alike)
        except OSError as error:
            what_to_do = f": {LIMITS_OF_PROCESSES}" if error.errno in _LIMITED else ""
            message = f"the sandbox cannot be started ({error}){what_to_do}"
            raise SandboxError(message) from error
        on_failure.pop_all()
        return control, process


def _popen(packages: Packages, control_fd: int, *, alike: bool) -> subprocess.Popen[bytes]:
    flags = [*_FLAGS, "-B"] if sys.dont_write_bytecode else _FLAGS
    wanted = json.dumps([packages.names, packages.places])
    return subprocess.Popen(
        [sys.executable, *flags, os.fspath(_BOOT), str(control_fd), wanted, "fix" if alike else ""],
        env=_ENVIRONMENT | (_ONE_THREAD if packages.names else {}),
        cwd="/",
        pass_fds=[control_fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
