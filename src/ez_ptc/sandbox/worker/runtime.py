"""One program from its run frame to its done frame."""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures.thread
import importlib
import json
import math
import re
import resource
import signal
import sys
import threading
import types
from typing import TYPE_CHECKING, NoReturn, cast

from . import strands, values
from .aio import settle
from .program import SETTLE, compile_program, run_compiled
from .records import Record
from .report import describe
from .streams import Output
from .stubs import ToolError, Tools
from .wire import Link

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["Runtime", "forbid_imports", "new_link", "replace_builtins"]

_REPORT_MEMORY = 48 << 20
"""Memory kept back from the program, so that running out of it can still be reported."""


def new_link(receive_fd: int, send_fd: int) -> Link:
    """Return a link whose replies' dicts are records."""
    return Link(receive_fd, send_fd, values.reader(Record))


class Runtime:
    """Runs one program for the host at the other end of ``link``.

    What does not depend on the program is set up when it is made, before anybody waits.
    """

    def __init__(self, link: Link, base_memory: int) -> None:
        self._link = link
        self._base_memory = base_memory
        self._running = False
        self._messages: dict[str, str] = {}
        self._output = Output(link)
        self._output.install()
        self._tools = Tools(link, self._output.flush)
        builtins = sys.modules["builtins"]
        vars(builtins)["parallel"] = self._tools.parallel
        self._namespace: dict[str, object] = {"__name__": "__main__", "__builtins__": builtins, SETTLE: settle}
        strands.begin()
        signal.signal(signal.SIGALRM, self._stop)
        signal.signal(signal.SIGXCPU, self._stop)

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        """Raise TimeoutError in the program."""
        del frame
        if not self._running:
            return
        if self._link.mid_frame:
            # A torn frame would cost the result: come back when it is written.
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            return
        self._tools.closed = error = TimeoutError(self._messages["cpu" if signum == signal.SIGXCPU else "timeout"])
        raise error

    def serve(self, *, limit: bool = True) -> None:
        """Take one run frame, run it, send its done frame. Raises HostGoneError when nobody asks any more."""
        frame = self._link.receive()
        limits = cast("dict[str, int]", frame["limits"])
        self._messages = cast("dict[str, str]", frame["messages"])
        self._link.room = limits["outstanding"]
        self._link.most = limits["frame"]
        self._output.left = limits["output"]
        self._tools.most = limits["calls"]
        self._namespace.update(self._tools.functions(cast("list[list[object]]", frame["tools"])))
        if limit:
            self._limit(limits)
        done = self._run(cast("str", frame["code"]))
        self._release_memory()
        self._tools.closed = RuntimeError("the program is over")
        try:
            self._output.flush()
        except Exception as error:  # noqa: BLE001 - foreign code: a program may have put its own things there
            done.setdefault("error", describe(error, {}, {})[0])
        done["dropped"] = self._output.dropped
        self._finish(done, limits["frame"])

    def _limit(self, limits: dict[str, int]) -> None:
        memory = self._base_memory + limits["memory"]
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory + _REPORT_MEMORY))
        if limits["cpu"]:
            resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu"], limits["cpu"] + 1))

    def _release_memory(self) -> None:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))

    def _run(self, text: str) -> dict[str, object]:
        try:
            self._running = True
            code = compile_program(text)
            value = run_compiled(code, self._namespace)
            _wait_for_threads()
            self._running = False
        except BaseException as error:  # noqa: BLE001 - foreign code: whatever a program raises is its result
            self._running = False
            self._release_memory()
            return self._failure(error)
        try:
            return {"t": "done", "value": values.encode(value)}
        except Exception as error:  # noqa: BLE001 - foreign code: a value's own methods may do anything
            message = f"TypeError: the value of the program's last expression: {error}"
            return {"t": "done", "error": message, "trace": message + "\n", "kind": "error"}

    def _failure(self, error: BaseException) -> dict[str, object]:
        if isinstance(error, SystemExit) and error.code in {None, 0}:
            return {"t": "done", "value": None}
        kind = "memory" if isinstance(error, MemoryError) else "error"
        try:
            line, trace = describe(error, self._tools.signatures, self._namespace)
        except MemoryError:
            line, trace = "MemoryError", "MemoryError\n"
        return {"t": "done", "error": line, "trace": trace, "kind": kind}

    def _finish(self, done: dict[str, object], most: int) -> None:
        try:
            body = values.dumps(done)
            if len(body) > most:
                message = (
                    f"TypeError: the last expression's value has {len(body):,} bytes; at most {most:,} can be returned"
                )
                body = values.dumps({"t": "done", "error": message, "trace": message, "kind": "error", "dropped": 0})
        except (MemoryError, ValueError) as error:
            message = f"{type(error).__name__}: the value of the program's last expression is too large to cross"
            body = values.dumps({"t": "done", "error": message, "trace": message, "kind": "error", "dropped": 0})
        self._link.send_body(body)


def _wait_for_threads() -> None:
    """Wait for the threads that CPython would wait for at the end of a program."""
    if threading.active_count() == 1:
        return
    shut_down = getattr(concurrent.futures.thread, "_python_exit", None)
    if shut_down is not None:
        shut_down()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


class _NoImport:
    """The last finder asked: what is not loaded by now cannot be, and a model should know why."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> NoReturn:
        del path, target
        message = (
            f"No module named {name!r}: programs can import the standard library, without files, network and processes"
        )
        raise ModuleNotFoundError(message, name=name)


def replace_builtins() -> None:
    """Give programs a module of built-ins of their own, with the names that are there without an import.

    What a program changes in it does not change what this runtime and the standard library see.
    """
    names = {"json": json, "math": math, "re": re, "asyncio": asyncio, "ToolError": ToolError}
    own = types.ModuleType("builtins", builtins.__doc__)
    vars(own).update(vars(builtins) | names)
    sys.modules["builtins"] = own


def forbid_imports() -> None:
    """Leave only what is loaded importable; called once everything that programs may import is."""
    sys.meta_path[:] = [_NoImport]
    sys.path[:] = []
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()
