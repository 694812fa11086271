"""Pictures from a worker: validated as PNG files before anything opens them."""

from __future__ import annotations

import zlib
from typing import Final, cast

from ez_ptc.errors import ProtocolError

__all__ = ["check_pictures"]

_MAX_PICTURES: Final = 32
# A program that opens a picture needs four bytes of memory for each pixel.
_MAX_PIXELS: Final = 1 << 25
# A decoder takes the size of the last header, and makes a picture of each frame of an animation.
_REFUSED_LATER: Final = frozenset({b"IHDR", b"acTL", b"fcTL", b"fdAT"})
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_SIZE_AND_TYPE_BYTES: Final = 8
_CHECKSUM_BYTES: Final = 4
_HEADER_BYTES: Final = 13


def check_pictures(images: object) -> tuple[bytes, ...]:
    """Return the pictures of a frame. Raises ProtocolError for anything but a few whole PNG files."""
    if isinstance(images, list) and len(cast("list[object]", images)) <= _MAX_PICTURES:
        pictures = tuple(cast("list[object]", images))
        if all(isinstance(picture, bytes) and _is_png(picture) for picture in pictures):
            return cast("tuple[bytes, ...]", pictures)
    message = "invalid pictures, or too many of them"
    raise ProtocolError(message)


def _is_png(data: bytes) -> bool:
    """Return whether `data` is one PNG file: chunks with valid checksums, a header first, nothing after the end."""
    start, chunk_type, is_first = len(_SIGNATURE), b"", True
    if not data.startswith(_SIGNATURE):
        return False
    while chunk_type != b"IEND":
        size = int.from_bytes(data[start : start + 4], "big")
        chunk_type = data[start + 4 : start + _SIZE_AND_TYPE_BYTES]
        end = start + _SIZE_AND_TYPE_BYTES + size + _CHECKSUM_BYTES
        body = data[start + _SIZE_AND_TYPE_BYTES : end - _CHECKSUM_BYTES]
        checksum = int.from_bytes(data[end - _CHECKSUM_BYTES : end], "big")
        if end > len(data) or zlib.crc32(chunk_type + body) != checksum:
            return False
        width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
        is_header = chunk_type == b"IHDR" and size == _HEADER_BYTES and 0 < width * height <= _MAX_PIXELS
        if is_header is not is_first or (chunk_type in _REFUSED_LATER and not is_first):
            return False
        start, is_first = end, False
    return start == len(data)
