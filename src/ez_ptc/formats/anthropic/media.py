"""Images and documents as Anthropic's blocks."""

import base64
from typing import Any, Final

from ez_ptc.formats.media import Media, Unsupported, inline_data
from ez_ptc.formats.wire import encodable_text
from ez_ptc.messages import DocumentMessage, ImageMessage, MediaMessage

__all__ = ["media_block", "text_block"]

_PDF: Final = "application/pdf"
_TEXTS: Final = ("text/", "application/json")


def text_block(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def media_block(media: MediaMessage) -> Media | Unsupported:
    """Return the block for an image or a document, or why there is none: Anthropic takes PDF files and text."""
    if isinstance(media, ImageMessage):
        return {"type": "image", "source": _source(media)}
    if not isinstance(media, DocumentMessage):
        return Unsupported.of("Anthropic", media)
    title = {"title": media.name} if media.name else {}
    source = _source(media)
    media_type = source.get("media_type", media.media_type)
    if media_type != _PDF:
        if source["type"] == "url" or not media_type.startswith(_TEXTS):
            return Unsupported.of("Anthropic", media, ", only the bytes of a text, and PDF files")
        text = base64.b64decode(source["data"]).decode("utf-8-sig", errors="replace")
        source = {"type": "text", "media_type": "text/plain", "data": encodable_text(text)}
    return {"type": "document", "source": source, **title}


def _source(media: MediaMessage) -> dict[str, str]:
    found = inline_data(media)
    if found is None:
        return {"type": "url", "url": media.url or ""}
    media_type, data = found
    return {"type": "base64", "media_type": media_type, "data": data}
