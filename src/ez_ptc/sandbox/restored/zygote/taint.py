"""The second filter of a worker: it tells the zygote of every system call that may leave something in the kernel.

The filter `traceless` lists the calls that leave nothing, and the kernel holds any other one until the zygote lets it
go on. It refuses nothing; that is the task of the first filter, whose refusals come before. A worker that has made
such a call after its snapshot is tainted, and never restored.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import struct
from typing import Final

from .system import control

__all__ = ["Listener"]

_RECEIVE, _SEND, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
_WAKE_ON_THIS_CORE = 1
_GO_ON = 1
_BYTES: Final = 80
_ANSWER: Final = struct.Struct("QqiI")
# Where `struct seccomp_notif` has the identifier, and the number of the call.
_HEAD: Final = struct.Struct("QIIi")


class Listener:
    """The zygote's end of the second filter of one worker."""

    def __init__(self, fd: int) -> None:
        """Wrap the descriptor that the filter was installed with."""
        self.fd = fd
        self._notice = ctypes.create_string_buffer(_BYTES)
        with contextlib.suppress(OSError):  # older than 6.6, and slower
            control(fd, _SET_FLAGS, _WAKE_ON_THIS_CORE, "set the wake-up of a filter")

    def answer(self) -> int | None:
        """Let the next call go on, and return its number; None if it was interrupted before."""
        ctypes.memset(self._notice, 0, _BYTES)
        try:
            control(self.fd, _RECEIVE, self._notice, "receive the notice of a system call")
            identifier, _, _, number = _HEAD.unpack_from(self._notice)
            answer = ctypes.create_string_buffer(_ANSWER.pack(identifier, 0, 0, _GO_ON), _ANSWER.size)
            control(self.fd, _SEND, answer, "answer the notice of a system call")
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.EINTR}:
                raise
            return None
        return number
