"""What a seccomp filter answers, without a kernel: a simulator of the classic BPF that such filters are written in.

It knows the instructions that libseccomp writes and raises at any other, so that a filter cannot pass a test by holding
something nobody looked at. `struct seccomp_data` is laid out as in linux/seccomp.h.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ALLOW", "AUDIT_ARCH", "KILL", "Filter", "refusal"]

ALLOW = 0x7FFF0000
KILL = 0x80000000
_ERRNO = 0x00050000

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003, "arm": 0x40000028, "riscv64": 0xC00000F3}

_LOAD_WORD, _AND, _JUMP, _RETURN = 0x20, 0x54, 0x05, 0x06
_TESTS: dict[int, Callable[[int, int], bool]] = {
    0x15: lambda accumulator, k: accumulator == k,
    0x25: lambda accumulator, k: accumulator > k,
    0x35: lambda accumulator, k: accumulator >= k,
    0x45: lambda accumulator, k: bool(accumulator & k),
}


def refusal(number: int) -> int:
    """Return the answer that makes a call fail with this errno."""
    return _ERRNO | number


@dataclass(frozen=True, slots=True)
class Filter:
    """The instructions of one filter: (code, jump if true, jump if false, constant)."""

    instructions: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def parse(cls, blob: bytes) -> Filter:
        """Read an array of little-endian ``struct sock_filter``."""
        return cls(tuple(struct.iter_unpack("<HBBI", blob)))

    def answer(self, architecture: str, number: int, *arguments: int) -> int:
        """Return the filter's answer to one system call; arguments that are not given are 0."""
        padded = (*(value % 2**64 for value in arguments), 0, 0, 0, 0, 0, 0)[:6]
        data = struct.pack("<IIQ6Q", number % 2**32, AUDIT_ARCH[architecture], 0, *padded)
        accumulator = position = 0
        while True:
            code, if_true, if_false, k = self.instructions[position]
            position += 1
            if code == _LOAD_WORD:
                (accumulator,) = struct.unpack_from("<I", data, k)
            elif code == _AND:
                accumulator &= k
            elif code == _JUMP:
                position += k
            elif code == _RETURN:
                return k
            else:
                position += if_true if _TESTS[code](accumulator, k) else if_false
