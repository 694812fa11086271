"""Pictures from a worker: validated as PNG files before anything opens them, and limited in all frames together."""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple

from ez_ptc.errors import ProtocolError

__all__ = ["MAX_PICTURES", "PictureFrame", "ReceivedPictures", "parse_picture"]

MAX_PICTURES: Final = 32
"""The pictures of one program."""

_KEYS: Final = {"t", "data"}

# A program that opens a picture needs four bytes of memory for each pixel.
_MAX_PIXELS: Final = 1 << 25
# A decoder takes the size of the last header, and makes a picture of each frame of an animation.
_REFUSED_LATER: Final = frozenset({b"IHDR", b"acTL", b"fcTL", b"fdAT"})
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_SIZE_AND_TYPE_BYTES: Final = 8
_CHECKSUM_BYTES: Final = 4
_HEADER_BYTES: Final = 13


class PictureFrame(NamedTuple):
    """The program made a picture; `ReceivedPictures` checks that it is one."""

    data: bytes


def parse_picture(frame: dict[str, object]) -> PictureFrame:
    """Return the picture of a frame. Raises ProtocolError for anything but bytes."""
    data = frame.get("data")
    if isinstance(data, bytes) and frame.keys() == _KEYS:
        return PictureFrame(data)
    message = "a picture frame of the wrong shape"
    raise ProtocolError(message)


class ReceivedPictures:
    """The pictures of one program: a few, of at most `most` bytes together."""

    def __init__(self, most: int) -> None:
        self._room = most
        self.files: list[bytes] = []

    def add(self, frame: PictureFrame) -> None:
        """Add a picture. Raises ProtocolError for anything but a whole PNG file within the limits."""
        self._room -= len(frame.data)
        # First of all: to look through the parts of a file takes time.
        if self._room < 0 or len(self.files) >= MAX_PICTURES:
            message = "more pictures than its limits allow"
            raise ProtocolError(message)
        if not _is_png(frame.data):
            message = "an invalid picture"
            raise ProtocolError(message)
        self.files.append(frame.data)


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
