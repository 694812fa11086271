"""What a forked process does to become a worker that its zygote can restore: it gives access to itself, then locks up.

The zygote gets descriptors over the socket `AGENT_FD`, one byte each: `b"A"` with the access to its memory, and `b"L"`
with the listener of its second filter. When the socket ends, the worker is about to wait for its first program.
"""

from __future__ import annotations

import _socket
import array
import os
from typing import TYPE_CHECKING, Final

from .memory import open_tracker
from .system import PROC_FD, call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ACCESS", "AGENT_FD", "LISTENER", "give_access", "give_listener", "receive"]

AGENT_FD: Final = 4
ACCESS: Final = b"A"
LISTENER: Final = b"L"
_USERFAULTFD, _SECCOMP, _CLOSE_RANGE = 323, 317, 436
_CLOSE_ON_EXEC_AND_USER_MODE = 0o2000000 | 1
_SET_MODE_FILTER, _NEW_LISTENER_AND_WAIT = 1, 1 << 3 | 1 << 5
_PR_SET_DUMPABLE = 4
_PRCTL = 157
_LAST_FD = 0xFFFFFFFF
_MAX_FDS = 4
_FILES = ("pagemap", "maps", "statm")


def _send(message: bytes, fds: Sequence[int]) -> None:
    agent = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, AGENT_FD)
    try:
        agent.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", fds))])
    finally:
        agent.detach()


def receive(agent: _socket.socket) -> tuple[bytes, list[int]]:
    """Return the next message of a worker and its descriptors; no bytes at the end of the socket."""
    space = _socket.CMSG_LEN(_MAX_FDS * array.array("i").itemsize)
    message, ancillary, _, _ = agent.recvmsg(1, space, _socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i", ancillary[0][2] if ancillary else b"")
    return message, list(fds)


def give_access(confine: Sequence[Callable[[], int | None]]) -> None:
    """Send the access to this process, confine it, and close all other descriptors. Raises OSError."""
    # Otherwise only a privileged process could trace it.
    call(_PRCTL, _PR_SET_DUMPABLE, 1, 0, 0, 0)
    tracker = call(_USERFAULTFD, _CLOSE_ON_EXEC_AND_USER_MODE)
    open_tracker(tracker)
    _send(ACCESS, [tracker, *(os.open(f"self/{name}", os.O_RDONLY, dir_fd=PROC_FD) for name in _FILES)])
    for step in confine:
        if (step() or 0) < 0:
            raise OSError
    call(_CLOSE_RANGE, AGENT_FD + 1, _LAST_FD, 0)


def give_listener(program: object) -> None:
    """Install the second filter and send its listener. Raises OSError."""
    listener = call(_SECCOMP, _SET_MODE_FILTER, _NEW_LISTENER_AND_WAIT, program)
    _send(LISTENER, [listener])
    os.close(listener)
