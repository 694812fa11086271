"""Doing something between two instructions of this library, as a signal handler or a finalizer may."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import ez_ptc

__all__ = ["Interruption"]

_FOLDER = Path(ez_ptc.__file__).parent
_PARTS = ("sandbox/host", "toolkit", "_sync.py")


class Interruption:
    """Calls a function once, before one of the instructions that this thread runs of this library.

    Signal handlers run between instructions of the main thread, finalizers between those of any thread: whatever state
    they find is one that is found here.
    """

    def __init__(self, act: Callable[[], object], *, at: int, parts: Sequence[str] = _PARTS) -> None:
        """Call `act` before the instruction with the number `at` of these parts of the library, counted from 1."""
        self._act = act
        self._at = at
        self._parts = tuple(str(_FOLDER / part) for part in parts)
        self.steps = 0

    def __enter__(self) -> Self:
        sys.settrace(self._trace)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        del argument
        if not frame.f_code.co_filename.startswith(self._parts):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            self.steps += 1
            # What it calls is not traced.
            if self.steps == self._at:
                self._act()
        return self._trace
