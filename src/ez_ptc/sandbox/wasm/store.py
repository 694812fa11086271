"""The WebAssembly engine with its component, and the store of one instance, which one thread uses.

Programs get no folder, environment, argument or socket. Clocks and random numbers are the host's. Waits without the
host end the instance, because nothing could interrupt them.
"""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, Any

from ez_ptc.sandbox.wasm.bindings import (
    ComponentFunction,
    EpochCallback,
    InstanceHandle,
    as_error,
    check,
    guarded,
    library,
)
from ez_ptc.sandbox.wasm.cache import load_component
from ez_ptc.sandbox.wasm.component import Engine
from ez_ptc.sandbox.wasm.imports import Imports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["MAX_MEMORY", "InstanceStore", "WasmEngine"]


class WasmEngine:
    """An engine and its component."""

    def __init__(self, component: Path, digest: str, folder: Path) -> None:
        """Load a component with a SHA-256 digest, compiled in a cache folder.

        Raises MissingExtraError without wasmtime, and SandboxError if the component cannot be loaded.
        """
        self.engine = Engine()
        self.component = load_component(self.engine, component, digest, folder)
        self.imports = Imports(self.engine, self.component)
        self.serve_index = self.component.find_export(b"serve")
        self.stop_index = self.component.find_export(b"stop")


MAX_MEMORY = (4 << 30) - (1 << 16)
"""The maximum bytes of an instance's memory."""

_EPOCHS_AFTER_STOP = 1 << 40
_UNLIMITED = -1


class InstanceStore:
    """An instance, with its memory, limits and functions; it must be closed."""

    def __init__(self, engine: WasmEngine, on_epoch: Callable[[InstanceStore], bool]) -> None:
        """Instantiate the engine's component. At each epoch, `on_epoch` says whether the program may go on.

        Raises EngineError if the component cannot be instantiated.
        """
        self._library = library()
        self._on_epoch = on_epoch
        self._pointer: int = self._library.wasmtime_store_new(engine.engine.pointer, None, None)
        self._context: int = self._library.wasmtime_store_context(self._pointer)
        self._callback = EpochCallback(guarded(self._act))
        self._library.wasmtime_store_epoch_deadline_callback(self._pointer, self._callback, None, None)
        self._library.wasmtime_context_set_epoch_deadline(self._context, 1)
        check(self._library.wasmtime_context_set_wasi(self._context, self._library.wasi_config_new()))
        instance = InstanceHandle()
        error = self._library.wasmtime_component_linker_instantiate(
            engine.imports.linker, self._context, engine.component.pointer, byref(instance)
        )
        if error:
            self.close()
            check(error)
        self._serve, self._stop = ComponentFunction(), ComponentFunction()
        for index, function in ((engine.serve_index, self._serve), (engine.stop_index, self._stop)):
            self._library.wasmtime_component_instance_get_func(byref(instance), self._context, index, byref(function))

    def serve(self) -> None:
        """Run programs until the host is gone. Raises EngineError if the instance traps."""
        check(self._library.wasmtime_component_func_call(byref(self._serve), self._context, None, 0, None, 0))

    def stop(self) -> bool:
        """Call the guest's function `stop` in the midst of its program, within `on_epoch`; return whether it worked."""
        # Otherwise the epochs of other instances would come here again meanwhile.
        self._library.wasmtime_context_set_epoch_deadline(self._context, _EPOCHS_AFTER_STOP)
        error = self._library.wasmtime_component_func_call(byref(self._stop), self._context, None, 0, None, 0)
        if error:
            self._library.wasmtime_error_delete(error)
        return not error

    def limit_memory(self, size: int) -> None:
        """Set the maximum bytes of memory; while the instance runs, call this in `turn` only."""
        self._library.wasmtime_store_limiter(self._pointer, size, *(_UNLIMITED,) * 4)

    def close(self) -> None:
        """Delete the instance."""
        self._library.wasmtime_store_delete(self._pointer)

    def _act(self, _context: Any, _data: Any, delta: Any, kind: Any) -> int:  # noqa: ANN401 - these are pointers in C
        delta[0], kind[0] = 1, 0
        return 0 if self._on_epoch(self) else as_error("ended by its host")
