"""The memory of one worker: what it was at the snapshot, and which of its pages were written since.

Theory of operation. Every writable mapping is registered with a userfaultfd of the worker, and its pages are
write-protected when the snapshot is taken. The kernel lifts the protection of a page that is written to, without
telling anyone, and PAGEMAP_SCAN finds the pages without it. A page that was written once stays unprotected and is
written back each time, because a fault takes longer than copying a page; when there are too many, all are protected
again. A written page outside the mappings of the snapshot means that these have changed.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import re
import struct
from bisect import bisect_right
from typing import Final

from .system import Vectors, control, read_into, transfer

__all__ = ["Memory", "TraceError", "find_writable", "open_tracker"]

_UFFDIO_API, _UFFDIO_REGISTER, _PAGEMAP_SCAN = 0xC018AA3F, 0xC020AA00, 0xC0606610
_API, _WP_ASYNC_AND_UNPOPULATED = 0xAA, 1 << 15 | 1 << 13
_REGISTER_WP = 2
_SCAN_PROTECTS, _SCAN_CHECKS_ASYNC = 1, 2
_WP_ALLOWED, _WRITTEN = 1, 2
_MAPPING: Final = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) .(.).(.) ", re.MULTILINE)
_MAX_MAPS_BYTES: Final = 1 << 18
_MAX_REGIONS: Final = 4096
_REGION_WORDS: Final = 3
# Protecting them again takes a millisecond, and so does writing back this many.
_MAX_WRITTEN_BYTES: Final = 1000 * mmap.PAGESIZE


class TraceError(Exception):
    """A worker cannot be restored, for the reason in its text."""


def open_tracker(fd: int) -> None:
    """Choose what a new userfaultfd does: track writes without events. Raises OSError."""
    buffer = ctypes.create_string_buffer(struct.pack("3Q", _API, _WP_ASYNC_AND_UNPOPULATED, 0))
    control(fd, _UFFDIO_API, buffer, "track writes by userfaultfd")


def find_writable(maps: int) -> list[tuple[int, int]]:
    """Return the start and the end of each writable mapping. Raises OSError if one is shared.

    Nothing else of `/proc/PID/maps`, whose descriptor this takes, stays in the memory that later workers have.
    """
    text = bytearray(_MAX_MAPS_BYTES)
    size = read_into(maps, text)
    areas: list[tuple[int, int]] = []
    for start, end, is_writable, sharing in _MAPPING.findall(text):
        if is_writable == b"w":
            if sharing != b"p":
                raise OSError(errno.ENOTSUP, "a worker has writable memory that is shared")
            areas.append((int(start, 16), int(end, 16)))
    is_whole = size < _MAX_MAPS_BYTES
    text[:] = bytes(_MAX_MAPS_BYTES)
    if not (is_whole and areas):
        raise OSError(errno.ENOTSUP, "a worker's mappings cannot be listed")
    return areas


class Memory:
    """The snapshot of a stopped worker's writable memory."""

    def __init__(self, pid: int, tracker: int, pagemap: int, maps: int) -> None:
        """Copy the memory, and begin to track writes. Raises OSError if that is impossible."""
        self._pid = pid
        self._pagemap = pagemap
        self._areas = find_writable(maps)
        self._starts = [start for start, _ in self._areas]
        for start, end in self._areas:
            argument = ctypes.create_string_buffer(struct.pack("4Q", start, end - start, _REGISTER_WP, 0))
            control(tracker, _UFFDIO_REGISTER, argument, "track writes to a mapping")
        size = sum(end - start for start, end in self._areas)
        self._copy = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # Other workers must not get it.
        self._copy.madvise(mmap.MADV_DONTFORK)
        self._view = ctypes.c_char.from_buffer(self._copy)
        base = ctypes.addressof(self._view)
        self._places: list[int] = []
        for start, end in self._areas:
            self._places.append(base)
            base += end - start
        pieces = [(place, start, end - start) for place, (start, end) in zip(self._places, self._areas, strict=True)]
        self._all = [Vectors(pieces[first : first + Vectors.MAX]) for first in range(0, len(pieces), Vectors.MAX)]
        self._regions = (ctypes.c_uint64 * (_REGION_WORDS * _MAX_REGIONS))()
        self._raw = memoryview(self._regions).cast("B")
        where = ctypes.addressof(self._regions)
        self._argument = (ctypes.c_uint64 * 12)(96, 0, 0, 0, 0, where, _MAX_REGIONS, 0, 0, 0, 0, _WRITTEN)
        self._last = b""
        self._written: list[Vectors] = []
        self._written_bytes = 0
        for vectors in self._all:
            transfer("readv", pid, vectors)
        self._protect()

    def _scan(self, flags: int, start: int, end: int, mask: int) -> tuple[int, int]:
        """Return how many regions of written pages there are, and where the scan ended."""
        argument = self._argument
        argument[1], argument[2], argument[3], argument[9] = flags, start, end, mask
        count = control(self._pagemap, _PAGEMAP_SCAN, argument, "find written pages by PAGEMAP_SCAN")
        return count, argument[4]

    def _protect(self) -> None:
        for start, end in self._areas:
            position = start
            while position < end:
                _, position = self._scan(_SCAN_PROTECTS | _SCAN_CHECKS_ASYNC, position, end, _WRITTEN)
        self._last, self._written, self._written_bytes = b"", [], 0

    def restore(self) -> int:
        """Write back every page that was written, and return how many bytes these have. The worker is stopped.

        Raises:
            TraceError: Memory was written that the snapshot does not have.
            OSError: The kernel refuses.
        """
        position, end = self._areas[0][0], self._areas[-1][1]
        raw = b""
        # One scan may find too few: its buffer in the kernel is small.
        while position < end:
            count, reached = self._scan(0, position, end, _WP_ALLOWED | _WRITTEN)
            if reached <= position:
                message = "the scan of its memory does not end"
                raise TraceError(message)
            raw += self._raw[: count * _REGION_WORDS * 8]
            position = reached
        if raw != self._last:
            self._written = self._pair(memoryview(raw).cast("Q"))
            self._last = raw
            self._written_bytes = sum(vectors.bytes for vectors in self._written)
        for vectors in self._written:
            transfer("writev", self._pid, vectors)
        written = self._written_bytes
        if written > _MAX_WRITTEN_BYTES:
            self._protect()
        return written

    def _pair(self, words: memoryview[int]) -> list[Vectors]:
        """Return the written regions with the copies of their pages. Raises TraceError for one without."""
        pieces: list[tuple[int, int, int]] = []
        for start, end in zip(words[::_REGION_WORDS], words[1::_REGION_WORDS], strict=True):
            position = start
            while position < end:
                index = bisect_right(self._starts, position) - 1
                area_start, area_end = self._areas[index] if index >= 0 else (0, 0)
                if position >= area_end:
                    message = "its memory has grown"
                    raise TraceError(message)
                stop = min(end, area_end)
                pieces.append((self._places[index] + position - area_start, position, stop - position))
                position = stop
        return [Vectors(pieces[first : first + Vectors.MAX]) for first in range(0, len(pieces), Vectors.MAX)]

    def differing(self) -> list[int]:
        """Return the addresses of the 32-byte blocks that are not as in the snapshot. The worker is stopped."""
        pieces = len(self._copy)
        now = mmap.mmap(-1, pieces, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        view = ctypes.c_char.from_buffer(now)
        shift = ctypes.addressof(view) - ctypes.addressof(self._view)
        moved = [
            (place + shift, start, end - start) for place, (start, end) in zip(self._places, self._areas, strict=True)
        ]
        for first in range(0, len(moved), Vectors.MAX):
            transfer("readv", self._pid, Vectors(moved[first : first + Vectors.MAX]))
        pages: list[int] = []
        offset = 0
        for start, end in self._areas:
            for page in range(0, end - start, mmap.PAGESIZE):
                here = offset + page
                before, after = self._copy[here : here + mmap.PAGESIZE], now[here : here + mmap.PAGESIZE]
                if before != after:
                    pages += [
                        start + page + at
                        for at in range(0, mmap.PAGESIZE, 32)
                        if before[at : at + 32] != after[at : at + 32]
                    ]
            offset += end - start
        del view
        now.close()
        return pages

    def close(self) -> None:
        """Drop the copy."""
        del self._view
        self._copy.close()
