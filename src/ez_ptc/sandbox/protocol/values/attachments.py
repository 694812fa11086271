"""Attachments: the long texts and the bytes of a frame, beside its JSON, which would have to escape or encode them.

A body with attachments is a zero byte, four bytes with the length of its JSON, the JSON, and the attachments. Each is
one byte of its kind, ``t`` for text in UTF-8 or ``b`` for bytes, four bytes of length, and its data. In the JSON, a
mark with its number stands for each, in the same order, exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ATTACHED", "MIN_ATTACHED", "Attachment", "attach", "join", "split"]

ATTACHED = b"\0"
# Shorter ones stay in the JSON: characters or bytes.
MIN_ATTACHED = 1 << 12
_TEXT = b"t"
_BYTES = b"b"
_HEADER = 5


class Attachment(NamedTuple):
    """One attachment of a received body."""

    is_text: bool
    data: bytes

    def read(self) -> str | bytes:
        """Return the text or bytes. Raises ValueError unless a text is UTF-8, with or without lone surrogates."""
        if self.is_text:
            return self.data.decode("utf-8", "surrogatepass")
        return self.data

    def memory(self) -> int:
        """Return the maximum bytes that its value takes."""
        if self.is_text and not self.data.isascii():
            return 4 * len(self.data)  # one wide character makes all of them wide
        return len(self.data)


def attach(value: str | bytes | bytearray, attached: list[bytes]) -> int:
    """Add an attachment to a list of the pieces of all, and return its number."""
    if isinstance(value, str):
        mark, data = _TEXT, value.encode("utf-8", "surrogatepass")
    else:
        mark, data = _BYTES, bytes(value)
    attached += (mark + len(data).to_bytes(4, "big"), data)
    return len(attached) // 2 - 1


def join(json: bytes, attached: Iterable[bytes]) -> bytes:
    """Return a body with attachments."""
    return b"".join((ATTACHED, len(json).to_bytes(4, "big"), json, *attached))


def split(body: bytes, min_bytes: int = 0) -> tuple[bytes, list[Attachment]]:
    """Return the JSON of a body with attachments, and these.

    Raises ValueError for a body that is cut off, and for an attachment of another kind or of less than `min_bytes`.
    """
    attachments = list[Attachment]()
    start = _HEADER + int.from_bytes(body[1:_HEADER], "big")
    json = body[_HEADER:start]
    while start < len(body):
        mark, size = body[start : start + 1], int.from_bytes(body[start + 1 : start + _HEADER], "big")
        start += _HEADER
        if mark not in (_TEXT, _BYTES) or size < min_bytes:
            message = "an attachment of the wrong kind or size"
            raise ValueError(message)
        attachments.append(Attachment(mark == _TEXT, body[start : start + size]))
        start += size
    if start != len(body):
        message = "attachments that are cut off"
        raise ValueError(message)
    return json, attachments
