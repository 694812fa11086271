"""Images for a model to look at."""

from pathlib import Path
from typing import Final

from ez_ptc.messages import ImageMessage

__all__ = ["image_message"]

# What the files of each kind begin with, and what they have some way in.
_KINDS: Final = (
    ("image/png", b"\x89PNG\r\n\x1a\n", b""),
    ("image/jpeg", b"\xff\xd8\xff", b""),
    ("image/gif", b"GIF8", b""),
    ("image/webp", b"RIFF", b"WEBP"),
)
_MARK_AT: Final = 8
_ADDRESSES: Final = ("http://", "https://", "data:")


def image_message(image: bytes | str | Path, *, media_type: str | None = None) -> ImageMessage:
    """Make a message of an image: its bytes, the path of its file, or its address.

    Raises ValueError for what is no image of a kind that models read, and OSError for a file that cannot be read.
    """
    if isinstance(image, str) and image.startswith(_ADDRESSES):
        return ImageMessage(url=image, media_type=media_type or "image/png")
    data = image if isinstance(image, bytes) else Path(image).read_bytes()
    if media_type is None:
        media_type = _media_type(data)
    if media_type is None:
        source = "it" if isinstance(image, bytes) else str(image)
        message = f"{source} begins like no PNG, JPEG, GIF or WebP image: say what it is with media_type='image/…'"
        raise ValueError(message)
    return ImageMessage(data=data, media_type=media_type)


def _media_type(data: bytes) -> str | None:
    kinds = (kind for kind, start, mark in _KINDS if data.startswith(start) and data[_MARK_AT:].startswith(mark))
    return next(kinds, None)
