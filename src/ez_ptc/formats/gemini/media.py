"""Texts, images, documents, audio and videos as Gemini's parts."""

from typing import Final

from ez_ptc.formats.media import Media, Unsupported, inline_data
from ez_ptc.messages import MediaMessage

__all__ = ["media_part", "no_response_part", "response_part", "text_part"]

# What the function responses of Gemini 3 and later may have in them (ai.google.dev/gemini-api/docs/function-calling,
# "Multimodal function responses").
_IN_RESPONSES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})


def text_part(text: str) -> Media:
    """Return a part that is text."""
    return {"text": text}


def media_part(media: MediaMessage) -> Media:
    """Return the part for media of any kind: Gemini takes them all."""
    found = inline_data(media)
    if found is None:
        return {"fileData": {"fileUri": media.url or "", "mimeType": media.media_type}}
    media_type, data = found
    return {"inlineData": {"mimeType": media_type, "data": data}}


def response_part(media: MediaMessage) -> Media | Unsupported:
    """Return the part for media in the result of a call, or why there is none."""
    if media.media_type not in _IN_RESPONSES:
        return Unsupported.of("Gemini", media, " in the result of a call")
    return media_part(media)


def no_response_part(media: MediaMessage) -> Unsupported:
    """Return why media is in no result of a call that a model before Gemini 3 reads."""
    return Unsupported.of("a model before Gemini 3", media, " in the result of a call")
