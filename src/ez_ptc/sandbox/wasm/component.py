"""The engine, and the component it compiles. Both live as long as the process: threads of instances use them."""

from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_void_p, string_at
from typing import TYPE_CHECKING, ClassVar

from ez_ptc.sandbox.wasm.bindings import Bytes, check, library, take_bytes

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Component", "Engine"]

# The guest's part of a thread's stack: beyond it, the instance ends. A thread with less would end this process.
_STACK = 32 << 20


class Engine:
    """Compiles components, and runs their instances."""

    maps_images: ClassVar[bool] = True
    """Whether instances share a component's memory until they write to it, instead of copying all of it."""

    def __init__(self) -> None:
        """Create an engine. Raises MissingExtraError without its library."""
        self.settings = f"epochs, {_STACK >> 20} MB of stack, {'mapped' if self.maps_images else 'copied'}"
        """What compiled components depend on, beside the engine's version and the machine."""
        self._library = library()
        config = self._library.wasm_config_new()
        self._library.wasmtime_config_epoch_interruption_set(config, True)  # noqa: FBT003 - a function in C
        # There is no pool of memories: programs would start no sooner, and each would keep 25 MB.
        self._library.wasmtime_config_memory_init_cow_set(config, self.maps_images)
        # The engine refuses the one if it exceeds the other, even where nothing is asynchronous.
        self._library.wasmtime_config_async_stack_size_set(config, _STACK + (1 << 20))
        self._library.wasmtime_config_max_wasm_stack_set(config, _STACK)
        self.pointer: int = self._library.wasm_engine_new_with_config(config)

    def advance_epoch(self) -> None:
        """Let every running instance look whether it is to stop."""
        self._library.wasmtime_engine_increment_epoch(self.pointer)

    def compile(self, content: bytes) -> Component:
        """Return the component, compiled for this machine. Raises EngineError if it is none."""
        pointer = c_void_p()
        check(self._library.wasmtime_component_new(self.pointer, content, len(content), byref(pointer)))
        return Component(self, pointer)

    def load(self, path: Path) -> Component:
        """Return the component that a file has in compiled form, which must be trusted. Raises EngineError."""
        pointer = c_void_p()
        check(self._library.wasmtime_component_deserialize_file(self.pointer, os.fsencode(path), byref(pointer)))
        return Component(self, pointer)


class Component:
    """A compiled component."""

    def __init__(self, engine: Engine, pointer: c_void_p) -> None:
        self._engine = engine
        self.pointer = pointer

    def serialize(self) -> bytes:
        """Return the compiled form."""
        code = Bytes()
        check(library().wasmtime_component_serialize(self.pointer, byref(code)))
        return take_bytes(code)

    def imports(self) -> list[str]:
        """Return the names of what it imports, with their versions."""
        of_component = library().wasmtime_component_type(self.pointer)
        name, size, item = c_void_p(), c_size_t(), c_void_p()
        names: list[str] = []
        for number in range(library().wasmtime_component_type_import_count(of_component, self._engine.pointer)):
            library().wasmtime_component_type_import_nth(
                of_component, self._engine.pointer, number, byref(name), byref(size), byref(item)
            )
            names.append(string_at(name.value or 0, size.value).decode())
        return names

    def find_export(self, name: bytes) -> int:
        """Return the index of an exported function."""
        return library().wasmtime_component_get_export_index(self.pointer, None, name, len(name))
