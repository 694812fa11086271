"""Whether the log beside a file is the file's own.

Theory of operation. SQLite takes any intact log beside a file for its own. A log that was left there, when an earlier
or a later copy was put in the place of the file, would mix the pages of both. Each commit writes the row of the table
`commits`, so the page of this table in the log tells its first and last number. In the file itself, the number is that
before the first, or one of those that a checkpoint has copied.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["has_own_log"]

_LOG_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_CHECKSUM_BYTES: Final = 8
_LITTLE_ENDIAN: Final = b"\x37\x7f\x06\x82"
_PAGE_SIZE: Final = slice(8, 12)
_LOG_SALTS: Final = slice(16, 24)
_FRAME_PAGE: Final = slice(0, 4)
_FRAME_SALTS: Final = slice(8, 16)
_CELL_POINTERS: Final = 8
# Of a record's integers, by their serial types; types 8 and 9 are the numbers 0 and 1.
_INTEGER_BYTES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def has_own_log(path: Path) -> bool:
    """Return whether the log beside a journal's file, if there is one, may be its own; call it while no one writes."""
    # Without its log, whatever that has.
    address = f"{path.as_uri()}?mode=ro&immutable=1"
    number: object = None
    root = 0
    with (
        contextlib.closing(sqlite3.connect(address, uri=True)) as database,
        contextlib.suppress(sqlite3.Error, ValueError),
    ):
        ((number,),) = database.execute("SELECT number FROM commits").fetchall()
        ((root,),) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'commits'").fetchall()
    if not isinstance(number, int) or not root:
        # The table is in the log alone, or a checkpoint was cut off: what is in the log completes the file.
        return True
    log = path.with_name(f"{path.name}-wal")
    for is_checked in (False, True):  # the slow way only where it matters: the power may have failed
        numbers = [_number_in(page) for page in _logged_pages(log, root, is_checked=is_checked)]
        if not numbers or (numbers[0] <= number + 1 and number <= max(numbers)):
            return True
    return False


def _logged_pages(path: Path, root: int, *, is_checked: bool) -> Iterator[bytes]:
    """Yield each version of a page in a log; with `is_checked`, up to the first frame with a wrong checksum."""
    # SQLite opens it next, and reports why that fails.
    with contextlib.suppress(OSError), path.open("rb") as file:
        header = file.read(_LOG_HEADER_BYTES)
        page_bytes = int.from_bytes(header[_PAGE_SIZE], "big")
        order = "<" if header.startswith(_LITTLE_ENDIAN) else ">"
        checksum = header[-_CHECKSUM_BYTES:]
        while len(frame := file.read(_FRAME_HEADER_BYTES)) == _FRAME_HEADER_BYTES:
            if frame[_FRAME_SALTS] != header[_LOG_SALTS]:  # of the log before this one
                return
            is_wanted = int.from_bytes(frame[_FRAME_PAGE], "big") == root
            if not is_wanted and not is_checked:
                file.seek(page_bytes, os.SEEK_CUR)
                continue
            page = file.read(page_bytes)
            if is_checked:
                checksum = _checksum(frame[:_CHECKSUM_BYTES] + page, checksum, order)
                if checksum != frame[-_CHECKSUM_BYTES:]:
                    return
            if is_wanted:
                yield page


def _checksum(data: bytes, before: bytes, order: str) -> bytes:
    """Return the checksum of a log after some more bytes, which are words of this byte order."""
    first, second = struct.unpack(">II", before)
    pairs = len(data) // _CHECKSUM_BYTES
    words = struct.unpack(f"{order}{2 * pairs}I", data[: pairs * _CHECKSUM_BYTES])
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return struct.pack(">II", first, second)


def _number_in(page: bytes) -> int:
    """Return `commits.number`, the second value of the only record in a page; -1, below all, for an empty page."""
    with contextlib.suppress(IndexError):
        cell = int.from_bytes(page[_CELL_POINTERS : _CELL_POINTERS + 2], "big")
        # Its size, its row's id, and the sizes and types of its values take a byte each.
        header_bytes, serial_type = page[cell + 2], page[cell + 4]
        size = _INTEGER_BYTES.get(serial_type)
        if size is None:
            return serial_type - 8
        start = cell + 2 + header_bytes
        return int.from_bytes(page[start : start + size], "big", signed=True)
    return -1
