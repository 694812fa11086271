"""Run a command in a kernel that gives less: a seccomp filter around it answers some calls with an errno.

``python -m tests.sandbox.worker.lifecycle.parent_filter unshare=EPERM prctl:22=EINVAL 'clone&0x7e020000=EPERM'
seccomp=0 -- COMMAND …``

``name:value`` is only the calls with that first argument, ``name&mask`` those with any of these bits in it. The errno 0
makes a call return success without having done anything. The filter holds for every descendant, and for good.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import struct
import sys
from collections.abc import Iterable

from tests.sandbox.worker.lifecycle.bpf import ALLOW, AUDIT_ARCH, KILL, refusal
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS

__all__ = ["DOCKER", "around", "assemble"]

# What Docker's default profile refuses a container without CAP_SYS_ADMIN, as far as a sandbox asks for it.
DOCKER = ("unshare=EPERM", "setns=EPERM", "mount=EPERM", "pivot_root=EPERM", "clone&0x7e020000=EPERM", "clone3=ENOSYS")

_LOAD_WORD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
# Landlock is young enough to have one number everywhere.
_NUMBERS = {machine: {**numbers, "landlock_restrict_self": 446} for machine, numbers in NUMBERS.items()}
_RULE = re.compile(r"(?P<name>\w+)(?:(?P<test>[:&])(?P<value>\w+))?=(?P<answer>\w+)")

Instruction = tuple[int, int, int, int]


def around(*rules: str) -> list[str]:
    """Return the words to put before a command so that it runs under these rules."""
    return [sys.executable, "-m", "tests.sandbox.worker.lifecycle.parent_filter", *rules, "--"]


def assemble(rules: Iterable[str], machine: str) -> bytes:
    """Return a filter for ``machine`` that allows all but what the rules say."""
    program: list[Instruction] = [
        (_LOAD_WORD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, KILL),
    ]
    for rule in rules:
        program += _instructions(rule, machine)
    program.append((_RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _instructions(rule: str, machine: str) -> list[Instruction]:
    found = _RULE.fullmatch(rule)
    if found is None:
        raise ValueError(rule)
    answer = (_RETURN, 0, 0, refusal(getattr(errno, found["answer"], 0)))
    number = (_LOAD_WORD, 0, 0, _NUMBER)
    if found["test"] is None:
        return [number, (_EQUAL, 0, 1, _NUMBERS[machine][found["name"]]), answer]
    test = _EQUAL if found["test"] == ":" else _ANY_BIT
    argument = [(_LOAD_WORD, 0, 0, _FIRST_ARGUMENT), (test, 0, 1, int(found["value"], 0)), answer]
    return [number, (_EQUAL, 0, len(argument), _NUMBERS[machine][found["name"]]), *argument]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _confine(blob: bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(blob) // 8, blob)
    # Without the privilege to do otherwise, a filter asks that nobody below gains any.
    if os.geteuid() != 0:
        libc.prctl(38, 1, 0, 0, 0)
    if libc.prctl(22, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "cannot load the filter")


def main(arguments: list[str]) -> None:
    """Confine this process, and become the command."""
    end = arguments.index("--")
    _confine(assemble(arguments[:end], platform.machine()))
    os.execv(arguments[end + 1], arguments[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
