"""Text and media as parts of a chat message, for Chat Completions and for Mistral."""

from typing import Final

from ez_ptc.formats.media import Media, Unsupported, data_url, inline_data
from ez_ptc.messages import AudioMessage, DocumentMessage, ImageMessage, MediaMessage

__all__ = ["CHAT_API", "mistral_media_part", "no_media_in_result", "text_part"]

CHAT_API: Final = "OpenAI's Chat Completions API"


def text_part(text: str) -> Media:
    """Return a text part."""
    return {"type": "text", "text": text}


def mistral_media_part(media: MediaMessage) -> Media | Unsupported:
    """Return Mistral's part for an image, a document or audio, or the reason why Mistral accepts no such part."""
    if isinstance(media, ImageMessage):
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    if isinstance(media, DocumentMessage):
        part = {"type": "document_url", "document_url": data_url(media)}
        if media.name:
            part["document_name"] = media.name
        return part
    if not isinstance(media, AudioMessage):
        return Unsupported.of("Mistral", media)
    inline = inline_data(media)
    audio = (media.url or "") if inline is None else inline[1]
    return {"type": "input_audio", "input_audio": audio}


def no_media_in_result(media: MediaMessage) -> Unsupported:
    """Return the reason why a tool result has no media in Chat Completions."""
    return Unsupported.of(CHAT_API, media, " in the result of a call")
