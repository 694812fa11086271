"""Texts, images and files as the input of OpenAI's Responses."""

from ez_ptc.formats.media import Media, Unsupported, data_url, file_name
from ez_ptc.messages import DocumentMessage, ImageMessage, MediaMessage

__all__ = ["input_media", "input_text"]


def input_text(text: str) -> Media:
    """Return a part that is text."""
    return {"type": "input_text", "text": text}


def input_media(media: MediaMessage) -> Media | Unsupported:
    """Return the part for an image or a document, or why there is none."""
    if isinstance(media, ImageMessage):
        return {"type": "input_image", "image_url": data_url(media), "detail": "auto"}
    if not isinstance(media, DocumentMessage):
        return Unsupported.of("OpenAI's Responses API", media)
    address = data_url(media)
    if not address.startswith("data:"):
        return {"type": "input_file", "file_url": address}
    return {"type": "input_file", "filename": file_name(media), "file_data": address}
