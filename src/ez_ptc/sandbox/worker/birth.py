"""How the zygote comes to be: import everything, lock down, prove that it holds, serve."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import threading
from typing import TYPE_CHECKING

from . import aio, preload, probe, report, runtime, strands, zygote
from .lockdown import Lockdown

if TYPE_CHECKING:
    import socket

__all__ = ["main"]

_THREAD_STACK = 1 << 20
"""Bytes of stack of a thread: they count as memory of the program, and the default would allow few threads."""
_UNKNOWN_MEMORY = 64 << 20


def main(control: socket.socket) -> None:
    """Boot, and serve until the host closes ``control``.

    The process that was started stays outside and waits, so that the death of either side is seen by the other.
    """
    try:
        locks, base_memory = _prepare()
        files_held = _lock_files_away(locks)
    except OSError as error:
        control.send(f"E{error}".encode())
        return
    gc.collect()
    gc.freeze()
    pid = os.fork()
    if pid:
        control.close()
        os.waitpid(pid, 0)
        return
    locks.die_with_parent()
    server = zygote.Zygote(control, locks, base_memory)
    facts = _prove(locks, files_held=files_held)
    # What is wrong is said by the host; standard error is for an interpreter that does not come this far.
    control.send(b"R" + json.dumps(facts).encode())
    os.dup2(0, 2)
    if facts["seccomp"] and not facts["allowed"] and files_held:
        server.serve()
    os._exit(0)


def _prepare() -> tuple[Lockdown, int]:
    preload.preload()
    locks = Lockdown(f"{os.path.dirname(__file__)}/filters")
    # Workers go first when the machine runs out of memory; where there is no /proc, nothing is lost but that.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    strands.install()
    aio.install()
    report.install()
    runtime.replace_builtins()
    runtime.forbid_imports()
    threading.stack_size(_THREAD_STACK)
    return locks, _base_memory()


def _base_memory() -> int:
    """Return what this process has of data already, in bytes: the part of RLIMIT_DATA that is not the program's."""
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return _UNKNOWN_MEMORY


def _lock_files_away(locks: Lockdown) -> bool:
    """Leave the host's namespaces and files; return whether files are really gone."""
    known = [os.__file__, __file__, sys.executable]
    preload.forget_places()
    locks.enter_namespaces()
    locks.give_up_privileges()
    locks.deny_files()
    return probe.file_layer_holds(known)


def _prove(locks: Lockdown, *, files_held: bool) -> dict[str, object]:
    facts: dict[str, object] = {
        "namespaces": locks.namespaces,
        "refused": locks.refused,
        "landlock": locks.landlock,
        "empty_root": locks.empty_root,
        "files_held": files_held,
        "uid": os.getuid(),
        "seccomp": True,
    }
    try:
        locks.filter_calls("zygote")
        facts["allowed"] = probe.probe_worker(locks, lambda: zygote.confine_worker(locks))
    except OSError as error:
        facts["seccomp"] = False
        facts["allowed"] = [f"a system call filter cannot be installed: {error}"]
    return facts
