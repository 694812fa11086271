"""Text and media in a chat message, as far as all servers agree."""

from typing import Final

from ez_ptc.formats.media import Media, Unsupported
from ez_ptc.messages import MediaMessage

__all__ = ["CHAT_API", "no_media_in_result", "text_part"]

CHAT_API: Final = "OpenAI's Chat Completions API"


def text_part(text: str) -> Media:
    """Return a text part."""
    return {"type": "text", "text": text}


def no_media_in_result(media: MediaMessage) -> Unsupported:
    """Return the reason why a tool result has no media in Chat Completions."""
    return Unsupported.of(CHAT_API, media, " in the result of a call")
