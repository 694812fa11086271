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
        self._output.take(self._stream, self._decode(view))
        return len(view)

    def finish(self) -> None:
        """Write the rest of a character without its last bytes."""
        if text := self._decode(b"", final=True):
            self._output.take(self._stream, text)


def _nothing() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


class Output:
    """Standard output and error of one program; bytes after the limit are counted and dropped.

    Output is sent in blocks, before each tool call, and at the end, so flushing every line costs no additional frames.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self.left = 0  # the number of bytes that may still be sent
        self._waiting: dict[int, list[str]] = {1: [], 2: []}
        self._size = 0
        self.dropped = 0
        self._sinks = _Sink(self, 1), _Sink(self, 2)
        self.stdout, self.stderr = (
            io.TextIOWrapper(io.BufferedWriter(sink, _BLOCK), encoding="utf-8", errors="backslashreplace", newline="")
            for sink in self._sinks
        )
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
        for sink in self._sinks:
            sink.finish()
        if self._size:
            self._send()
        self.left = 0

    def take(self, stream: int, text: str) -> None:
        """Keep `text` up to the limit, and send it once it fills a frame."""
        size = len(text) if text.isascii() else len(text.encode())
        if size > self.left:
            # Of a character that is cut, nothing is left.
            text = text.encode()[: self.left].decode(errors="ignore")
            kept = len(text.encode())
            self.dropped += size - kept
            # Nothing comes after a gap, whatever its size.
            size, self.left = kept, kept
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
