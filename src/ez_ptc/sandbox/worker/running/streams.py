"""A program's output: text streams whose bytes become output frames, up to a limit."""

from __future__ import annotations

import codecs
import contextlib
import io
import sys
import threading
from typing import TYPE_CHECKING, cast

from ...protocol.values import codec as values

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


class _Stream:
    """One text stream of a program, with the layers under it: a program may detach or close any of them."""

    def __init__(self, output: Output, stream: int) -> None:
        self._output = output
        self._number = stream
        self.open()

    def open(self) -> None:
        """Make new layers."""
        self._sink = _Sink(self._output, self._number)
        self._buffer = io.BufferedWriter(self._sink, _BLOCK)
        self.text = io.TextIOWrapper(self._buffer, encoding="utf-8", errors="backslashreplace", newline="")

    @property
    def is_open(self) -> bool:
        """Whether the text layer can be written to."""
        try:
            return not self.text.closed
        except ValueError:  # it was detached
            return False

    def flush(self) -> None:
        """Send the contents of all layers; a closed one has none left."""
        if self.is_open:
            self.text.flush()
        if not self._buffer.closed:
            self._buffer.flush()

    def finish(self) -> None:
        """Write the rest of a character without its last bytes."""
        self._sink.finish()


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
        self.has_printed = False  # to standard output
        self._streams = _Stream(self, 1), _Stream(self, 2)
        self._stdin = _nothing()
        self._hooks: list[tuple[object, str, object]] = []

    def begin(self, most: int) -> None:
        """Start a program's streams: it may write `most` bytes.

        The streams and hooks an earlier program of the session replaced are the own ones again, and closed streams are
        opened again: a program does not write where an earlier one failed to.
        """
        self.left = most
        self.dropped = 0
        self.has_printed = False
        # Dropping a stream of the earlier program may close a layer of these.
        self._restore()
        for stream in self._streams:
            if not stream.is_open:
                stream.open()
        if self._stdin.closed:
            self._stdin = _nothing()
        self._restore()

    def end(self) -> None:
        """Send the rest; output between two programs is dropped."""
        self.flush()
        for stream in self._streams:
            stream.finish()
        if self._size:
            self._send()
        self.left = 0

    def take(self, stream: int, text: str) -> None:
        """Keep `text` up to the limit, and send it once it fills a frame."""
        self.has_printed = self.has_printed or stream == 1
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
        for stream in self._streams:
            stream.flush()
        if self._size:
            self._send()

    def flush_replacements(self) -> None:
        """Flush the streams with which a program replaced its own, as CPython does at exit."""
        for replaced in (sys.stdout, sys.stderr):
            if all(replaced is not stream.text for stream in self._streams):
                with contextlib.suppress(Exception):  # foreign code: CPython ignores its exceptions too
                    replaced.flush()

    def _send(self) -> None:
        waiting, self._waiting, self._size = self._waiting, {1: [], 2: []}, 0
        for stream, texts in waiting.items():
            if texts:
                attached = list[bytes]()
                text = values.encode("".join(texts), attached=attached)
                self._link.send({"t": "output", "stream": stream, "text": text}, attached)

    def install(self) -> None:
        """Install these as the program's ``sys.stdout`` and ``sys.stderr``; standard input is at its end."""
        owners = [(sys, name) for name in ("displayhook", "excepthook", "unraisablehook", "breakpointhook")]
        owners += [(threading, "excepthook"), (sys.modules["builtins"], "print"), (sys.modules["builtins"], "input")]
        self._hooks = [(owner, name, getattr(owner, name)) for owner, name in owners]
        self._restore()

    def _restore(self) -> None:
        stdout, stderr = (stream.text for stream in self._streams)
        sys.stdout = sys.__stdout__ = stdout
        sys.stderr = sys.__stderr__ = stderr
        sys.stdin = sys.__stdin__ = self._stdin
        for owner, name, hook in self._hooks:
            setattr(owner, name, hook)
