"""The host's side of the zygote: starting it, taking workers from it, asking for exit codes.

Theory of operation. The control socket carries one message per packet (`ez_ptc.sandbox.worker.lifecycle.zygote` is the
other end). At boot, the zygote reports what isolation it found, with a confined process that the host must be able to
end, and becomes ready or fails. Then the host sends orders:
fork so many workers, or tell the exit code of a worker. The zygote answers each order: a new worker with the
descriptors of its socket and its pidfd, a refusal if it cannot fork, or an exit code. If the host's end of the socket
closes, the zygote and all its workers end; if the zygote dies, every method raises ZygoteGoneError, and the pool boots
another.

Nothing here waits for a lock, so any thread, signal handler or finalizer may use it, whatever it has interrupted: each
message is received whole by one of them, and its contents are added to a deque or a dict in one step.
"""

from __future__ import annotations

import array
import contextlib
import errno
import logging
import os
import select
import signal
import socket
import subprocess
import time
import weakref
from collections import deque
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

from ez_ptc._forks import on_fork
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.host.boot.interpreter import find_interpreter
from ez_ptc.sandbox.host.boot.start import boot_file, close_stderr, start_zygote
from ez_ptc.sandbox.host.workers.handle import WorkerHandle
from ez_ptc.sandbox.host.workers.orders import ZygoteGoneError, send_order
from ez_ptc.sandbox.host.workers.ready import ReadyWorkers
from ez_ptc.sandbox.protocol.both_ends.control import (
    MAX_ORDERED,
    AskExitCode,
    Booted,
    BootFailed,
    ExitCode,
    Extended,
    ForkRefused,
    ForkWorkers,
    Message,
    NewWorker,
    PackagesFailed,
    decode,
    encode,
)

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.boot.start import ZygoteSettings
    from ez_ptc.sandbox.protocol.isolation import Report

__all__ = ["ZygoteProcess", "boot_zygote"]

