"""A server's texts as data: bounded, and without characters that a terminal or a reader would not show."""

from __future__ import annotations

from typing import Any, Final, cast

from ez_ptc.schema.safe_repr import safe_line

__all__ = ["clean_schema", "clean_text", "error_line"]

_MAX_TEXT: Final = 8_000
_MAX_ERROR: Final = 2_000
_KEPT: Final = "\n\t"


def clean_text(text: str | None, most: int = _MAX_TEXT) -> str:
    """Return a server's text with escapes for invisible characters other than line ends and tabs."""
    if text is None:
        return ""
    text = text.replace("\r\n", "\n")
    if len(text) > most:
        text = f"{text[: most - 1]}…"
    return "".join(
        character if character in _KEPT or character.isprintable() else repr(character)[1:-1] for character in text
    )


def error_line(text: str) -> str:
    """Return a server's error message on one line."""
    return safe_line(text, _MAX_ERROR)


def clean_schema(part: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """Return a schema whose descriptions and titles are clean."""
    if isinstance(part, list):
        return [clean_schema(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    fields = cast("dict[str, object]", part)
    return {
        key: clean_text(value) if key in ("description", "title") and isinstance(value, str) else clean_schema(value)
        for key, value in fields.items()
    }
