"""The host's side of the zygote: starting it, taking workers from it, asking how one ended.

Nothing here waits for a lock, so any thread, signal handler or finalizer may use it, whatever it has interrupted: each
message is received whole by one of them, and its contents are added to a deque or a dict in one step.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, cast

from ez_ptc._sync import on_fork
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.process.boot.files import boot_file
from ez_ptc.sandbox.process.boot.host import MARK
from ez_ptc.sandbox.process.boot.interpreter import find_interpreter
from ez_ptc.sandbox.process.packages import dependencies_of
from ez_ptc.sandbox.process.workers.gone import LIMITS_OF_PROCESSES, ZygoteGoneError
from ez_ptc.sandbox.process.workers.handle import WorkerHandle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ez_ptc.sandbox.isolation import Report
    from ez_ptc.sandbox.process.boot.interpreter import Interpreter
    from ez_ptc.sandbox.process.boot.settings import Settings

__all__ = ["ZygoteProcess"]

_log = logging.getLogger("ez_ptc.sandbox")
# A library that nobody configured logging for keeps quiet.
_log.addHandler(logging.NullHandler())
_LIMITED = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
# -I and -E would ignore PYTHONHASHSEED; -S keeps site-packages out, -P the folder of the script.
_FLAGS = ("-P", "-s", "-S", "-X", "utf8")
# With LD_BIND_NOW, functions of libraries are looked up once at boot, not by every worker in copied pages.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHON_JIT": "0", "TZ": "UTC", "LD_BIND_NOW": "1", MARK: "1"}
# A library that computes in threads would start them at its import, and a fork has none of them.
_ONE_THREAD = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "BLIS", "RAYON")},
    "POLARS_MAX_THREADS": "1",
    # What is compiled while a program runs would have to be in executable memory, which there is none of.
    "NUMBA_DISABLE_JIT": "1",
    # The allocators of Arrow, which pandas imports where it is installed, and of polars would give memory back in them.
    **dict.fromkeys(("JE_ARROW_MALLOC_CONF", "_RJEM_MALLOC_CONF"), "background_thread:false"),
}
# A host without standard streams gives their numbers to its sockets, and the zygote has streams there.
_FIRST_FD = 3
# A boot that fails is noticed when it ends; this is for one that hangs, and many at once on a small board are slow.
_BOOT_SECONDS = 120.0
# Packages may take seconds to import: a person who waits longer than this reads why.
_QUIET_SECONDS = 1.0
_ANSWER_SECONDS = 10.0
_LATE_SECONDS = 2.0
_MOMENT_MS = 20
_END_SECONDS = 2.0
_FACTS = 1 << 16
_MESSAGE = 256
# Not socket.recv_fds: it ignores its flags, and what it receives would be inherited by other processes.
_AT_ONCE = int(socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
_FDS_EACH = 2
_FDS_SPACE = socket.CMSG_LEN(_FDS_EACH * array.array("i").itemsize)


class ZygoteProcess:
    """One zygote and the workers that it has made and nobody has taken; it ends when it is closed, or dropped."""

    def __init__(self, settings: Settings, *, require: bool = True) -> None:
        """Boot and wait until it is ready. Refuse to exist where `require`d isolation is missing.

        Raises:
            IsolationUnavailableError: The kernel does not give what is required.
            ZygoteGoneError: It was killed before it was ready.
            SandboxError: There is no interpreter, it cannot be started, or it is not ready in 120 s.
        """
        self._deterministic = settings.deterministic
        self._ready: deque[WorkerHandle] = deque()
        self._ordered: deque[None] = deque()
        self._ended: dict[int, int] = {}
        self.refusal = ""
        self.refusals = 0
        self._heard_at = time.monotonic()
        self._interpreter = find_interpreter(settings.python, same_version=bool(settings.packages.names))
        with boot_file() as boot:
            self._control, self._process = _start(settings, self._interpreter, boot)
            # A fork of the host must not hold the socket whose end tells the zygote that the host is gone.
            on_fork(self, ZygoteProcess.disown)
            self._end = weakref.finalize(self, _end, self._control, self._process, self._ready)
            try:
                self.report = self._boot(settings.packages.names)
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

    def _boot(self, packages: Sequence[str]) -> Report:
        # While it boots.
        from ez_ptc.sandbox.process.boot.report import judge, nothing_holds

        message = self._hear_first(_QUIET_SECONDS) if packages else None
        if message is None:
            if packages:
                _log.info("loading %s into the sandbox; toolkits that allow the same share it", ", ".join(packages))
            message = self._hear_first(_BOOT_SECONDS)
        loading = f" while it loaded {', '.join(packages)}" if packages else ""
        if message is None:
            message = f"Enothing was heard of it in {_BOOT_SECONDS:g} s{loading}".encode()
        if message[:1] == b"R":
            self._control.settimeout(None)
            _close_stderr(self._process)
            return judge(cast("dict[str, object]", json.loads(message[1:])))
        if message[:1] == b"P":
            raise SandboxError(message[1:].decode())
        if message[:1] == b"E":
            return nothing_holds(message[1:].decode())
        self._process.kill()
        stderr = self._process.communicate()[1].decode(errors="replace").strip()
        if not stderr:
            message = f"the sandbox did not start: {self._interpreter.path} was killed, or ended at once{loading}"
            raise ZygoteGoneError(message)
        problem = f"the sandbox did not start: {stderr[-2000:]}"
        raise SandboxError(problem)

    def _hear_first(self, seconds: float) -> bytes | None:
        """Return what the zygote says when it is there; None where it says nothing in time."""
        self._control.settimeout(seconds)
        try:
            return self._control.recv(_FACTS)
        except TimeoutError:
            return None

    @property
    def ready(self) -> int:
        """How many workers are known to be ready."""
        return len(self._ready)

    @property
    def ordered(self) -> int:
        """How many workers are on their way."""
        return len(self._ordered)

    def pop(self) -> WorkerHandle | None:
        """Return a worker if one is known to be ready; it is the caller's to close.

        It may have been killed while it waited: whoever sends it a program finds out.
        """
        try:
            return self._ready.popleft()
        except IndexError:
            return None

    def put_back(self, worker: WorkerHandle) -> None:
        """Take a worker again that was not needed."""
        self._ready.appendleft(worker)

    def take_ended(self) -> list[WorkerHandle]:
        """Return those that are ready no more, because something has ended them; they are the caller's to close."""
        return [worker for worker in tuple(self._ready) if worker.ended and self._remove(worker)]

    def _remove(self, worker: WorkerHandle) -> bool:
        try:
            self._ready.remove(worker)
        except ValueError:
            # Somebody has taken it.
            return False
        return True

    def take_spare(self, wanted: int) -> list[WorkerHandle]:
        """Return the workers that are ready beyond ``wanted``; they are the caller's to close."""
        spare = (self.pop() for _ in range(len(self._ready) - wanted))
        return [worker for worker in spare if worker is not None]

    def order(self, number: int, *, hurry: bool) -> None:
        """Order so many workers. Raises ZygoteGoneError.

        One that is ordered in a hurry comes without a rehearsal: it is there sooner, and its program takes longer.
        """
        # Counted first: sending lets other threads run, and they would order the same ones again.
        self._ordered.extend(repeat(None, number))
        self._send(b"%b%d" % (b"H" if hurry and not self._deterministic else b"F", number))

    def expect_nothing_late(self) -> None:
        """Forget what was ordered and has not come for long.

        An exception that a signal handler raised may have lost it on the way; if it comes after all, there is one more.
        """
        if time.monotonic() - self._heard_at > _LATE_SECONDS:
            self._ordered.clear()

    def ask(self, worker: WorkerHandle) -> None:
        """Ask how ``worker`` ended. Raises ZygoteGoneError."""
        self._send(b"S%d" % worker.pid)

    def exit_code(self, worker: WorkerHandle) -> int | None:
        """Return the exit code of a worker that was asked for (negative: the signal), if it is known by now."""
        self.receive()
        return self._ended.pop(worker.pid, None)

    def wait(self) -> None:
        """Return when there is something to receive, or a moment later. Raises ZygoteGoneError."""
        poll = select.poll()
        try:
            poll.register(self._control, select.POLLIN)
        except ValueError as error:
            raise ZygoteGoneError from error
        if not poll.poll(_MOMENT_MS) and time.monotonic() - self._heard_at > _ANSWER_SECONDS:
            message = f"the sandbox's zygote did not answer in {_ANSWER_SECONDS:g} s"
            raise ZygoteGoneError(message)

    def _send(self, order: bytes) -> None:
        try:
            self._control.send(order, socket.MSG_NOSIGNAL)
        except OSError as error:
            raise ZygoteGoneError from error
        self._heard_at = time.monotonic()

    def receive(self) -> None:
        """Take what the zygote has sent: workers that are ready now, and how others ended. Raises ZygoteGoneError."""
        while self._receive_message():
            pass

    def _receive_message(self) -> bool:
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
            self._take_refusal(message[1:].decode())
            return True
        if message[:1] == b"D":
            pid, _, code = message[1:].partition(b" ")
            self._ended[int(pid)] = int(code)
            return True
        raise ZygoteGoneError

    def _take_worker(self, pid: int, fds: array.array[int]) -> None:
        if len(fds) == _FDS_EACH:
            self.refusals = 0
            self._ready.append(WorkerHandle(pid, *fds))
            self._expect_one_less()
            return
        # The kernel leaves out what this process has no room for; and a worker that nobody holds ends by itself.
        for fd in fds:
            os.close(fd)
        self._take_refusal(str(OSError(errno.EMFILE, os.strerror(errno.EMFILE))))

    def _take_refusal(self, why: str) -> None:
        self.refusals += 1
        self.refusal = why
        self._expect_one_less()

    def _expect_one_less(self) -> None:
        with contextlib.suppress(IndexError):
            self._ordered.pop()

    def disown(self) -> None:
        """Forget the zygote in a fork of the host: it belongs to the parent."""
        self._end.detach()
        self._control.close()
        _close_stderr(self._process)
        # Only its parent can wait for it, and here nobody should complain that nobody does.
        self._process.returncode = 0
        while (worker := self.pop()) is not None:
            worker.disown()

    def close(self) -> None:
        """End the zygote and with it every worker; returns when it is gone, or after 2 s and a kill.

        Closing twice is fine: the second time it returns at once, also where it interrupts the first.
        """
        self._end()


