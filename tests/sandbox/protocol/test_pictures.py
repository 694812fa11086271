"""Pictures are measured by what a decoder reads."""

import struct
import zlib

import pytest

from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox.protocol.pictures import PictureFrame, ReceivedPictures


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def header(width: int, height: int) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))


START, DATA, END = b"\x89PNG\r\n\x1a\n", chunk(b"IDAT", zlib.compress(b"\0\0")), chunk(b"IEND", b"")
FRAME = chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 9_000, 9_000, 0, 0, 1, 1, 0, 0))


def test_picture_with_one_header_is_taken() -> None:
    picture = START + header(1, 1) + chunk(b"tEXt", b"Title\0x") + DATA + END
    received = ReceivedPictures(len(picture))
    received.add(PictureFrame(picture))
    assert received.files == [picture]


@pytest.mark.parametrize(
    "chunks",
    [
        header(1, 1) + header(9_000, 9_000) + DATA,
        header(1, 1) + DATA + header(9_000, 9_000),
        header(1, 1) + header(1, 1) + DATA,
        header(1, 1) + chunk(b"IHDR", struct.pack(">II", 9_000, 9_000)) + DATA,
        header(9_000, 9_000) + DATA,
        header(9_000, 9_000) + header(1, 1) + DATA,
        header(1, 1) + chunk(b"acTL", struct.pack(">II", 60_000, 0)) + DATA,
        header(1, 1) + FRAME + DATA,
        header(1, 1) + DATA + chunk(b"fdAT", b"\0\0\0\1x"),
    ],
)
def test_second_header_or_frame_is_refused(chunks: bytes) -> None:
    with pytest.raises(ProtocolError, match="an invalid picture"):
        ReceivedPictures(1 << 20).add(PictureFrame(START + chunks + END))
