"""The text of a program's output: always encodable, and shortened to a limit."""

from __future__ import annotations

__all__ = ["add_lines", "encodable", "shorten"]


def encodable(text: str) -> str:
    """Return text that can be encoded as UTF-8; lone surrogates are escaped, as `print` in a program does."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def add_lines(text: str, *lines: str | None) -> str:
    """Return text with further lines at its end; None adds nothing."""
    for line in lines:
        if line is not None:
            text += line if not text or text.endswith("\n") else f"\n{line}"
    return text


def shorten(text: str, max_length: int) -> str:
    """Return text of at most `max_length` characters; of a longer one, replace the middle by a sentence."""
    if len(text) <= max_length:
        return text
    head, tail = max_length - max_length // 2, max_length // 2
    left_out = len(text) - max_length
    return f"{text[:head]}\n[… {left_out:,} characters are left out here …]\n{text[len(text) - tail :]}"
