"""What Mistral does differently from other servers of Chat Completions."""

from typing import Final

from ez_ptc.formats.media import Media, Unsupported, data_url, inline_data
from ez_ptc.formats.openai_shapes.dialects import ChatDialect
from ez_ptc.messages import AudioMessage, DocumentMessage, ImageMessage, MediaMessage

__all__ = ["DIALECT", "media_part"]


def media_part(media: MediaMessage) -> Media | Unsupported:
    """Return the part for an image, a document or audio, or the reason why Mistral accepts no such part."""
    if isinstance(media, ImageMessage):
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    if isinstance(media, DocumentMessage):
        document = {"type": "document_url", "document_url": data_url(media)}
        if media.name:
            document["document_name"] = media.name
        return document
    if not isinstance(media, AudioMessage):
        return Unsupported.of("Mistral", media)
    inline = inline_data(media)
    audio = (media.url or "") if inline is None else inline[1]
    return {"type": "input_audio", "input_audio": audio}


DIALECT: Final = ChatDialect(
    title="Mistral",
    media_part=media_part,
    result_media_part=media_part,
    # It accepts a system message only after a user message, and not as the last message.
    has_late_instructions=False,
    # It rejects a user message directly after a tool's result.
    answer_after_results="OK.",
)
