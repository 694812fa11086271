"""Texts, images, files and audio as parts of a message of chat completions, at OpenAI and at Mistral."""

from collections.abc import Mapping
from typing import Final

from ez_ptc.formats.media import Media, Unsupported, data_url, file_name, inline_data
from ez_ptc.messages import AudioMessage, DocumentMessage, ImageMessage, MediaMessage

__all__ = ["chat_media", "chat_text", "mistral_media", "no_result_media"]

_CHAT: Final = "OpenAI's Chat Completions API"
_AUDIO_FORMATS: Final[Mapping[str, str]] = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def chat_text(text: str) -> Media:
    """Return a part that is text."""
    return {"type": "text", "text": text}


def chat_media(media: MediaMessage) -> Media | Unsupported:
    """Return the part for an image, a document or audio as OpenAI takes it, or why there is none."""
    if isinstance(media, ImageMessage):
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    found = inline_data(media)
    if isinstance(media, DocumentMessage):
        if found is None:
            return Unsupported.of(_CHAT, media, " by its address, only its bytes")
        return {"type": "file", "file": {"filename": file_name(media), "file_data": data_url(media)}}
    if not isinstance(media, AudioMessage):
        return Unsupported.of(_CHAT, media)
    audio_format = _AUDIO_FORMATS.get(found[0]) if found is not None else None
    if found is None or audio_format is None:
        return Unsupported.of(_CHAT, media, ", only the bytes of WAV and MP3 files")
    return {"type": "input_audio", "input_audio": {"data": found[1], "format": audio_format}}


def mistral_media(media: MediaMessage) -> Media | Unsupported:
    """Return the part for an image, a document or audio as Mistral takes it, or why there is none."""
    if isinstance(media, ImageMessage):
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    if isinstance(media, DocumentMessage):
        name = {"document_name": media.name} if media.name else {}
        return {"type": "document_url", "document_url": data_url(media), **name}
    if not isinstance(media, AudioMessage):
        return Unsupported.of("Mistral", media)
    found = inline_data(media)
    return {"type": "input_audio", "input_audio": found[1] if found is not None else media.url or ""}


def no_result_media(media: MediaMessage) -> Unsupported:
    """Return why media is in no result of a call at OpenAI."""
    return Unsupported.of(_CHAT, media, " in the result of a call")
