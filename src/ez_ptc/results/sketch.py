"""Sketches of large values: JSON with the first and last elements and the longest texts cut."""

import json
from collections.abc import Callable

__all__ = ["sketch", "type_text"]


def type_text(value: object) -> str:
    """Return the name of a value's type, in angle brackets."""
    return f"<{type(value).__name__}>"


def sketch(value: object, max_length: int, *, plain: Callable[[object], object] = type_text) -> str:
    """Return JSON of at most `max_length` characters that shows the structure of a value."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)
    if len(text) <= max_length:
        return text
    return json.dumps(type_text(value))[:max_length]
