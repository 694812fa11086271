"""A program that confines itself with a committed filter and tries things; the tests of the filters run it.

``python -m tests.sandbox.worker.lifecycle.confined FILTER idioms`` does what programs do and prints, as JSON, what
went wrong by idiom.
``… FILTER forking`` does what the zygote does, and prints the same.
``… FILTER survey`` makes every system call with nothing but zeros, each in a process of its own, and prints the answers
by number. Modules are imported before the filter is loaded, as the zygote does it for programs.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.sandbox.worker.running.idioms import IDIOMS, expect_refusal

LIBC = ctypes.CDLL(None, use_errno=True)
SECCOMP = {"x86_64": 317, "aarch64": 277}
X32 = 0x40000000
LAST = 600


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine(blob: bytes) -> None:
    """Load a filter into this process, as the zygote does."""
    program = _Program(len(blob) // 8, blob)
    number = SECCOMP[platform.machine()]
    if LIBC.prctl(38, 1, 0, 0, 0) or LIBC.syscall(number, 1, 0, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "cannot confine this process")


def run_idioms(blob: bytes) -> dict[str, str]:
    """Return what each idiom that failed raised."""
    failed: dict[str, str] = {}
    platform.system()  # asks for the name of the machine's processor once, from a file
    confine(blob)
    for idiom in IDIOMS:
        try:
            idiom()
        except Exception as error:  # noqa: BLE001 - each is reported, and the next one is tried
            place = traceback.extract_tb(error.__traceback__)[-1]
            failed[idiom.__name__] = f"{error!r} in {place.name}, line {place.lineno}"
    return failed


def call_with_zeros(number: int, blob: bytes, seconds: float = 0.1) -> str:
    """Say how one system call ends in a confined process: an errno, a signal, or "returned"."""
    pid = os.fork()
    if pid == 0:
        signal.setitimer(signal.ITIMER_REAL, seconds)  # for what waits: select, pselect6, ppoll
        confine(blob)
        result = LIBC.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0)
        os._exit(ctypes.get_errno() if result == -1 else 255)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        return signal.Signals(-code).name
    return "returned" if code in {0, 255} else f"errno {code}"


def survey(blob: bytes) -> dict[int, str]:
    """Make every call there is and some there are not, and those of x32."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    numbers = [*range(LAST + 1), *(X32 | number for number in range(LAST + 1))]
    answers = {number: call_with_zeros(number, blob) for number in numbers}
    # On a busy machine the time may be up before the call is made.
    late = [number for number, answer in answers.items() if answer == "SIGALRM"]
    return answers | {number: call_with_zeros(number, blob, seconds=1.0) for number in late}


def _be_a_worker(link: socket.socket, blob: bytes) -> None:
    try:
        LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)
        os.dup2(link.fileno(), 3)
        os.closerange(4, 256)
        confine(blob)
        os.write(3, b"ready")
        os.read(3, 1)
    finally:
        os._exit(7)


def _fork_worker(control: socket.socket, blob: bytes) -> int:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _be_a_worker(theirs, blob)
    pidfd = os.pidfd_open(pid)
    socket.send_fds(control, [b"worker"], [ours.fileno(), pidfd])
    for descriptor in (ours.detach(), theirs.detach(), pidfd):
        os.close(descriptor)
    return pid


def _notice(*_: object) -> None:
    """Let the signal wake the pipe, which happens only where somebody handles it."""


def run_forking(blob: bytes, worker_blob: bytes) -> dict[str, str]:
    """Fork three workers, end each in another way, and return how it ended where that is not as expected."""
    endings: dict[str, tuple[Callable[[int, int, int], object], int]] = {
        "told to": (lambda link, _pidfd, _pid: os.write(link, b"x"), 7),
        "killed by its pidfd": (lambda _link, pidfd, _pid: signal.pidfd_send_signal(pidfd, signal.SIGKILL), -9),
        "killed by its number": (lambda _link, _pidfd, pid: os.kill(pid, signal.SIGKILL), -9),
    }
    zygote, host = socket.socketpair()
    receive, send = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    confine(blob)
    signal.set_wakeup_fd(send, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _notice)
    wrong: dict[str, str] = {}
    for name, (end, expected) in endings.items():
        pid = _fork_worker(zygote, worker_blob)
        link, pidfd = socket.recv_fds(host, 16, 2)[1]
        greeting = os.read(link, 16)
        end(link, pidfd, pid)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if (greeting, ended, os.read(receive, 16)) != (b"ready", expected, bytes([signal.SIGCHLD])):
            wrong[name] = f"greeted with {greeting}, ended with {ended}"
    for call, arguments in ((os.execv, ("/bin/true", ["true"])), (socket.socket, ()), (os.stat, ("/",))):
        expect_refusal(call, *arguments)
    zygote.close()
    host.close()
    return wrong


def main() -> None:
    """Do what the command line asks for."""
    path = Path(sys.argv[1])
    blob = path.read_bytes()
    if sys.argv[2] == "forking":
        report = run_forking(blob, path.with_name(path.name.replace("zygote", "worker")).read_bytes())
    else:
        report = run_idioms(blob) if sys.argv[2] == "idioms" else survey(blob)
    sys.stdout.write(json.dumps(report))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
