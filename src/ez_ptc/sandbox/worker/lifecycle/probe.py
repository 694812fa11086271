"""Attempting what must fail, at every boot: a return code is a claim, a refused attempt is a fact."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import mmap
import os
import select
import signal
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .lockdown import Lockdown

__all__ = ["file_layer_holds", "holds_in_fork", "pidfds_work", "probe_worker"]

_PLACES = ("/etc/passwd", "/proc/self/environ", "/proc/self/status", "/dev/zero", "/usr/bin/env", "/bin/sh", "/")
_PTRACE_ATTACH = 16
_SUBJECT_FD = 3
_LAST_FD = (1 << 31) - 1
_MMAP = {"x86_64": 9, "aarch64": 222}


def file_layer_holds(own_files: list[str], places: Sequence[str] = _PLACES) -> bool:
    """Return whether no file can be opened; tried before the system call filter would refuse it anyway."""
    return not any(_readable(path) for path in (*own_files, *places))


def _readable(place: str) -> bool:
    try:
        fd = os.open(place, os.O_RDONLY)
    except OSError:
        return False
    try:
        # An empty root looks like an empty folder from inside.
        return place != "/" or bool(os.listdir(fd))
    except OSError:
        return False
    finally:
        os.close(fd)


def holds_in_fork(deny: Callable[[], None]) -> bool:
    """Return whether no file can be opened in a fork after `deny`. Raises OSError if there can be no fork."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            deny()
            code = 0 if file_layer_holds([]) else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def pidfds_work() -> bool:
    """Return whether pidfds work: the host holds and kills each worker by one."""
    try:
        fd = os.pidfd_open(os.getpid())
    except OSError:
        return False
    try:
        signal.pidfd_send_signal(fd, 0)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _attempts(lockdown: Lockdown) -> dict[str, Callable[[], object]]:
    libc = lockdown._libc  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - a probe calls what the lockdown calls

    def raw(name: str, *arguments: object) -> Callable[[], object]:
        def call() -> None:
            if getattr(libc, name)(*arguments) < 0:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code))

        return call

    def map_attempt(protection: int, flags: int) -> Callable[[], object]:
        return lambda: _map_page(libc, _MMAP[lockdown.machine], protection, flags)

    parent = os.getppid()
    return {
        "open a file": lambda: os.open("/", os.O_RDONLY),
        "write a file": lambda: os.open("/tmp/probe", os.O_WRONLY | os.O_CREAT, 0o600),  # noqa: S108 - must fail
        "list a folder": lambda: os.listdir("/"),
        "look at a file": lambda: os.stat("/"),
        "open an internet socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        "open a unix socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
        "open a netlink socket": lambda: socket.socket(16, socket.SOCK_RAW),
        "start a process": _fork,
        "run a program": lambda: os.execv("/bin/true", ["true"]),  # noqa: S606 - must fail
        "signal its parent": lambda: os.kill(parent, 0),
        "trace its parent": raw("ptrace", _PTRACE_ATTACH, parent, None, None),
        "map executable memory": map_attempt(mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE),
        "share memory": map_attempt(mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED),
        "make a memory file": lambda: os.memfd_create("probe"),
        "enter a namespace": raw("unshare", 0x10000000),
        "change a process setting": raw("prctl", 4, 1, 0, 0, 0),
    }


def _map_page(libc: ctypes.CDLL, number: int, protection: int, flags: int) -> None:
    """Map a page by system call number. musl's own mmap reports a refusal as a lack of memory.

    A lack of memory must not pass for a refusal, because elsewhere it may be a real one.
    """
    call = libc["syscall"]
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long,) * 7
    if call(number, 0, mmap.PAGESIZE, protection, flags | mmap.MAP_ANONYMOUS, -1, 0) == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def probe_worker(lockdown: Lockdown, prepare: Callable[[], None]) -> tuple[list[str], int | None]:
    """Fork a child, confine it as a worker with `prepare`, and return the names of the successful attempts.

    The child waits until the host kills it by its pidfd, the second result. It is None if the child has ended, or
    without pidfds.
    """
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _become_subject(lockdown, prepare, send)
        finally:
            os._exit(0)
    os.close(send)
    try:
        answer = os.read(receive, 1 << 16)
    finally:
        os.close(receive)
    if answer:
        with contextlib.suppress(OSError):
            return json.loads(answer), os.pidfd_open(pid)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if answer:
        return json.loads(answer), None
    name = "an error"
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
    return [f"confine a worker at all: the probe ended with {name}"], None


def _become_subject(lockdown: Lockdown, prepare: Callable[[], None], send: int) -> None:
    """Try everything in a confined process, write the names of the successful attempts, and wait to be killed."""
    os.dup2(send, _SUBJECT_FD)
    # The host must not take this process for its zygote.
    os.closerange(_SUBJECT_FD + 1, _LAST_FD)
    prepare()
    allowed = [name for name, attempt in _attempts(lockdown).items() if not _is_refused(attempt)]
    os.write(_SUBJECT_FD, json.dumps(allowed).encode())
    os.close(_SUBJECT_FD)
    while True:
        select.poll().poll()


def _is_refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError as error:
        # It must be a refusal, and not, for example, a missing file.
        return error.errno in {errno.EPERM, errno.EACCES, errno.ENOSYS}
    return False
