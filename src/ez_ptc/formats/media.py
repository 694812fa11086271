"""Images, documents, audio and videos: what every format has in common about them.

A provider takes some of them, and says so in its `…_media` module, whose functions return the provider's JSON for one
of them, or `Unsupported` with the reason. In a message of the developer's that is an error before anything is sent. In
a tool's result, where the tool has run already, it becomes a sentence in the place of what is missing.
"""

import base64
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from ez_ptc.errors import ProviderError
from ez_ptc.messages import DocumentMessage, MediaMessage, TextMessage
from ez_ptc.schema.safe_repr import safe_line, safe_repr

__all__ = [
    "MAX_MEDIA_BYTES",
    "MAX_PARTS",
    "Media",
    "ResultPart",
    "Unsupported",
    "base64_of",
    "content_of_result",
    "data_url",
    "file_name",
    "inline_data",
    "part_text",
    "parts_of_result",
    "require",
    "type_and_size",
]

MAX_MEDIA_BYTES: Final = 32 << 20
"""Bytes that the media of one tool's result may have in all: no provider takes a larger request."""
MAX_PARTS: Final = 200
"""Parts that a tool's result may have."""

Media = dict[str, Any]
"""The JSON that a provider takes for an image, a document, audio or a video."""

ResultPart = TextMessage | MediaMessage
"""A part of a tool's result."""

_DATA_URL: Final = re.compile(r"data:(?P<media_type>[^;,]+);base64,(?P<data>.*)", re.DOTALL)
_OFFICE: Final = "vnd.openxmlformats-officedocument."
_SUFFIXES: Final = {
    "plain": "txt",
    "markdown": "md",
    f"{_OFFICE}wordprocessingml.document": "docx",
    f"{_OFFICE}presentationml.presentation": "pptx",
    f"{_OFFICE}spreadsheetml.sheet": "xlsx",
}


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Why a provider does not take something, as a clause that names the provider and the kind."""

    reason: str

    @classmethod
    def of(cls, provider: str, media: MediaMessage, where: str = "") -> "Unsupported":
        """Return that a provider does not take such a thing at all, or not in one place."""
        return cls(f"{provider} does not take {media.PHRASE} ({type_and_size(media)}){where}")


def require(made: Media | Unsupported) -> Media:
    """Return what a provider takes. Raises ProviderError with the reason where it does not take it."""
    if isinstance(made, Unsupported):
        message = f"{made.reason}: say it as text, or choose another provider"
        raise ProviderError(message)
    return made


def content_of_result(
    parts: Iterable[ResultPart], text: Callable[[str], Media], media: Callable[[MediaMessage], Media | Unsupported]
) -> list[Media]:
    """Return the parts of a result as the provider takes them; a sentence stands for what it does not take."""
    content: list[Media] = []
    for part in parts:
        if isinstance(part, TextMessage) and not part.text.strip():
            continue  # Anthropic refuses texts of nothing
        made = media(part) if isinstance(part, MediaMessage) else text(part.text)
        content.append(text(_omission_text(made)) if isinstance(made, Unsupported) else made)
    return content


def parts_of_result(output: object) -> tuple[object, ...] | None:
    """Return what a tool's result is made of, or None for a result that is a plain value.

    A result of parts is an image, a document, audio or a video, or a list or tuple with at least one of these in it.
    """
    if isinstance(output, MediaMessage):
        return (output,)
    if not isinstance(output, list | tuple) or not any(isinstance(item, MediaMessage) for item in output):  # pyright: ignore[reportUnknownVariableType] - a tool may return a list of anything
        return None
    return tuple(output)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - as above


def part_text(media: MediaMessage) -> str:
    """Return a note that stands for media where only text can be."""
    return f"[{media.KIND}: {type_and_size(media)}]"


def type_and_size(media: MediaMessage) -> str:
    """Return the type and size of media, or its type and address."""
    kind = safe_line(media.media_type)
    if media.data is not None:
        return f"{kind}, {len(media.data):,} bytes"
    url = media.url or ""
    return f"{kind}, {safe_repr(url[: url.find(',') + 1] if url.startswith('data:') else url)}"


def base64_of(data: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(data).decode("ascii")


def inline_data(media: MediaMessage) -> tuple[str, str] | None:
    """Return the media type and the base64 of media whose bytes are here; None where only its address is.

    Raises ProviderError for a `data:` address without base64 in it.
    """
    if media.data is not None:
        return media.media_type, base64_of(media.data)
    found = _DATA_URL.fullmatch(media.url or "")
    if found is None:
        return None
    try:
        base64.b64decode(found["data"], validate=True)
    except ValueError:  # text that is not ASCII as well
        message = f"the address data:{safe_line(found['media_type'])};base64,… has no base64 in it: give the bytes"
        raise ProviderError(message) from None
    return found["media_type"], found["data"]


def data_url(media: MediaMessage) -> str:
    """Return the address of media, which has its bytes in it where there is no other."""
    if media.data is None and media.url is not None:
        return media.url
    return f"data:{media.media_type};base64,{base64_of(media.data or b'')}"


def file_name(document: DocumentMessage) -> str:
    """Return what a document is called, for a provider that wants it to have a name."""
    kind = document.media_type.rpartition("/")[2]
    return document.name or f"document.{_SUFFIXES.get(kind, kind)}"


def _omission_text(unsupported: Unsupported) -> str:
    return f"[Left out here: {unsupported.reason}.]"