_log = logging.getLogger("ez_ptc.sandbox")
# Without it, Python would print warnings to stderr when the application has not configured logging.
_log.addHandler(logging.NullHandler())
# For a boot that hangs; one that fails is noticed at once. Many boots at a time on a small board are slow.
_BOOT_SECONDS = 120.0
# Importing packages may take seconds; after this long, a log message says why.
_QUIET_SECONDS = 1.0
_ANSWER_SECONDS = 10.0
# Of `wait`, without an answer: on a busy machine, or after a pause of it, seconds alone may pass without any for the
# zygote.
_MAX_SILENT_WAITS = 400
_LATE_SECONDS = 2.0
_MOMENT_MS = 20
_END_SECONDS = 2.0
_FACTS = 1 << 16
_MESSAGE = 1 << 12
# Not socket.recv_fds, which ignores its flags: other processes would inherit the descriptors.
_AT_ONCE = int(socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
_FDS_EACH = 2
_FDS_SPACE = socket.CMSG_LEN(_FDS_EACH * array.array("i").itemsize)

_CRASHES = {
    "SIGSEGV": "the program crashed the interpreter (SIGSEGV): it nested or recursed too deeply, or aborted",
    "SIGABRT": "the program made the interpreter abort (SIGABRT)",
    # If abort cannot signal itself, it executes an invalid instruction: on aarch64 a breakpoint.
    "SIGTRAP": "the program made the interpreter abort (SIGTRAP)",
    "SIGSYS": "the program made a system call that is not allowed (SIGSYS)",
    "SIGXCPU": "the program used up its CPU time",
    "SIGKILL": "the program was killed: it ran out of memory or CPU time",
}


class _ForeignUserError(SandboxError):
    """The workers have another user than this process, which may not end them."""


def boot_zygote(settings: ZygoteSettings, *, require: bool = True) -> ZygoteProcess:
    """Boot a zygote. Raises as `ZygoteProcess` does.

    As root, its processes get a user without rights. Where this process may not end those of another user, since it
    lacks CAP_KILL, they keep its own, without a capability.
    """
    try:
        return ZygoteProcess(settings, require=require)
    except _ForeignUserError:
        return ZygoteProcess(replace(settings, keeps_user=True), require=require)


class ZygoteProcess:
    """One zygote and its ready workers. It ends when it is closed or dropped."""

    def __init__(self, settings: ZygoteSettings, *, require: bool = True) -> None:
        """Boot, and wait until the zygote is ready. With `require`, fail if required isolation is missing.

        Raises:
            IsolationUnavailableError: The kernel lacks a required isolation feature.
            ZygoteGoneError: The zygote was killed before it was ready.
            SandboxError: There is no interpreter, it cannot be started, or it is not ready within 120 s.
        """
        self._extension = settings.extension
        if self._extension is not None:
            self._extension.require()
        self._ordered: deque[None] = deque()
        self._ended: dict[int, int] = {}
        self.refusal = ""
        self.refusals = 0
        # When it was last heard, was asked for what it has not answered since, and was sent anything or heard.
        self._heard_at = self._asked_at = self._active_at = time.monotonic()
        self._silent_waits = 0
        self._subject: list[int] = []
        self._interpreter = find_interpreter(settings.python, same_version=bool(settings.packages.names))
        with boot_file() as boot:
            self._control, self._process = start_zygote(settings, self._interpreter, boot)
            self.ready = self._hold_workers()
            # The end of this socket tells the zygote that the host is gone, so a fork of the host must not keep it
            # open.
            on_fork(self, ZygoteProcess.disown)
            self._end = weakref.finalize(self, _end, self._control, self._process, self.ready)
            try:
                self.report = self._boot(settings)
                if require:
                    self.report.require()
            except BaseException:
                # On any failure, even an interrupt, no partly started process is left.
                self.close()
                raise

    def _hold_workers(self) -> ReadyWorkers:
        if self._extension is None:
            return ReadyWorkers()
        # Without a reference to this object, which ends when it is dropped.
        return self._extension.hold_workers(partial(send_order, self._control))

    @property
    def pid(self) -> int:
        """The id of the started process, a child of which is the parent of all workers."""
        return self._process.pid

    def _boot(self, settings: ZygoteSettings) -> Report:
        # Imported while the zygote boots.
        from ez_ptc.sandbox.host.boot.report import judge, nothing_holds

        packages = settings.packages.names
        message = self._hear_first(_QUIET_SECONDS) if packages else None
        if message is None:
            if packages:
                _log.info("loading %s into the sandbox; toolkits that allow the same share it", ", ".join(packages))
            message = self._hear_first(_BOOT_SECONDS)
        loading = f" while it loaded {', '.join(packages)}" if packages else ""
        if message is None:
            message = encode(BootFailed(f"nothing was heard of it in {_BOOT_SECONDS:g} s{loading}"))
        match decode(message):
            case Booted(facts):
                if self._extension is not None and facts["extension"]:
                    raise self._extension.unavailable_error(facts["extension"])
                facts["ended"] = self._can_end()
                if not facts["ended"] and facts["uid"] != os.geteuid() and not settings.keeps_user:
                    raise _ForeignUserError
                # Only the boot has a time limit; a zygote may idle indefinitely.
                self._control.settimeout(None)
                close_stderr(self._process)
                return judge(facts)
            case PackagesFailed(reason):
                raise SandboxError(reason)
            case BootFailed(reason):
                return nothing_holds(reason)
            case _:
                raise self._death_error(loading)

    def _death_error(self, loading: str) -> SandboxError:
        """Return the error of a zygote that died during its boot."""
        with contextlib.suppress(PermissionError):  # it ends by itself, as its socket has ended
            self._process.kill()
        stderr = self._process.communicate()[1].decode(errors="replace").strip()
        if not stderr:
            message = f"the sandbox did not start: {self._interpreter.path} was killed, or ended at once{loading}"
            return ZygoteGoneError(message)
        return SandboxError(f"the sandbox did not start: {stderr[-2000:]}")

    def _hear_first(self, seconds: float) -> bytes | None:
        """Return the zygote's boot message, or None if it sends none in time."""
        self._control.settimeout(seconds)
        try:
            packet, ancillary, _, _ = self._control.recvmsg(_FACTS, _FDS_SPACE, socket.MSG_CMSG_CLOEXEC)
        except TimeoutError:
            return None
        self._subject.extend(array.array("i", ancillary[0][2] if ancillary else b""))
        return packet

    def _can_end(self) -> bool:
        """Return whether this process can end the confined process that came with the report of the boot."""
        if not self._subject:
            return False
        pidfd = self._subject.pop()
        try:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            return bool(poll.poll(_END_SECONDS * 1e3))
        except OSError:
            return False
        finally:
            os.close(pidfd)

    @property
    def ordered(self) -> int:
        """The number of workers ordered and not received yet."""
        return len(self._ordered)

    def order(self, number: int) -> None:
        """Order workers. Raises ZygoteGoneError.

        A lack of descriptors is a refusal, as if the zygote could not fork.
        """
        # Counted before sending, which lets other threads run: they would order the same workers again.
        self._ordered.extend(repeat(None, number))
        for first in range(0, number, MAX_ORDERED):
            try:
                self._send(ForkWorkers(min(MAX_ORDERED, number - first)))
            except OSError as error:
                for _ in range(number - first):
                    self._take_refusal(str(error))
                return

    def expect_nothing_late(self) -> None:
        """Forget orders that have not been answered for long.

        An exception from a signal handler may have lost an answer. If it arrives after all, there is one worker more.
        """
        if time.monotonic() - self._active_at > _LATE_SECONDS:
            self._ordered.clear()
            self.ready.expect_nothing_late()

    def ask(self, worker: WorkerHandle) -> None:
        """Ask for the exit code of `worker`. Raises ZygoteGoneError."""
        self._send(AskExitCode(worker.pid))

    def exit_reason(self, worker: WorkerHandle) -> str | None:
        """Return why a worker asked for with `ask` has ended, or None if unknown yet."""
        self.receive()
        code = self._ended.pop(worker.pid, None)
        if code is None:
            return None
        if code >= 0:
            return f"the program ended its process (exit code {code}) instead of running to its end"
        name = signal.Signals(-code).name
        return _CRASHES.get(name, f"the program's process ended with {name}")

    def wait(self) -> None:
        """Return when there is something to receive, or a moment later.

        Raises ZygoteGoneError, also if an order stays without an answer, however often another one was sent.
        """
        poll = select.poll()
        try:
            poll.register(self._control, select.POLLIN)
        except ValueError as error:
            raise ZygoteGoneError from error
        if poll.poll(_MOMENT_MS):
            return
        self._silent_waits += 1
        silent_since = max(self._heard_at, self._asked_at)
        if self._silent_waits > _MAX_SILENT_WAITS and time.monotonic() - silent_since > _ANSWER_SECONDS:
            message = f"the sandbox's zygote did not answer in {_ANSWER_SECONDS:g} s"
            raise ZygoteGoneError(message)

    def _send(self, order: Message) -> None:
        send_order(self._control, order)
        self._active_at = time.monotonic()
        if self._asked_at <= self._heard_at:
            self._asked_at, self._silent_waits = self._active_at, 0

    def receive(self) -> None:
        """Receive the zygote's messages: new workers and exit codes. Raises ZygoteGoneError."""
        while True:
            try:
                packet, ancillary, _, _ = self._control.recvmsg(_MESSAGE, _FDS_SPACE, _AT_ONCE)
            except BlockingIOError:
                return
            except OSError:
                packet, ancillary = b"", []
            self._heard_at = self._active_at = time.monotonic()
            self._silent_waits = 0
            fds = array.array("i", ancillary[0][2] if ancillary else b"")
            match decode(packet):
                case NewWorker(pid):
                    self._take_worker(pid, fds)
                case ForkRefused(reason):
                    self._take_refusal(reason)
                case ExitCode(pid, code):
                    self._ended[pid] = code
                case Extended() as message:
                    if not self.ready.receive(message, fds, self._control):
                        raise ZygoteGoneError
                case _:
                    raise ZygoteGoneError

    def _take_worker(self, pid: int, fds: array.array[int]) -> None:
        if len(fds) == _FDS_EACH:
            self.refusals = 0
            self.ready.add(WorkerHandle(pid, *fds, leash=self._control))
            self._expect_one_less()
            return
        # The kernel drops descriptors this process has no room for; a worker without a holder ends by itself.
        for fd in fds:
            os.close(fd)
        self._take_refusal(str(OSError(errno.EMFILE, os.strerror(errno.EMFILE))))

    def _take_refusal(self, reason: str) -> None:
        self.refusals += 1
        self.refusal = reason
        # Programs need the room more than their checks do.
        self.ready.checkers.clear()
        self._expect_one_less()

    def _expect_one_less(self) -> None:
        with contextlib.suppress(IndexError):
            self._ordered.pop()

    def disown(self) -> None:
        """Forget the zygote in a fork of the host, since it belongs to the parent."""
        self._end.detach()
        self._control.close()
        close_stderr(self._process)
        # Only the parent can wait for it, so subprocess must not warn about that here.
        self._process.returncode = 0
        self.ready.disown()

    def close(self) -> None:
        """End the zygote and all its workers; returns when it has ended, or after 2 s and a kill.

        Closing twice is harmless: the second call returns at once, even if it interrupts the first.
        """
        self._end()


def _end(control: socket.socket, process: subprocess.Popen[bytes], ready: ReadyWorkers) -> None:
    with contextlib.suppress(OSError):
        # `wait` in another thread would not notice a plain close.
        control.shutdown(socket.SHUT_RDWR)
    control.close()
    ready.close()
    close_stderr(process)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        # A host that has given up its rights since may not; the kernel ends all when their sockets have ended.
        with contextlib.suppress(PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
