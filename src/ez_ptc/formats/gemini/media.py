"""Text and media as Gemini's parts."""

from typing import Final

from ez_ptc.formats.media import Media, Unsupported, inline_data
from ez_ptc.messages import MediaMessage

__all__ = ["media_part", "no_media_in_result", "result_media_part", "text_part"]

# Media types that function responses may contain since Gemini 3 (ai.google.dev/gemini-api/docs/function-calling,
# "Multimodal function responses").
_RESULT_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})


def text_part(text: str) -> Media:
    """Return a text part."""
    return {"text": text}


def media_part(media: MediaMessage) -> Media:
    """Return the part for media of any kind."""
    inline = inline_data(media)
    if inline is None:
        return {"fileData": {"fileUri": media.url or "", "mimeType": media.media_type}}
    media_type, data = inline
    return {"inlineData": {"mimeType": media_type, "data": data}}


def result_media_part(media: MediaMessage) -> Media | Unsupported:
    """Return the part for media in a tool result, or the reason why Gemini accepts no such part."""
    if media.media_type not in _RESULT_TYPES:
        return Unsupported.of("Gemini", media, " in the result of a call")
    return media_part(media)


def no_media_in_result(media: MediaMessage) -> Unsupported:
    """Return the reason why a tool result has no media for a model before Gemini 3."""
    return Unsupported.of("a model before Gemini 3", media, " in the result of a call")
