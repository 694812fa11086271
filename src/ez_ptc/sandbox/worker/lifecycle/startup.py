"""Zygote startup: import everything, lock down, prove the isolation, serve."""

from __future__ import annotations

import _socket
import array
import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import sys
from typing import TYPE_CHECKING

from ...check import report
from ...protocol.both_ends.control import Booted, BootFailed, PackagesFailed, encode
from ..boot import end_with_host
from ..kernel.platform import measure_memory
from ..running import async_support, call_paths, pictures, recursion, runtime
from . import packages, preload, probe, zygote
from .lockdown import Lockdown

if TYPE_CHECKING:
    from ..stdlib import Modules
    from .extension import WorkerSource

__all__ = ["main", "share_page_tables"]

# The minimum of data, in addition to this process's own, to run a program and to report that it ran out of memory.
_LEAST_MEMORY = 96 << 20


def main(control_fd: int, modules: Modules) -> None:
    """Boot, and serve until the host closes its end of the control socket.

    The started process stays outside the namespaces and waits, so that either side sees the other's death.
    """
    control = _socket.socket(fileno=control_fd)
    has_fixed_addresses = bool(sys.argv[4])
    try:
        is_forked = _load(modules, control)
        extension = _load_extension(sys.argv[3])
        locks, base_memory = _prepare(_folder(), modules, extension)
        files_held = _lock_files_away(locks, _folder())
        if is_forked:
            # The end of the started process ends everything. A later change of ids would undo this.
            locks.die_with_parent()
    except packages.PackageError as error:
        control.send(encode(PackagesFailed(str(error))))
        return
    except OSError as error:
        control.send(encode(BootFailed(str(error))))
        return
    server = zygote.Zygote(control, locks, base_memory, extension=extension, are_alike=has_fixed_addresses)
    # Without a collection before: later allocations would fill its holes, and copy their pages in every worker.
    gc.freeze()
    gc.enable()
    try:
        pid = os.fork()
    except OSError as error:
        control.send(encode(BootFailed(_no_process_reason(error))))
        return
    if pid:
        control.close()
        os.waitpid(pid, 0)
        return
    locks.die_with_parent()
    end_with_host(control_fd, now=False)
    _serve(control, locks, server, extension, files_held=files_held)
    os._exit(0)


def _serve(
    control: _socket.socket, locks: Lockdown, server: zygote.Zygote, extension: WorkerSource | None, *, files_held: bool
) -> None:
    """Confine this process, report what holds, and serve if everything required does."""
    locks.limit_resources()
    try:
        if locks.readable is not None:
            files_held = files_held and probe.holds_in_fork(locks.deny_all_files)
        facts, subject = _prove(locks, server, extension, files_held=files_held)
    except OSError as error:
        control.send(encode(BootFailed(_no_process_reason(error))))
        return
    # The host reports problems; standard error is for an interpreter that does not get this far.
    rights = [] if subject is None else [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [subject]))]
    control.sendmsg([encode(Booted(facts))], rights)
    if subject is not None:
        os.close(subject)
    os.dup2(0, 2)
    if facts["seccomp"] and facts["pidfds"] and not (facts["allowed"] or facts["extension"]) and files_held:
        server.serve()


def _load(modules: Modules, control: _socket.socket) -> bool:
    """Load the packages for programs; return whether booting continues in a fork of this process.

    It does if packages have started threads, because only a single-threaded process can be confined. This process then
    waits for the end of its fork, and exits.
    """
    preload.preload(modules.shelf)
    if not _read_packages()[0]:
        return False
    # Imported only with packages, because every fork would copy what it imports.
    from . import data_files

    os.environ.update(pictures.ENVIRONMENT)
    with data_files.empty_home(), pictures.no_timers():
        packages.load_packages(modules, *_read_packages())
        pictures.prepare()
    _, places, needed = _read_packages()
    data_files.keep_files(modules.shelf, packages.homes((), places) + packages.homes_of(needed))
    if not packages.has_threads():
        return False
    pid = os.fork()
    if pid:
        control.close()
        os.waitpid(pid, 0)
        os._exit(0)
    end_with_host(control.fileno(), now=True)
    return True


def _no_process_reason(error: OSError) -> str:
    limits = "RLIMIT_NPROC, or pids.max of its cgroup"
    return f"no process can be started beside the first ({error.strerror}: {limits})"


def _folder() -> str:
    """Return the folder that has all of ours, computed on each use, because programs can inspect every frame."""
    return os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0])))


def _read_packages() -> tuple[list[str], list[str], list[str]]:
    """Return the packages for programs, the folders to find them in, and the modules they need."""
    names, places, needed, _ = json.loads(sys.argv[2])
    return names, places, needed


