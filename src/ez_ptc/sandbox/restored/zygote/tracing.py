"""Stopping a worker, and its registers."""

from __future__ import annotations

import ctypes
import os
import time
from typing import Final, Self

from .memory import TraceError
from .system import MemoryVector, ptrace

__all__ = ["Stop", "WorkerRegisters"]

_DETACH, _GET_REGISTERS, _SET_REGISTERS, _SEIZE, _INTERRUPT = 17, 0x4204, 0x4205, 0x4206, 0x4207
_ALL_KINDS = 0x40000000
# SIGTRAP with PTRACE_EVENT_STOP.
_STOPPED = 5 | 128 << 8
_GENERAL, _EXTENDED = 1, 0x202
_MAX_EXTENDED_BYTES = 1 << 14
# The places in `struct user_regs_struct`.
_RESULT, _FIRST_ARGUMENT, _CALL = 10, 14, 15
_REGISTERS = 27
_READ = 0
# ERESTARTSYS to ERESTART_RESTARTBLOCK: the call was interrupted by the stop.
_INTERRUPTED: Final = range((1 << 64) - 516, (1 << 64) - 511)
_RESTARTS_FROM_ITS_ARGUMENTS: Final = (1 << 64) - 512
_LINK_FD = 3
_ATTEMPTS = 50
_MOMENT = 100e-6


class WorkerRegisters:
    """All registers of a stopped worker: the general ones, and those of the floating-point unit and its successors."""

    def __init__(self, pid: int) -> None:
        """Read them. Raises OSError."""
        self._parts: list[tuple[int, ctypes.Array[ctypes.c_char], MemoryVector]] = []
        for register_set, size in ((_GENERAL, _REGISTERS * 8), (_EXTENDED, _MAX_EXTENDED_BYTES)):
            buffer = ctypes.create_string_buffer(size)
            vector = MemoryVector(ctypes.addressof(buffer), size)
            ptrace(_GET_REGISTERS, pid, register_set, ctypes.byref(vector))
            self._parts.append((register_set, buffer, vector))

    def write(self, pid: int) -> None:
        """Set them. Raises OSError."""
        for register_set, _, vector in self._parts:
            ptrace(_SET_REGISTERS, pid, register_set, ctypes.byref(vector))

    @property
    def contents(self) -> tuple[bytes, ...]:
        """The bytes of each set."""
        return tuple(buffer.raw[: vector.length] for _, buffer, vector in self._parts)


class Stop:
    """A worker that is stopped where it waits for its next frame; it goes on when the block ends."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.cpu_seconds = 0.0

    def __enter__(self) -> Self:
        """Stop it.

        Raises:
            TraceError: It has ended, has a signal, or does not come to wait for a frame.
            OSError: The kernel refuses.
        """
        for _ in range(_ATTEMPTS):
            self._stop()
            try:
                is_waiting = _waits_for_frame(self._pid)
            except BaseException:
                self._go_on()
                raise
            if is_waiting:
                return self
            self._go_on()
            # It has sent its last frame, and is on its way.
            time.sleep(_MOMENT)
        message = "it does not wait for its next program"
        raise TraceError(message)

    def _stop(self) -> None:
        ptrace(_SEIZE, self._pid)
        ptrace(_INTERRUPT, self._pid)
        _, status, usage = os.wait4(self._pid, _ALL_KINDS)
        if not os.WIFSTOPPED(status):
            message = "it has ended"
            raise TraceError(message)
        if status >> 8 != _STOPPED:
            self._go_on(os.WSTOPSIG(status))
            message = "it has a signal"
            raise TraceError(message)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime

    def _go_on(self, signal: int = 0) -> None:
        ptrace(_DETACH, self._pid, 0, signal)

    def __exit__(self, *_: object) -> None:
        self._go_on()


def _waits_for_frame(pid: int) -> bool:
    """Return whether a stopped worker was in the call that reads its next frame, and not in the middle of its own code.

    Raises TraceError if it was in another call: the kernel may remember how to go on with that.
    """
    words = (ctypes.c_uint64 * _REGISTERS)()
    ptrace(_GET_REGISTERS, pid, _GENERAL, ctypes.byref(MemoryVector(ctypes.addressof(words), ctypes.sizeof(words))))
    result, number, argument = words[_RESULT], words[_CALL], words[_FIRST_ARGUMENT]
    # Free memory stays in the heap that later workers have.
    ctypes.memset(words, 0, ctypes.sizeof(words))
    if result not in _INTERRUPTED:
        return False
    if (result, number, argument) != (_RESTARTS_FROM_ITS_ARGUMENTS, _READ, _LINK_FD):
        message = "it waits for something else than its next program"
        raise TraceError(message)
    return True
