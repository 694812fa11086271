"""The digest of a program's output so far, by which the output of a later execution is compared with it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ez_ptc.sandbox.protocol.frames import OutputFrame

__all__ = ["OutputDigest"]

# Of hexadecimal digits.
_LENGTH: Final = 32


class OutputDigest:
    """A digest of both streams, whatever the blocks in which they come."""

    def __init__(self) -> None:
        self._streams = {1: hashlib.sha256(), 2: hashlib.sha256()}
        self._text = ""
        self._is_known = True

    def add(self, frame: OutputFrame) -> None:
        """Add output; an empty text adds none."""
        if not frame.text:
            return
        self._streams[frame.stream].update(frame.text.encode("utf-8", "surrogatepass"))
        self._is_known = False

    @property
    def text(self) -> str:
        """The digest; "" if there is no output."""
        if not self._is_known:
            self._text = hashlib.sha256(b"".join(stream.digest() for stream in self._streams.values())).hexdigest()
            self._text, self._is_known = self._text[:_LENGTH], True
        return self._text
