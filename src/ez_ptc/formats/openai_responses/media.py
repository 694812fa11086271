"""Text, images and files as input parts."""

from ez_ptc.formats.media import Media, Unsupported, data_url, file_name
from ez_ptc.messages import DocumentMessage, ImageMessage, MediaMessage

__all__ = ["media_part", "text_part"]


def text_part(text: str) -> Media:
    """Return a text part."""
    return {"type": "input_text", "text": text}


def media_part(media: MediaMessage) -> Media | Unsupported:
    """Return the part for an image or a document, or the reason why the API accepts no such part."""
    if isinstance(media, ImageMessage):
        return {"type": "input_image", "image_url": data_url(media), "detail": "auto"}
    if not isinstance(media, DocumentMessage):
        return Unsupported.of("OpenAI's Responses API", media)
    url = data_url(media)
    if not url.startswith("data:"):
        return {"type": "input_file", "file_url": url}
    return {"type": "input_file", "filename": file_name(media), "file_data": url}
