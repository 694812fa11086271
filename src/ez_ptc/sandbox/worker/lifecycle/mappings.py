"""Mappings copied to forks with their page tables, instead of a page fault for every few pages.

A fork copies the page tables of a private mapping only if one of its pages was written to. The code of the interpreter
and of the C library is never written to, so each worker would find it again in some fifty faults. One byte of each of
these mappings is therefore written over with itself, which needs no writable mapping: the kernel copies the page, as it
does for a debugger that sets a breakpoint.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

__all__ = ["share_page_tables"]


def share_page_tables() -> None:
    """Have the interpreter's and the C library's page tables copied by forks. Without `/proc`, only time is lost."""
    functions = (ctypes.pythonapi.PyErr_Occurred, ctypes.CDLL(None).fork)
    inside = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
    # The start, the end and the file of each read-only mapping.
    mappings: list[tuple[int, int, str]] = []
    with contextlib.suppress(OSError):
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                addresses, rights, _, device, inode = line.split(None, 5)[:5]
                if inode != "0" and rights.startswith("r-") and rights.endswith("p"):
                    start, end = (int(address, 16) for address in addresses.split("-"))
                    mappings.append((start, end, f"{device} {inode}"))
        files = {file for start, end, file in mappings for address in inside if start <= address < end}
        memory = os.open("/proc/self/mem", os.O_RDWR)
        try:
            for start, _, file in mappings:
                if file in files:
                    os.pwrite(memory, os.pread(memory, 1, start), start)
        finally:
            os.close(memory)
