"""Text, images and documents as Anthropic's content blocks."""

import base64
from typing import Any, Final

from ez_ptc.formats.media import Media, Unsupported, inline_data
from ez_ptc.formats.wire import encodable_text
from ez_ptc.messages import DocumentMessage, ImageMessage, MediaMessage

__all__ = ["media_part", "text_part"]

_PDF: Final = "application/pdf"
_TEXT_TYPES: Final = ("text/", "application/json")


def text_part(text: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": text}


def media_part(media: MediaMessage) -> Media | Unsupported:
    """Return the block for an image, a PDF file or a text file, or the reason why Anthropic accepts no such block."""
    if isinstance(media, ImageMessage):
        return {"type": "image", "source": _source(media)}
    if not isinstance(media, DocumentMessage):
        return Unsupported.of("Anthropic", media)
    source = _source(media)
    media_type = source.get("media_type", media.media_type)
    if media_type != _PDF:
        if source["type"] == "url" or not media_type.startswith(_TEXT_TYPES):
            return Unsupported.of("Anthropic", media, ", only the bytes of a text, and PDF files")
        text = base64.b64decode(source["data"]).decode("utf-8-sig", errors="replace")
        source = {"type": "text", "media_type": "text/plain", "data": encodable_text(text)}
    block: dict[str, Any] = {"type": "document", "source": source}
    if media.name:
        block["title"] = media.name
    return block


def _source(media: MediaMessage) -> dict[str, str]:
    inline = inline_data(media)
    if inline is None:
        return {"type": "url", "url": media.url or ""}
    media_type, data = inline
    return {"type": "base64", "media_type": media_type, "data": data}
