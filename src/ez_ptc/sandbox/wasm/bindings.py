"""The WebAssembly engine's library, by its C interface, as far as it is needed here.

The Python package that ships the library has bindings of its own. They are generated for all of the interface, so their
import takes longer than the first program; those for some of these functions are private; and each call goes through
Python code for values of any type. The interface is that of one major version, to which the package is pinned.
"""

from __future__ import annotations

import ctypes
import importlib.util
from ctypes import POINTER, byref, c_size_t, c_uint64, c_void_p
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ez_ptc._component import install_advice
from ez_ptc.errors import MissingExtraError, SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "LIST",
    "RECORD",
    "STRING",
    "U8",
    "U32",
    "U64",
    "Bytes",
    "Callback",
    "ComponentField",
    "ComponentFunction",
    "EngineError",
    "EpochCallback",
    "InstanceHandle",
    "Union",
    "Value",
    "as_error",
    "check",
    "guarded",
    "library",
    "take_bytes",
    "version",
]

# The kinds of values that are used.
U8, U32, U64, STRING, LIST, RECORD = 2, 6, 8, 12, 13, 14


class EngineError(Exception):
    """The engine refused something, or the program in an instance trapped."""


class Bytes(ctypes.Structure):
    """A text or bytes; their receiver is their owner."""

    _fields_: ClassVar = [("size", c_size_t), ("data", c_void_p)]


class Union(ctypes.Union):
    """What a value holds; it is as large as the largest kind."""

    _fields_: ClassVar = [
        ("u8", ctypes.c_uint8),
        ("u32", ctypes.c_uint32),
        ("u64", c_uint64),
        ("f64", ctypes.c_double),
        ("bytes", Bytes),
        ("elements", Bytes),
        ("whole", c_uint64 * 3),
    ]


class Value(ctypes.Structure):
    """An argument or result of a component's function."""

    _fields_: ClassVar = [("kind", ctypes.c_uint8), ("of", Union)]


class ComponentField(ctypes.Structure):
    """A field of a record."""

    _fields_: ClassVar = [("name", Bytes), ("value", Value)]


class ComponentFunction(ctypes.Structure):
    """A function of an instance."""

    _fields_: ClassVar = [("whole", c_uint64 * 4)]


class InstanceHandle(ctypes.Structure):
    """An instance in its store."""

    _fields_: ClassVar = [("whole", c_uint64 * 2)]


