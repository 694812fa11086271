"""Images, documents, audio and videos in all formats.

Each provider supports some of them. The functions of its `media` module return the provider's JSON, or `Unsupported`
with the reason. In a message of the developer, that is an error before anything is sent. In a tool's result, since the
tool has run already, a sentence replaces the unsupported part.
"""

import base64
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from ez_ptc.errors import ProviderError
from ez_ptc.messages import DocumentMessage, MediaMessage, TextMessage
from ez_ptc.results.json_writer import base_of
from ez_ptc.results.notes import escape_notes
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
]

# The maximum bytes of all media of one result: no provider accepts a larger request.
MAX_MEDIA_BYTES: Final = 32 << 20
# The maximum number of parts of a result.
MAX_PARTS: Final = 200
# The first items of a list among which there is media, in a result of parts.
_MAX_SEARCHED: Final = 10_000
_LISTS: Final[frozenset[Any]] = frozenset({list, tuple})

Media = dict[str, Any]
"""A provider's JSON for an image, document, audio or video."""

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
    """The reason why a provider does not support something, as a clause that names the provider and the type."""

    reason: str

    @classmethod
    def of(cls, provider: str, media: MediaMessage, where: str = "") -> "Unsupported":
        """Return that a provider does not support such media at all, or not in this position."""
        return cls(f"{provider} does not take {media.PHRASE} ({_type_and_size(media)}){where}")


def require(made: Media | Unsupported) -> Media:
    """Return the provider's JSON. Raises ProviderError with the reason if it is unsupported."""
    if isinstance(made, Unsupported):
        message = f"{made.reason}: say it as text, or choose another provider"
        raise ProviderError(message)
    return made


def content_of_result(
    parts: Iterable[ResultPart], text: Callable[[str], Media], media: Callable[[MediaMessage], Media | Unsupported]
) -> list[Media]:
    """Return the parts of a result in the provider's JSON; a sentence replaces unsupported ones."""
    content: list[Media] = []
    for entry in parts:
        if isinstance(entry, TextMessage) and not entry.text.strip():
            continue  # Anthropic rejects empty texts
        converted = media(entry) if isinstance(entry, MediaMessage) else text(entry.text)
        if isinstance(converted, Unsupported):
            converted = text(f"[Left out here: {converted.reason}.]")
        content.append(converted)
    return content


def parts_of_result(output: object) -> tuple[object, ...] | None:
    """Return the parts of a tool's result, or None for a plain value.

    A result of parts is an image, a document, audio or a video, or a list or tuple with at least one of these.
    """
    if isinstance(output, MediaMessage):
        return (output,)
    base = base_of(output)
    if base not in _LISTS:
        return None
    # Through the base class, because a derived one may be foreign code.
    if any(isinstance(item, MediaMessage) for item in islice(base.__iter__(output), _MAX_SEARCHED)):
        return tuple(base.__iter__(output))
    return None


def part_text(media: MediaMessage) -> str:
    """Return a note that represents media where only text is possible."""
    return f"[{media.KIND}: {_type_and_size(media)}]"


def _type_and_size(media: MediaMessage) -> str:
    """Return the type and size of media, or its type and URL."""
    media_type = escape_notes(safe_line(media.media_type))
    if media.data is not None:
        return f"{media_type}, {len(media.data):,} bytes"
    url = media.url or ""
    if url.startswith("data:"):
        url = url[: url.find(",") + 1]
    return f"{media_type}, {escape_notes(safe_repr(url))}"


def base64_of(data: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(data).decode("ascii")


def inline_data(media: MediaMessage) -> tuple[str, str] | None:
    """Return the media type and base64 of media with data; None if there is only a URL.

    Raises ProviderError for a `data:` URL without base64.
    """
    if media.data is not None:
        return media.media_type, base64_of(media.data)
    match = _DATA_URL.fullmatch(media.url or "")
    if match is None:
        return None
    try:
        base64.b64decode(match["data"], validate=True)
    except ValueError:  # includes non-ASCII text
        message = f"the address data:{safe_line(match['media_type'])};base64,… has no base64 in it: give the bytes"
        raise ProviderError(message) from None
    return match["media_type"], match["data"]


def data_url(media: MediaMessage) -> str:
    """Return the URL of media, or a `data:` URL with its bytes."""
    if media.data is None and media.url is not None:
        return media.url
    return f"data:{media.media_type};base64,{base64_of(media.data or b'')}"


def file_name(document: DocumentMessage) -> str:
    """Return the file name of a document, for a provider that requires one."""
    subtype = document.media_type.rpartition("/")[2]
    return document.name or f"document.{_SUFFIXES.get(subtype, subtype)}"
