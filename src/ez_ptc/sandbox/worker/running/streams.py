"""A program's output: text streams whose bytes become output frames, up to a limit."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .link import Link

__all__ = ["Output"]

_BLOCK = 8192


class _Sink(io.RawIOBase):
    """The raw end of one stream."""

    def __init__(self, output: Output, stream: int) -> None:
        self._output = output
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        view = bytes(cast("bytes", data))
        self._output.take(self._stream, self._decode(view), len(view))
        return len(view)


def _nothing() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


class Output:
    """Standard output and error of one program; bytes over the limit are counted and dropped.

    Output is sent in blocks, before each tool call, and at the end, so flushing every line costs no additional frames.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self.left = 0  # the number of bytes that may still be sent
        self._waiting: dict[int, list[str]] = {1: [], 2: []}
        self._size = 0
        self.dropped = 0
        self.stdout = self._open(1)
        self.stderr = self._open(2)
        self._stdin = _nothing()

    def begin(self, most: int) -> None:
        """Start a program's streams: it may write `most` bytes.

        Standard input is reopened, since `exit()` closes it.
        """
        self.left = most
        self.dropped = 0
        if self._stdin.closed:
            self._stdin = sys.stdin = sys.__stdin__ = _nothing()

    def end(self) -> None:
        """Send the rest; output between two programs is dropped."""
        self.flush()
        self.left = 0

    def _open(self, stream: int) -> io.TextIOWrapper:
        buffer = io.BufferedWriter(_Sink(self, stream), _BLOCK)
        return io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace", newline="")

    def take(self, stream: int, text: str, size: int) -> None:
        """Keep `text` (`size` bytes) up to the limit, and send it once it fills a frame."""
        if size > self.left:
            # Counted in characters from here on, never more than their bytes.
            text = text[: self.left]
            self.dropped += size - len(text)
            size = len(text)
        self.left -= size
        self._waiting[stream].append(text)
        self._size += size
        if self._size >= _BLOCK:
            self._send()

    def flush(self) -> None:
        """Send everything; closed streams have nothing left."""
        for stream in (self.stdout, self.stderr):
            if not stream.closed:
                stream.flush()
        if self._size:
            self._send()

    def _send(self) -> None:
        waiting, self._waiting, self._size = self._waiting, {1: [], 2: []}, 0
        for stream, texts in waiting.items():
            if texts:
                self._link.send({"t": "output", "stream": stream, "text": "".join(texts)})

    def install(self) -> None:
        """Install these as the program's ``sys.stdout`` and ``sys.stderr``; standard input is at its end."""
        sys.stdout = sys.__stdout__ = self.stdout
        sys.stderr = sys.__stderr__ = self.stderr
        sys.stdin = sys.__stdin__ = self._stdin
