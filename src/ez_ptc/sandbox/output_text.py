"""Text that leaves an execution: it can always be encoded, and there is no more of it than shall be read."""

from __future__ import annotations

__all__ = ["encodable", "shortened"]


def encodable(text: str) -> str:
    """Return text that has a UTF-8 form: half a surrogate pair is written as `print` in a program writes it."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def shortened(text: str, most: int) -> str:
    """Return text of at most so many characters, and a sentence: where there are more, the middle is left out."""
    if len(text) <= most:
        return text
    head, tail = most - most // 2, most // 2
    left_out = len(text) - most
    return f"{text[:head]}\n[… {left_out:,} characters are left out here: print less …]\n{text[len(text) - tail :]}"
