"""The portable backend: each program runs in an instance of CPython in WebAssembly, in this process."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, cast

from ez_ptc._component import COMPONENT_PYTHON, find_component_problem, install_advice, require_component
from ez_ptc._forks import on_fork
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.sandbox.host.backend import PooledSandbox
from ez_ptc.sandbox.host.workers.capacity import Capacity
from ez_ptc.sandbox.protocol.isolation import Layer, Report
from ez_ptc.sandbox.wasm.cache import cache_folder
from ez_ptc.sandbox.wasm.driver import InstanceRunner
from ez_ptc.sandbox.wasm.maker import REPORT, InstanceMaker
from ez_ptc.telemetry.metrics import boot_measured

if TYPE_CHECKING:
    from pathlib import Path

    from ez_ptc.sandbox.host.boot.maker import WorkerMaker
    from ez_ptc.sandbox.wasm.store import WasmEngine

__all__ = ["WasmSandbox", "report_component"]


@explain_calls(checks="code")
class WasmSandbox(PooledSandbox):
    """Runs each program in an instance of its own, on every system that wasmtime supports.

    Use it as a context manager or call `close()` to end its instances.
    """

    python = COMPONENT_PYTHON

    def __init__(
        self,
        *,
        ready: int = 2,
        running: int = 64,
        waiting: int = 1_000,
        patience: float = 60.0,
        paused: float = 60.0,
        cache: Path | None = None,
    ) -> None:
        """Create a sandbox. The first program loads the component; on a machine's first use, that compiles it.

        Args:
            ready: Instances (5 MB each) to keep ready; more for a while after bursts.
            running: Programs that may run at a time; others wait.
            waiting: Programs that may wait; further ones raise Overloaded.
            patience: Maximum seconds to wait; then the program raises Overloaded.
            paused: Seconds to keep the instance of a paused program, which then resumes at once. Later, and with 0, it
                is run again from the journal.
            cache: The folder for the compiled component, by default one in this user's cache, or, if others may write
                there, one of the user's own beside temporary files.

        Raises:
            ValueError: A number is out of range.
        """
        capacity = Capacity(ready=ready, running=running, waiting=waiting, seconds=patience)

        @functools.cache
        def folder() -> Path:
            return cache or cache_folder()

        def boot() -> WorkerMaker:
            # Its instances have the methods of a handle.
            with boot_measured():
                return cast("WorkerMaker", InstanceMaker(_engines.find(folder())))

        def require() -> None:
            require_component()
            # Before callers queue: on a machine's first use, it takes longer than they may wait.
            _engines.find(folder())

        super().__init__(boot, capacity, require=require, runner=InstanceRunner, paused=paused)


def report_component() -> Report:
    """Return the isolation of programs in WebAssembly, or what is missing."""
    problem = find_component_problem()
    if problem is None:
        return REPORT
    missing = Layer(name="WebAssembly", required=True, held=False, detail=str(problem), advice=install_advice())
    return Report((missing,), "wasm")


class _Engines:
    """The engines of this process, one for each cache folder; loaded on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engines: dict[Path, WasmEngine] = {}
        on_fork(self, _Engines._after_fork)

    def _after_fork(self) -> None:
        """Load others in a fork of the host: a thread that is gone may hold a lock of these."""
        self._lock = threading.Lock()
        self._engines = {}

    def find(self, folder: Path) -> WasmEngine:
        """Return the engine with the cache folder `folder`. Raises SandboxError if it cannot be loaded."""
        from ez_ptc_wasm import COMPONENT, DIGEST

        from ez_ptc.sandbox.wasm.store import WasmEngine

        with self._lock:
            engine = self._engines.get(folder)
            if engine is None:
                digest = DIGEST.read_text(encoding="ascii").strip()
                engine = self._engines[folder] = WasmEngine(COMPONENT, digest, folder)
            return engine


_engines = _Engines()
