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


def test_pictures_are_limited_exactly() -> None:
    largest = START + header(4_096, 8_192) + DATA + END
    received = ReceivedPictures(40 * len(largest))
    for _ in range(32):
        received.add(PictureFrame(largest))
    assert received.files == [largest] * 32
    for full in (received, ReceivedPictures(len(largest) - 1)):
        with pytest.raises(ProtocolError, match="more pictures than its limits allow"):
            full.add(PictureFrame(largest))


@pytest.mark.parametrize(
    "picture",
    [
        START + header(4_096, 8_193) + DATA + END,
        START + header(0, 1) + DATA + END,
        START + header(1, 1) + DATA[:-1] + b"x" + END,
        START + header(1, 1) + DATA + END[:-1],
        START + header(1, 1) + DATA,
        START + header(1, 1) + DATA + END + b"x",
        START + chunk(b"IHDR", struct.pack(">II", 1, 1)) + DATA + END,
        b"x" * 8 + header(1, 1) + DATA + END,
        b"",
    ],
)
def test_anything_but_a_whole_picture_is_refused(picture: bytes) -> None:
    with pytest.raises(ProtocolError, match="an invalid picture"):
        ReceivedPictures(1 << 20).add(PictureFrame(picture))