def _load_extension(name: str) -> WorkerSource | None:
    """Return the extension in the folder of this name, or None without a name. Raises OSError if it cannot work."""
    if not name:
        return None
    package = __name__.partition(".")[0]
    return importlib.import_module(f"{package}.{name}.zygote.extension").ZygoteExtension()


def _prepare(folder: str, modules: Modules, extension: WorkerSource | None) -> tuple[Lockdown, int]:
    modules.close()
    filters, readable = {"zygote": "zygote", "worker": "packages" if _read_packages()[0] else "worker"}, None
    if extension is not None:
        filters, readable = filters | extension.filters, extension.readable
    locks = Lockdown(f"{folder}/worker/lifecycle/filters", filters, readable=readable)
    # The kernel kills workers first if memory is short; without /proc, only this is lost.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    share_page_tables()
    call_paths.install()
    async_support.install()
    recursion.install()
    report.install(_read_packages()[0])
    runtime.replace_builtins()
    base_memory = measure_memory()
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if resource.RLIM_INFINITY != most < base_memory + _LEAST_MEMORY:
        needed, there = (base_memory + _LEAST_MEMORY) >> 20, most >> 20
        message = f"RLIMIT_DATA leaves no memory for programs: it is {there} MB at most, and must be {needed} MB"
        raise OSError(message)
    return locks, base_memory


def _lock_files_away(locks: Lockdown, folder: str) -> bool:
    """Leave the host's namespaces and files; return whether the files are really inaccessible."""
    known = [os.__file__, f"{folder}/worker/lifecycle/startup.py", sys.executable]
    *_, keeps_user = json.loads(sys.argv[2])
    locks.forget_environment()
    locks.take_name()
    preload.forget_places(folder, *_read_packages()[:2])
    locks.enter_namespaces(keep_user=keeps_user)
    locks.give_up_privileges()
    if locks.readable is not None:
        locks.deny_files(but=locks.readable)
        # The rest is tried in a fork that has denied itself that folder, as workers do.
        return probe.file_layer_holds(known, ())
    locks.deny_files()
    return probe.file_layer_holds(known)


def _prove(
    locks: Lockdown, server: zygote.Zygote, extension: WorkerSource | None, *, files_held: bool
) -> tuple[dict[str, object], int | None]:
    """Return what actually holds, and the pidfd of a confined process that the host is to end.

    Raises OSError if no process can be forked to try it in.
    """
    subject: int | None = None
    facts: dict[str, object] = {
        "namespaces": locks.namespaces,
        "refused": locks.refused,
        "landlock": locks.landlock,
        "empty_root": locks.empty_root,
        "files_held": files_held,
        "uid": locks.uid,
        "pidfds": probe.pidfds_work(),
        "seccomp": True,
    }
    try:
        locks.filter_calls()
    except OSError as error:
        facts["seccomp"] = False
        facts["allowed"] = [f"a system call filter cannot be installed: {error}"]
    else:
        facts["allowed"], subject = probe.probe_worker(locks, server.make_worker)
    facts["extension"] = ""
    if extension is not None and facts["seccomp"] and files_held and not facts["allowed"]:
        facts["extension"] = extension.find_problem()
    return facts, subject


def share_page_tables() -> None:
    """Have the interpreter's and the C library's page tables copied by forks. Without `/proc`, only time is lost.

    A fork copies the page tables of a private mapping only if one of its pages was written to. The code of the
    interpreter and of the C library is never written to, so each worker would find it again in some fifty faults. One
    byte of each of these mappings is therefore written over with itself, which needs no writable mapping: the kernel
    copies the page, as it does for a debugger that sets a breakpoint.
    """
    functions = (ctypes.pythonapi.PyErr_Occurred, ctypes.CDLL(None).fork)
    inside = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
    # The start, the end and the file of each read-only mapping.
    mappings: list[tuple[int, int, str]] = []
    with contextlib.suppress(OSError):
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                addresses, rights, _, device, inode = line.split(None, 5)[:5]
                if inode != "0" and rights.startswith("r-") and rights.endswith("p"):
                    start, end = (int(address, 16) for address in addresses.split("-"))
                    mappings.append((start, end, f"{device} {inode}"))
        files = {file for start, end, file in mappings for address in inside if start <= address < end}
        memory = os.open("/proc/self/mem", os.O_RDWR)
        try:
            for start, _, file in mappings:
                if file in files:
                    os.pwrite(memory, os.pread(memory, 1, start), start)
        finally:
            os.close(memory)
