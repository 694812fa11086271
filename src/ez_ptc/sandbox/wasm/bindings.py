"""Functions of wasmtime offered by its Python package as generated bindings only.

They are no public interface, so wasmtime is pinned to one major version, and a test uses each of them.
"""

from __future__ import annotations

import ctypes
from ctypes import byref
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from wasmtime import Config, Store
    from wasmtime.component import LinkerInstance

__all__ = ["as_error", "call_during_epoch", "define_turn", "limit_memory", "set_stack", "watch_epochs"]

_SET_CALLBACK = "_wasmtime_store_epoch_deadline_callback"
_EPOCHS_AFTER_STOP = 1 << 40
_NO_FINALIZER: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()


def set_stack(config: Config, size: int) -> None:
    """Set the maximum bytes of stack of a program."""
    ffi = _load("_ffi")

    # The engine refuses the one if it exceeds the other, even where nothing is asynchronous.
    ffi.wasmtime_config_async_stack_size_set(config.ptr(), size + (1 << 20))
    config.max_wasm_stack = size


def limit_memory(store: Store, size: int) -> None:
    """Set the maximum bytes of an instance's memory; while it runs, call this in `turn` only."""
    ffi = _load("_ffi")

    unlimited = -1
    ffi.wasmtime_store_limiter(store.ptr(), size, unlimited, unlimited, unlimited, unlimited)


def define_turn(root: LinkerInstance, answer: Callable[[bytes, float], bytes]) -> object:
    """Define the component's import `turn`; the caller keeps the returned object as long as the linker.

    `answer` gets and returns UTF-8; an exception in it ends the instance.
    """
    ffi = _load("_ffi")

    bytes_pointer = ctypes.POINTER(ctypes.c_ubyte)

    @ffi.wasmtime_component_func_callback_t
    def turn(_data: Any, _context: Any, _type: Any, args: Any, _n: Any, results: Any, _m: Any) -> Any:  # noqa: ANN401 - these are C
        try:
            text = args[0].of.string
            received = answer(ctypes.string_at(text.data, text.size), args[1].of.f64)
            results[0].kind = ffi.WASMTIME_COMPONENT_STRING
            # A cast, because an array type of each length would have to be made.
            data = ctypes.cast(ctypes.c_char_p(received), bytes_pointer)
            ffi.wasm_byte_vec_new(byref(results[0].of.string), len(received), data)
        except BaseException as error:  # noqa: BLE001 - an exception must not leave a callback from C
            return as_error(f"{type(error).__name__} in the host")
        return 0

    name = b"turn"
    error = ffi.wasmtime_component_linker_instance_add_func(
        root.ptr(), ctypes.create_string_buffer(name), len(name), turn, None, _NO_FINALIZER
    )
    if error:
        message = "the engine does not accept the sandbox's function"
        raise RuntimeError(message)
    return turn


def watch_epochs(store: Store, act: Callable[[Any], Any]) -> object:
    """Call `act` at each epoch, in the midst of the program; the caller keeps the returned object as long as the store.

    `act` gets the engine's context, and returns 0 or, to end the instance, the result of `as_error`.
    """
    bindings = _load("_bindings")
    ffi = _load("_ffi")
    pointer: Any = ctypes.POINTER
    callback_type: Any = ctypes.CFUNCTYPE(
        ctypes.c_size_t,
        pointer(ffi.wasmtime_context_t),
        ctypes.c_void_p,
        pointer(ctypes.c_uint64),
        pointer(ffi.wasmtime_update_deadline_kind_t),
    )

    def on_epoch(context: Any, _data: Any, delta: Any, kind: Any) -> Any:  # noqa: ANN401 - these are pointers in C
        delta[0], kind[0] = 1, 0
        try:
            return act(context)
        except BaseException as error:  # noqa: BLE001 - as in `turn`
            return as_error(f"{type(error).__name__} in the host")

    callback = callback_type(on_epoch)
    getattr(bindings, _SET_CALLBACK)(store.ptr(), callback, None, _NO_FINALIZER)
    store.set_epoch_deadline(1)
    return callback


def call_during_epoch(context: Any, function: Any) -> bool:  # noqa: ANN401 - a pointer, and a Func
    """Call a function of the running instance, inside `watch_epochs`; return whether it succeeded."""
    ffi = _load("_ffi")

    # Otherwise the epochs of other instances would come here again meanwhile.
    ffi.wasmtime_context_set_epoch_deadline(context, _EPOCHS_AFTER_STOP)
    # Func's own call needs the store, which is in use.
    pointer = cast("dict[str, Any]", vars(function))["_func"]
    error = ffi.wasmtime_component_func_call(byref(pointer), context, None, 0, None, 0)
    return not error


def as_error(text: str) -> Any:  # noqa: ANN401 - a pointer
    """Return an error for the engine to own."""
    from wasmtime import WasmtimeError

    consume: Any = getattr(WasmtimeError(text), "_consume")  # noqa: B009 - the bindings' own way
    return ctypes.cast(consume(), ctypes.c_void_p).value


def _load(name: str) -> Any:  # noqa: ANN401 - a module without types
    return import_module(f"wasmtime.{name}")
