"""Text and media as parts of a chat message."""

from collections.abc import Mapping
from typing import Final

from ez_ptc.formats.media import Media, Unsupported, data_url, file_name, inline_data
from ez_ptc.formats.openai_shapes.chat_tools import CHAT_API, text_part
from ez_ptc.messages import AudioMessage, DocumentMessage, ImageMessage, MediaMessage

__all__ = ["media_part", "text_part"]

_AUDIO_FORMATS: Final[Mapping[str, str]] = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def media_part(media: MediaMessage) -> Media | Unsupported:
    """Return the part for an image, a document or audio, or the reason why the API accepts no such part."""
    if isinstance(media, ImageMessage):
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    inline = inline_data(media)
    if isinstance(media, DocumentMessage):
        if inline is None:
            return Unsupported.of(CHAT_API, media, " by its address, only its bytes")
        return {"type": "file", "file": {"filename": file_name(media), "file_data": data_url(media)}}
    if not isinstance(media, AudioMessage):
        return Unsupported.of(CHAT_API, media)
    media_type, data = inline or ("", "")
    if media_type not in _AUDIO_FORMATS:
        return Unsupported.of(CHAT_API, media, ", only the bytes of WAV and MP3 files")
    return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS[media_type]}}
