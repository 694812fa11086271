"""All hostile programs of our own, by class and name: `arena` runs them as it does those of the corpus.

A program reports itself what canaries cannot see: it calls ``claim(...)`` when something worked that must not. Where a
value is a tuple, its programs run one after the other, and the last looks for what the first has left behind.
"""

from __future__ import annotations

import platform

from tests.sandbox.escapes import (
    aftermath,
    checks,
    executable,
    files,
    imports,
    kernel,
    memory,
    parallels,
    processes,
    runtime,
    sessions,
    threads,
    values,
    wire,
)
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS

__all__ = ["CLAIM", "OWN", "PRELUDE", "SLOW"]

_HERE = NUMBERS.get(platform.machine(), {})
_OF_THIS_MACHINE = {name: _HERE.get(name) for numbers in NUMBERS.values() for name in numbers}
CLAIM = "this-must-not-work:"
PRELUDE = f"""
import ctypes, os
LIBC = ctypes.CDLL(None, use_errno=True)
NR = {_OF_THIS_MACHINE!r}
def claim(what):
    print("".join(map(chr, {list(map(ord, CLAIM))})), what, flush=True)
def refused(what, result):
    if isinstance(result, int) and result >= 0: claim(what)
def sys(number, *arguments):
    if isinstance(number, str): number = NR[number] if number in NR else claim("no machine has " + number)
    if number is None: return -1  # this machine has no such call
    ready = [a if isinstance(a, (bytes, ctypes.Array, type(None))) else ctypes.c_long(a) for a in arguments]
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *ready)
def attempt(what, call, *arguments):
    try: result = call(*arguments)
    except Exception as error: return error
    claim(what)
    return result
"""

_MODULES = (
    aftermath, checks, executable, files, imports, kernel, memory, parallels, processes, runtime, sessions, threads,
    values, wire,
)  # fmt: skip


def _named(which: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for module in _MODULES:
        kind = module.__name__.rpartition(".")[2]
        programs: dict[str, str | tuple[str, ...]] = getattr(module, which, {})
        for name, program in programs.items():
            parts = (program,) if isinstance(program, str) else program
            found[f"{kind}: {name}"] = tuple(PRELUDE + part for part in parts)
    return found


OWN = _named("PROGRAMS")
SLOW = _named("SLOW")
"""Those that use up their time, or much of the machine's."""
