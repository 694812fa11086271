"""Detecting processes that cannot host a sandbox, before anything is started."""

from __future__ import annotations

import importlib.util
import os
import select
import signal
import socket
import sys

from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.protocol.isolation import Layer, Report

__all__ = ["MARK", "report_platform", "require_host"]

# An environment variable set only in a sandbox's interpreter.
MARK = "EZ_PTC_INSIDE_SANDBOX"

_SYSTEMS = {"darwin": "macOS", "win32": "Windows", "cygwin": "Cygwin", "emscripten": "a web browser", "wasi": "WASI"}
_IN_LINUX = (
    "run this in Linux, for example in a container, in a virtual machine or, on Windows, in WSL 2; conversations and "
    "tools that a model calls one at a time need no sandbox, and work here"
)
_NEWER = "use a CPython that was built for Linux 5.3 or later"
_FUNCTIONS = {
    "os": ("fork", "pidfd_open", "sched_getaffinity"),
    "select": ("poll",),
    "signal": ("pidfd_send_signal", "pthread_sigmask"),
    "socket": ("AF_UNIX", "SOCK_SEQPACKET", "CMSG_LEN", "MSG_CMSG_CLOEXEC"),
}
_MODULES = {"os": os, "select": select, "signal": signal, "socket": socket}
_PATCHERS = {"gevent": ("gevent.monkey", "is_module_patched"), "eventlet": ("eventlet.patcher", "is_monkey_patched")}
_UNPATCHED = ("_thread", "threading", "thread", "queue", "socket", "select", "subprocess")


def require_host() -> None:
    """Return if this process can start a sandbox.

    Raises:
        IsolationUnavailableError: The operating system is not Linux, or this Python lacks a part of its interface.
        SandboxError: gevent or eventlet has patched this process, or it is itself a sandbox's interpreter.
    """
    for patcher, (module, function) in _PATCHERS.items():
        if module not in sys.modules:
            continue
        is_patched = getattr(sys.modules[module], function)
        patched = [name for name in _UNPATCHED if is_patched(name)]
        if patched:
            message = (
                f"expected an unpatched standard library, but {patcher} has patched {', '.join(patched)} in this "
                f"process, and a sandbox would hang in it: run programs in another process, one that {patcher} does "
                "not patch"
            )
            raise SandboxError(message)
    if MARK in os.environ:
        message = (
            f"expected a Python interpreter, but the sandbox of another process has started this application as one: "
            f"name the interpreter there, as in ProcessSandbox(python='/usr/bin/python3') ({MARK} is set)"
        )
        raise SandboxError(message)
    report = report_platform()
    if report is not None:
        report.require()


def report_platform() -> Report | None:
    """Return a report of what this platform lacks, or None if a sandbox can be tried."""
    if sys.platform != "linux":
        name = _SYSTEMS.get(sys.platform, sys.platform)
        return _lacking(f"expected Linux, whose kernel isolates programs, got {name}", _IN_LINUX)
    missing = [name for name in ("fcntl", "resource") if importlib.util.find_spec(name) is None]
    for module, names in _FUNCTIONS.items():
        missing += [f"{module}.{name}" for name in names if not hasattr(_MODULES[module], name)]
    if missing:
        return _lacking(f"this Python has no {', '.join(missing)}", _NEWER)
    return None


def _lacking(detail: str, advice: str) -> Report:
    return Report((Layer(name="operating system", required=True, held=False, detail=detail, advice=advice),))
