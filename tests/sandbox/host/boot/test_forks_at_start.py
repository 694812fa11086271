"""A process that forks while another thread of it is starting a process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from ez_ptc._sync import Threads, start_in_thread
from ez_ptc.sandbox.host.boot.interpreter import describe_interpreter
from ez_ptc.sandbox.host.boot.start import ZygoteSettings
from ez_ptc.sandbox.host.packages import find_packages
from ez_ptc.sandbox.host.zygote import boot_zygote


def boot() -> bool:
    zygote = boot_zygote(ZygoteSettings(packages=find_packages(()), python=None))
    zygote.close()
    return zygote.report.sufficient


class Start:
    """Stops the thread that starts a process where it has opened the pipe for errors of the start, for a moment."""

    def __init__(self) -> None:
        self.inside = threading.Event()
        self.forked = threading.Event()

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401 - as `sys.settrace` has it
        del event, argument
        return self._trace_line if frame.f_code.co_name == "_execute_child" else None

    def _trace_line(self, frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401 - as `sys.settrace` has it
        del event, argument
        if "errpipe_write" in frame.f_locals and not self.inside.is_set():
            self.inside.set()
            # A fork that waits for the start comes after it.
            self.forked.wait(0.3)
        return self._trace_line

    def run(self, function: Callable[[], object]) -> object:
        """Call a function in this thread, whose starts of processes are stopped."""
        sys.settrace(self.trace)
        try:
            return function()
        finally:
            sys.settrace(None)


# Python 3.12 warns of it.
@pytest.mark.filterwarnings("ignore:.* is multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize(
    "function",
    [boot, lambda: describe_interpreter(sys.executable).startswith("CPython")],
    ids=["sandbox", "interpreter"],
)
def test_fork_in_the_middle_of_a_start_delays_nothing(function: Callable[[], object]) -> None:
    start = Start()
    started = start_in_thread(Threads().start, start.run, function)
    assert start.inside.wait(30)
    pid = os.fork()
    if not pid:
        signal.pause()
        os._exit(0)
    try:
        start.forked.set()
        assert started.result(20)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
