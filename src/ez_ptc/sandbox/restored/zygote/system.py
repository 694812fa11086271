"""The kernel's interfaces for snapshots: tracing, write tracking, and memory of another process. For x86-64 only."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

__all__ = ["PROC_FD", "MemoryVector", "Vectors", "call", "check", "control", "ptrace", "read_into", "transfer"]

PROC_FD: Final = 9
"""The descriptor of `/proc` in the zygote; its filter allows to open files in no other folder."""

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_ptrace = _libc.ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_ioctl = _libc.ioctl
_ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)
_pread = _libc.pread
_pread.restype = ctypes.c_ssize_t
_pread.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)
_process_vm = {name: _libc[f"process_vm_{name}"] for name in ("readv", "writev")}
for _function in _process_vm.values():
    _function.restype = ctypes.c_ssize_t
    _function.argtypes = (
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_ulong,
    )


class MemoryVector(ctypes.Structure):
    """A piece of memory: its address and its length, as `struct iovec` has them."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Vectors:
    """Pairs of pieces of memory, here and in another process, for one call."""

    MAX: Final = 1024

    def __init__(self, pairs: list[tuple[int, int, int]]) -> None:
        """Take the addresses here and there, and the length, of at most `MAX` pieces."""
        count = len(pairs)
        self.count = count
        self.bytes = sum(length for _, _, length in pairs)
        self.here = (MemoryVector * count)(*((here, length) for here, _, length in pairs))
        self.there = (MemoryVector * count)(*((there, length) for _, there, length in pairs))


def check(result: int, doing: str) -> int:
    """Return a result that is no error. Raises OSError, with what was being done."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{doing}: {os.strerror(code)}")
    return result


def call(number: int, *arguments: object) -> int:
    """Make a system call, and return its result. Raises OSError."""
    whole = (argument if not isinstance(argument, int) else ctypes.c_long(argument) for argument in arguments)
    return check(_syscall(ctypes.c_long(number), *whole), f"system call {number}")


def control(fd: int, request: int, argument: object, doing: str) -> int:
    """Make an ioctl, and return its result. Raises OSError."""
    return check(_ioctl(fd, request, argument), doing)


def ptrace(request: int, pid: int, address: int = 0, data: object = None) -> int:
    """Trace a process. Raises OSError."""
    return check(_ptrace(request, pid, address, data), "trace a worker")


def read_into(fd: int, buffer: bytearray) -> int:
    """Read a file from its beginning into a buffer, and return how many bytes that has now. Raises OSError."""
    view = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    size = 0
    # Not os.pread, whose bytes would stay in memory that is free.
    while received := check(_pread(fd, ctypes.byref(view, size), len(buffer) - size, size), "read a file of /proc"):
        size += received
    return size


def transfer(how: str, pid: int, vectors: Vectors) -> None:
    """Read (`readv`) or write (`writev`) the memory of a process, all of it. Raises OSError."""
    moved = _process_vm[how](pid, vectors.here, vectors.count, vectors.there, vectors.count, 0)
    if check(moved, "copy a worker's memory") != vectors.bytes:
        raise OSError(errno.EFAULT, "a part of a worker's memory cannot be copied")
