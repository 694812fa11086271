"""Run a command as a user with some capabilities: root starts this.

``python -m tests.sandbox.worker.lifecycle.capabilities USER CAPABILITIES PROMISE -- COMMAND …``

``CAPABILITIES`` are numbers with commas between, ``PROMISE`` is 1 for no new privileges.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

__all__ = ["NUMBERS", "every", "having"]

NUMBERS = {"setgid": 6, "setuid": 7, "setpcap": 8, "kill": 5, "sys_ptrace": 19, "sys_admin": 21}
_LAST = 40
_KEEPCAPS, _BOUNDING_DROP, _NO_NEW_PRIVS, _AMBIENT, _AMBIENT_RAISE = 8, 24, 38, 47, 2
_VERSION = 0x20080522


def having(user: int, capabilities: set[int], *, promise: bool) -> list[str]:
    """Return the words to put before a command."""
    numbers = ",".join(map(str, sorted(capabilities)))
    module = "tests.sandbox.worker.lifecycle.capabilities"
    return [sys.executable, "-m", module, str(user), numbers, str(int(promise)), "--"]


def every() -> set[int]:
    """Return the number of each capability that this process has."""
    with Path("/proc/self/status").open(encoding="ascii") as file:
        held = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    return {number for number in range(_LAST + 1) if held >> number & 1}


def _check(result: int, doing: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{doing}: {os.strerror(code)}")


def main(arguments: list[str]) -> None:
    """Become the user, keep the capabilities, and become the command."""
    user, numbers, promise, _, *command = arguments
    kept = {int(number) for number in numbers.split(",") if number}
    libc = ctypes.CDLL(None, use_errno=True)

    def prctl(*values: int) -> None:
        _check(libc.prctl(*map(ctypes.c_ulong, (*values, *[0] * (5 - len(values))))), f"prctl{values}")

    for number in every() - kept:
        prctl(_BOUNDING_DROP, number)
    prctl(_KEEPCAPS, 1)
    if int(user):
        os.setgroups([])
        os.setresgid(int(user), int(user), int(user))
        os.setresuid(int(user), int(user), int(user))
    low = sum(1 << number for number in kept if number < 32)
    high = sum(1 << number - 32 for number in kept if number >= 32)
    data = struct.pack("=6I", low, low, low, high, high, high)
    _check(libc.capset(struct.pack("=Ii", _VERSION, 0), data), "capset")
    for number in kept if int(user) else ():
        prctl(_AMBIENT, _AMBIENT_RAISE, number)
    if int(promise):
        prctl(_NO_NEW_PRIVS, 1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
