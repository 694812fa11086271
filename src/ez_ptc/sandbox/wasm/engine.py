"""The WebAssembly engine with its component, ready to make instances in any thread.

Programs get no folder, environment, argument or socket. Clocks and random numbers are the host's. Waits without the
host end the instance, because nothing could interrupt them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.sandbox.wasm.cache import load_component
from ez_ptc.sandbox.wasm.component import Engine
from ez_ptc.sandbox.wasm.imports import Imports

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MAX_MEMORY", "WasmEngine"]

MAX_MEMORY = (4 << 30) - (1 << 16)
"""The maximum bytes of an instance's memory."""


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
