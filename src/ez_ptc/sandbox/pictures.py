"""Pictures from a worker: PNG files, checked to be nothing else before anybody opens them."""

from __future__ import annotations

import zlib
from typing import Final, cast

from ez_ptc.errors import ProtocolError

__all__ = ["checked_pictures"]

_MOST: Final = 32
_MOST_PIXELS: Final = 1 << 25
"""Whoever opens a picture needs four bytes for each."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_SIZE_AND_KIND: Final = 8
_CHECKSUM: Final = 4
_HEADER: Final = 13


def checked_pictures(images: object) -> tuple[bytes, ...]:
    """Return the pictures of a frame. Raises ProtocolError for all but a few whole PNG files."""
    if isinstance(images, list) and len(cast("list[object]", images)) <= _MOST:
        pictures = tuple(cast("list[object]", images))
        if all(isinstance(each, bytes) and _is_picture(each) for each in pictures):
            return cast("tuple[bytes, ...]", pictures)
    message = "pictures that are none, or too many of them"
    raise ProtocolError(message)


def _is_picture(data: bytes) -> bool:
    """Return whether this is one PNG file: its parts in order, each with its checksum, and nothing after the last."""
    at, kind, first = len(_SIGNATURE), b"", True
    if not data.startswith(_SIGNATURE):
        return False
    while kind != b"IEND":
        size = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + _SIZE_AND_KIND]
        end = at + _SIZE_AND_KIND + size + _CHECKSUM
        body = data[at + _SIZE_AND_KIND : end - _CHECKSUM]
        if end > len(data) or zlib.crc32(kind + body) != int.from_bytes(data[end - _CHECKSUM : end], "big"):
            return False
        if first and not (kind == b"IHDR" and size == _HEADER and _is_small(body)):
            return False
        at, first = end, False
    return at == len(data)


def _is_small(header: bytes) -> bool:
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    return 0 < width * height <= _MOST_PIXELS
