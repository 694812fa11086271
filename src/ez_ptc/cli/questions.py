"""Asking a person in the terminal, with nothing written below the question.

Theory of operation
-------------------
While a question waits, standard output and standard error lead into a pipe instead of the terminal: as descriptors, so
log lines, `print` in a tool, native code and child processes are all held back. The question itself is written to a
duplicate of the terminal. A thread drains the pipe. It keeps the beginning while the question waits; afterwards this is
written, with the number of omitted bytes, and anything that still comes, since a child process may keep the pipe open.

One question is asked at a time, in the order of their arrival. `interrupt` ends a waiting one: another thread may have
stopped the answer it belongs to, and it would read the person's next line.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ez_ptc.cli.terminal import discard_pending_input

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["InOrder", "TerminalQuestions"]

_MAX_HELD_BYTES: Final = 64 * 1024
_READ_BYTES: Final = 64 * 1024
# Longer than the kernel's pipe takes to drain. A child process may keep it open.
_MAX_DRAIN_SECONDS: Final = 2.0


class InOrder:
    """A lock that is handed on in the order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._is_held = False

    @contextmanager
    def turn(self) -> Generator[None]:
        """Return a context for one holder at a time."""
        with self._lock:
            mine = threading.Event()
            if not self._is_held:
                self._is_held = True
                mine.set()
            else:
                self._waiting.append(mine)
        try:
            mine.wait()
            yield
        finally:
            with self._lock:
                if mine in self._waiting:  # interrupted before its turn
                    self._waiting.remove(mine)
                elif self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._is_held = False


class TerminalQuestions:
    """Asks on the standard streams."""

    def __init__(self) -> None:
        self._order = InOrder()
        self._lock = threading.Lock()
        self._wake: int | None = None
        self._ended = threading.Event()

    def ask(self, text: str) -> str:
        """Show a question and return the line that answers it. Raises EOFError at the end of input.

        Input typed before is discarded. Without a terminal, nothing is held back.
        """
        with self._order.turn():
            discard_pending_input()
            if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stdout.isatty()):
                return input(text)
            receiver, wake = os.pipe()
            with self._lock:
                self._wake = wake
                self._ended.clear()
            try:
                with _held_output() as terminal:
                    _write(terminal, text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
                    return _read_line(receiver)
            finally:
                with self._lock:
                    self._wake = None
                self._ended.set()
                os.close(wake)
                os.close(receiver)

    def interrupt(self) -> None:
        """End the question that waits, as at the end of input, and return when the terminal is free of it."""
        with self._lock:
            if self._wake is None:
                return
            os.write(self._wake, b"!")
        # Text written earlier would be held back, and appear below the next prompt.
        self._ended.wait(2 * _MAX_DRAIN_SECONDS)


@contextmanager
def _held_output() -> Generator[int]:
    """Hold back what is written to the terminal, and return a descriptor that still writes to it."""
    held = _HeldOutput()
    try:
        yield held.terminal
    finally:
        held.release()


class _HeldOutput:
    """The standard streams that are terminals, led into a pipe."""

    def __init__(self) -> None:
        _flush()
        self.terminal: Final = os.dup(sys.stdout.fileno())
        self._lock = threading.Lock()
        self._held = bytearray()
        self._omitted = 0
        self._is_released = self._is_drained = False
        self._receiver, sender = os.pipe()
        self._streams = {number: os.dup(number) for number in (1, 2) if os.isatty(number)}
        for number in self._streams:
            os.dup2(sender, number)
        os.close(sender)
        self._drain = threading.Thread(target=self._drain_pipe, name="ez-ptc output", daemon=True)
        self._drain.start()

    def release(self) -> None:
        """Lead the streams to the terminal again, and show what was held back."""
        _flush()
        for number, stream in self._streams.items():
            os.dup2(stream, number)
            os.close(stream)
        # Its end comes with that of the last sender, which may be a child process.
        self._drain.join(_MAX_DRAIN_SECONDS)
        with self._lock:
            if self._omitted:
                self._held += f"\n[{self._omitted:,} more bytes were written meanwhile]\n".encode()
            _write(self.terminal, bytes(self._held))
            self._is_released = True
            if self._is_drained:
                os.close(self.terminal)

    def _drain_pipe(self) -> None:
        while data := os.read(self._receiver, _READ_BYTES):
            with self._lock:
                if self._is_released:
                    _write(self.terminal, data)
                    continue
                kept = data[: _MAX_HELD_BYTES - len(self._held)]
                self._held += kept
                self._omitted += len(data) - len(kept)
        os.close(self._receiver)
        with self._lock:
            self._is_drained = True
            if self._is_released:
                os.close(self.terminal)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _read_line(wake: int) -> str:
    """Return the next line of standard input. Raises EOFError at its end, or when `wake` can be read."""
    received = bytearray()
    number = sys.stdin.fileno()
    while not received.endswith(b"\n"):
        ready, _, _ = select.select([number, wake], [], [])
        data = b"" if wake in ready else os.read(number, _READ_BYTES)
        if not data:
            raise EOFError
        received += data
    return received.decode(sys.stdin.encoding or "utf-8", "backslashreplace").rstrip("\r\n")
