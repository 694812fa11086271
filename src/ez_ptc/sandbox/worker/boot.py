"""The first file of the zygote, started by path with an empty environment: import, lock down, prove it, serve.

Arguments: the descriptor of the control socket. Nothing of ez_ptc outside this folder is ever imported here.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import socket
import sys


def _load_package() -> None:
    """Make this folder importable as a package, without making the folder above it visible."""
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not loaded yet
    spec = importlib.util.spec_from_file_location("ez_worker", f"{folder}/__init__.py", submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ez_worker"] = module
    spec.loader.exec_module(module)


def _base_memory() -> int:
    """Return what this process has of data already, in bytes: the part of RLIMIT_DATA that is not the program's."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123 - as above
            for line in file:
                if line.startswith("VmData:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 64 << 20


def main(control: socket.socket) -> None:
    """Boot and serve until the host closes ``control``."""
    from ez_worker import aio, lockdown, preload, probe, runtime, strands, zygote  # noqa: PLC0415

    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as above
    try:
        preload.preload()
        locks = lockdown.Lockdown(f"{folder}/filters")
        own_files = [os.__file__, __file__, sys.executable]
        try:
            with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123 - as above
                file.write("1000")
        except OSError:
            locks.refused["oom_score_adj"] = "no /proc"
        strands.install()
        aio.install()
        runtime.forbid_imports()
        base_memory = _base_memory()
        preload.forget_places()
        locks.enter_namespaces()
        locks.give_up_privileges()
        locks.deny_files()
        files_held = probe.file_layer_holds(own_files)
    except OSError as error:
        control.send(f"E{error}".encode())
        return
    gc.collect()
    gc.freeze()
    pid = os.fork()
    if pid:
        _wait_outside(control, pid)
        return
    locks.die_with_parent()
    _serve_inside(control, locks, files_held=files_held, base_memory=base_memory)


def _wait_outside(control: socket.socket, pid: int) -> None:
    """Stay as the parent, so that the death of either side is seen by the other."""
    control.close()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.waitpid(pid, 0)


def _serve_inside(control: socket.socket, locks: object, *, files_held: bool, base_memory: int) -> None:
    from ez_worker import probe, zygote  # noqa: PLC0415

    facts: dict[str, object] = {
        "machine": locks.machine,
        "namespaces": locks.namespaces,
        "refused": locks.refused,
        "landlock": locks.landlock,
        "empty_root": locks.empty_root,
        "files_held": files_held,
        "uid": os.getuid(),
        "python": sys.version.split()[0],
    }
    server = zygote.Zygote(control, locks, base_memory)
    try:
        locks.filter_calls("zygote")
        facts["allowed"] = probe.probe_worker(locks, lambda: zygote.confine_worker(locks))
        facts["seccomp"] = True
    except OSError as error:
        facts["seccomp"] = False
        facts["allowed"] = [f"install a system call filter: {error}"]
    zygote.report(control, "R", facts)
    if facts["seccomp"] and not facts["allowed"] and files_held:
        server.serve()
    os._exit(0)


if __name__ == "__main__":
    _load_package()
    main(socket.socket(fileno=int(sys.argv[1])))