def _end(control: socket.socket, process: subprocess.Popen[bytes], ready: deque[WorkerHandle]) -> None:
    with contextlib.suppress(OSError):
        # Whoever waits in `wait` would not see it being closed.
        control.shutdown(socket.SHUT_RDWR)
    control.close()
    with contextlib.suppress(IndexError):
        while True:
            ready.pop().close()
    _close_stderr(process)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _close_stderr(process: subprocess.Popen[bytes]) -> None:
    if process.stderr is not None:
        process.stderr.close()


def _start(settings: Settings, interpreter: Interpreter, boot: Path) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Return the host's end of the control socket, and the process that has the other end."""
    with contextlib.ExitStack() as on_failure:
        try:
            control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            on_failure.enter_context(control)
            with theirs, socket.socket(fileno=fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)) as inherited:
                process = _popen(settings, interpreter, boot, inherited.fileno())
        except OSError as error:
            what_to_do = f": {LIMITS_OF_PROCESSES}" if error.errno in _LIMITED else ""
            message = f"the sandbox cannot be started ({error}){what_to_do}"
            raise SandboxError(message) from error
        on_failure.pop_all()
        return control, process


def _popen(settings: Settings, interpreter: Interpreter, boot: Path, control_fd: int) -> subprocess.Popen[bytes]:
    flags = [*_FLAGS, "-B"] if sys.dont_write_bytecode else _FLAGS
    packages = settings.packages
    wanted = json.dumps([packages.names, packages.places, dependencies_of(packages.names) if packages.names else ()])
    arguments = [os.fspath(boot), str(control_fd), wanted, "fix" if settings.deterministic else ""]
    return subprocess.Popen(
        [interpreter.path, *flags, *arguments],
        env={**interpreter.environment, **_ENVIRONMENT, **(_ONE_THREAD if packages.names else {})},
        cwd="/",
        pass_fds=[control_fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
