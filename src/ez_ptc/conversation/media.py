"""Images, documents, audio and videos to show to a model: made from bytes, a file or an address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from ez_ptc.messages import DocumentMessage, MediaMessage
from ez_ptc.schema.safe_repr import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_FILE_BYTES", "media_message"]

M = TypeVar("M", bound=MediaMessage)

MAX_FILE_BYTES: Final = 100 << 20
"""Bytes that one of them may have: no provider takes more in a request."""

_STARTS: Final[Mapping[str, re.Pattern[bytes]]] = {
    media_type: re.compile(start, re.DOTALL)
    for media_type, start in {
        "image/png": rb"\x89PNG\r\n\x1a\n",
        "image/jpeg": rb"\xff\xd8\xff",
        "image/gif": rb"GIF8",
        "image/webp": rb"RIFF....WEBP",
        "application/pdf": rb"%PDF-",
        "audio/wav": rb"RIFF....WAVE",
        "audio/mpeg": rb"ID3|\xff[\xfb\xf3\xf2]",
        "audio/aac": rb"\xff[\xf1\xf9]",
        "audio/flac": rb"fLaC",
        "audio/ogg": rb"OggS",
        "audio/mp4": rb"....ftypM4A",
        "video/quicktime": rb"....ftypqt",
        "video/mp4": rb"....ftyp",
        "video/webm": rb"\x1aE\xdf\xa3",
        "video/mpeg": rb"\x00\x00\x01[\xba\xb3]",
    }.items()
}
_SUFFIXES: Final[Mapping[str, str]] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "m4a": "audio/mp4",
    "mov": "video/quicktime",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mpeg": "video/mpeg",
    "mpg": "video/mpeg",
}
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_DOCUMENTS: Final = ("application/", "text/")
_DATA: Final = "data:"
_ADDRESSES: Final = ("http://", "https://", "gs://", _DATA)


def media_message(kind: type[M], source: bytes | str | Path, *, media_type: str | None = None, **fields: Any) -> M:
    """Make a message of a kind: from its bytes, the path of its file, or its address.

    The media type is read from the first bytes, or else from the file's name, unless it is given. `fields` are further
    ones that messages of the kind have; a `name` that is empty becomes that of the file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not of the kind, is too large, or does not say what it is.
    """
    if media_type is not None and not _is_of(kind, media_type):
        message = (
            f"expected the media type of {kind.PHRASE}, got {shown(media_type)}: write media_type='{kind().media_type}'"
        )
        raise ValueError(message)
    if isinstance(source, str) and source.startswith(_ADDRESSES):
        return kind(url=source, media_type=media_type or _of_address(kind, source), **fields)
    data = source if isinstance(source, bytes) else _content(Path(source))
    name = "" if isinstance(source, bytes) else Path(source).name
    if len(data) > MAX_FILE_BYTES:
        message = f"expected at most {MAX_FILE_BYTES:,} bytes, got more: give the address of the file instead"
        raise ValueError(message)
    if not fields.get("name", "has none"):
        fields["name"] = name
    return kind(data=data, media_type=media_type or _of_file(kind, data, name), **fields)


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES + 1)


def _of_address(kind: type[MediaMessage], address: str) -> str:
    """Return the media type that an address tells, or else the usual one of its kind."""
    if address.startswith(_DATA):
        told = address[len(_DATA) : address.find(",")].partition(";")[0]
        if not _is_of(kind, told):
            message = f"expected the address of {kind.PHRASE}, got one of {shown(told)}"
            raise ValueError(message)
        return told
    told = _of_name(urlsplit(address).path)
    return told if told is not None and _is_of(kind, told) else kind().media_type


def _of_file(kind: type[MediaMessage], data: bytes, name: str) -> str:
    candidates = [media_type for media_type, start in _STARTS.items() if start.match(data)][:1]
    told = _of_name(name)
    if told is not None and not (candidates or told in _STARTS):  # what begins otherwise is not what its name says
        candidates.append(told)
    elif not candidates and kind is DocumentMessage and _is_text(data):
        candidates.append("text/plain")
    if candidates and _is_of(kind, candidates[0]):
        return candidates[0]
    known = ", ".join(sorted({each.rpartition("/")[2] for each in _SUFFIXES.values() if _is_of(kind, each)}))
    found = f"{shown(name) if name else 'bytes'} of {candidates[0]}" if candidates else shown(name or data[:16])
    message = f"expected {kind.PHRASE} ({known}), got {found}: say what it is with media_type='{kind().media_type}'"
    raise ValueError(message)


def _of_name(name: str) -> str | None:
    return _SUFFIXES.get(name.rpartition(".")[2].lower())


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _is_of(kind: type[MediaMessage], media_type: str) -> bool:
    starts = _DOCUMENTS if kind is DocumentMessage else (f"{kind.KIND}/",)
    return _MEDIA_TYPE.fullmatch(media_type) is not None and media_type.startswith(starts)