Callback: Any = ctypes.CFUNCTYPE(
    c_size_t, c_void_p, c_void_p, c_void_p, POINTER(Value), c_size_t, POINTER(Value), c_size_t
)
"""A function of the host: it returns 0, or an error for the engine to own."""
EpochCallback: Any = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_void_p, POINTER(c_uint64), POINTER(ctypes.c_uint8))
_bool, _text = ctypes.c_bool, ctypes.c_char_p
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "wasm_config_new": (c_void_p, ()),
    "wasm_engine_new_with_config": (c_void_p, (c_void_p,)),
    "wasm_byte_vec_new": (None, (POINTER(Bytes), c_size_t, _text)),
    "wasm_byte_vec_delete": (None, (POINTER(Bytes),)),
    "wasi_config_new": (c_void_p, ()),
    "wasmtime_config_async_stack_size_set": (None, (c_void_p, c_size_t)),
    "wasmtime_config_epoch_interruption_set": (None, (c_void_p, _bool)),
    "wasmtime_config_max_wasm_stack_set": (None, (c_void_p, c_size_t)),
    "wasmtime_config_memory_init_cow_set": (None, (c_void_p, _bool)),
    "wasmtime_engine_increment_epoch": (None, (c_void_p,)),
    "wasmtime_error_new": (c_void_p, (_text,)),
    "wasmtime_error_message": (None, (c_void_p, POINTER(Bytes))),
    "wasmtime_error_delete": (None, (c_void_p,)),
    "wasmtime_store_new": (c_void_p, (c_void_p, c_void_p, c_void_p)),
    "wasmtime_store_context": (c_void_p, (c_void_p,)),
    "wasmtime_store_delete": (None, (c_void_p,)),
    "wasmtime_store_limiter": (None, (c_void_p, *(ctypes.c_int64,) * 5)),
    "wasmtime_store_epoch_deadline_callback": (None, (c_void_p, EpochCallback, c_void_p, c_void_p)),
    "wasmtime_context_set_epoch_deadline": (None, (c_void_p, c_uint64)),
    "wasmtime_context_set_wasi": (c_void_p, (c_void_p, c_void_p)),
    "wasmtime_component_new": (c_void_p, (c_void_p, _text, c_size_t, POINTER(c_void_p))),
    "wasmtime_component_serialize": (c_void_p, (c_void_p, POINTER(Bytes))),
    "wasmtime_component_deserialize_file": (c_void_p, (c_void_p, _text, POINTER(c_void_p))),
    "wasmtime_component_get_export_index": (c_void_p, (c_void_p, c_void_p, _text, c_size_t)),
    "wasmtime_component_type": (c_void_p, (c_void_p,)),
    "wasmtime_component_type_import_count": (c_size_t, (c_void_p, c_void_p)),
    "wasmtime_component_type_import_nth": (
        _bool,
        (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_void_p)),
    ),
    "wasmtime_component_linker_new": (c_void_p, (c_void_p,)),
    "wasmtime_component_linker_allow_shadowing": (None, (c_void_p, _bool)),
    "wasmtime_component_linker_add_wasip2": (c_void_p, (c_void_p,)),
    "wasmtime_component_linker_root": (c_void_p, (c_void_p,)),
    "wasmtime_component_linker_instantiate": (c_void_p, (c_void_p, c_void_p, c_void_p, POINTER(InstanceHandle))),
    "wasmtime_component_linker_instance_add_instance": (c_void_p, (c_void_p, _text, c_size_t, POINTER(c_void_p))),
    "wasmtime_component_linker_instance_add_func": (
        c_void_p,
        (c_void_p, _text, c_size_t, Callback, c_void_p, c_void_p),
    ),
    "wasmtime_component_linker_instance_delete": (None, (c_void_p,)),
    "wasmtime_component_instance_get_func": (
        _bool,
        (POINTER(InstanceHandle), c_void_p, c_void_p, POINTER(ComponentFunction)),
    ),
    "wasmtime_component_func_call": (
        c_void_p,
        (POINTER(ComponentFunction), c_void_p, c_void_p, c_size_t, c_void_p, c_size_t),
    ),
    "wasmtime_component_vallist_new": (None, (POINTER(Bytes), c_size_t, c_void_p)),
    "wasmtime_component_valrecord_new": (None, (POINTER(Bytes), c_size_t, c_void_p)),
}


def _find_package() -> Path:
    spec = importlib.util.find_spec("wasmtime")
    if spec is None or spec.origin is None:
        message = f"wasmtime is not installed. What to do: {install_advice()}"
        raise MissingExtraError(message)
    return Path(spec.origin).parent


@cache
def library() -> Any:  # noqa: ANN401 - functions in C
    """Return the engine's library.

    Raises MissingExtraError if it is not installed, and SandboxError if what is installed is not for this machine.
    """
    try:
        # A wheel is for one system, and has one library.
        loaded = ctypes.CDLL(str(next(_find_package().glob("*-*/*wasmtime.*"))))
    except (StopIteration, OSError) as error:
        message = f"the library of wasmtime cannot be loaded: {error}; install wasmtime again, for this platform"
        raise SandboxError(message) from error
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def version() -> str:
    """Return the version of the engine's package."""
    # As importlib.metadata finds it, which takes thirty milliseconds to import.
    package = _find_package()
    installed = [path.name for path in package.parent.glob("wasmtime-*.dist-info")]
    if len(installed) == 1:
        return installed[0].removeprefix("wasmtime-").removesuffix(".dist-info")
    from importlib import metadata

    return metadata.version("wasmtime")


def check(error: int | None) -> None:
    """Raise EngineError if there is an error, which is then deleted."""
    if not error:
        return
    text = Bytes()
    library().wasmtime_error_message(error, byref(text))
    library().wasmtime_error_delete(error)
    raise EngineError(take_bytes(text).decode(errors="replace"))


def as_error(text: str) -> int:
    """Return an error for the engine to own."""
    return library().wasmtime_error_new(text.encode())


def take_bytes(text: Bytes) -> bytes:
    """Return the engine's bytes, and delete them there."""
    content = ctypes.string_at(text.data, text.size)
    library().wasm_byte_vec_delete(byref(text))
    return content


def guarded(act: Callable[..., int | None]) -> Callable[..., int]:
    """Return the function with its exceptions as errors of the engine: none may leave a callback from C."""

    def call(*args: Any) -> int:
        try:
            return act(*args) or 0
        except BaseException as error:  # noqa: BLE001 - see above
            return as_error(f"{type(error).__name__} in the host")

    return call
