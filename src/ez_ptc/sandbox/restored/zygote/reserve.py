"""Memory that is mapped before any program runs, because a worker whose mappings change is not restored."""

from __future__ import annotations

import ctypes

__all__ = ["reserve_memory"]

# mallopt: the C library's allocator grows its heap in large steps, uses it for large blocks, and never shrinks it.
_OPTIONS = {-1: 1 << 30, -2: 4 << 20, -3: 4 << 20}
_HEAP_BYTES = 2 << 20
# The largest objects that Python's own allocator has arenas for.
_OBJECT_BYTES = 512 - b"".__sizeof__()
_OBJECTS = 4 << 11
# Each arena, of 1 MB, stays mapped as long as one object is in it.
_OBJECTS_PER_ANCHOR = 1 << 10


def reserve_memory() -> None:
    """Grow the heaps of Python and of the C library, and have them stay."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        for option, value in _OPTIONS.items():
            libc.mallopt(option, value)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = (ctypes.c_void_p,)
    libc.free(libc.malloc(ctypes.c_size_t(_HEAP_BYTES)))
    objects = [bytes(_OBJECT_BYTES) for _ in range(_OBJECTS)]
    for anchor in objects[::_OBJECTS_PER_ANCHOR]:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(anchor))
