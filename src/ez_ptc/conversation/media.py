"""Media messages (images, documents, audio, video) from bytes, files or URLs."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from ez_ptc.messages import DocumentMessage, MediaMessage
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_FILE_BYTES", "media_message"]

M = TypeVar("M", bound=MediaMessage)

# The maximum size of one file; no provider accepts more in a request.
MAX_FILE_BYTES: Final = 100 << 20

_SIGNATURES: Final[Mapping[str, re.Pattern[bytes]]] = {
    media_type: re.compile(signature, re.DOTALL)
    for media_type, signature in {
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
_DOCUMENT_PREFIXES: Final = ("application/", "text/")
_DATA_SCHEME: Final = "data:"
_URL_SCHEMES: Final = ("http://", "https://", "gs://", _DATA_SCHEME)


def media_message(
    message_class: type[M], source: bytes | str | Path, *, media_type: str | None = None, **fields: Any
) -> M:
    """Return a media message from bytes, a file's path, or a URL.

    The media type is read from the first bytes or the file's name, unless it is given. `fields` are other fields of the
    message class; an empty `name` becomes the file's name.

    Raises:
        OSError: The file cannot be read.
        ValueError: The media type does not match the class, the file is too large, or its type is unknown.
    """
    if media_type is not None and not _matches(message_class, media_type):
        message = (
            f"expected the media type of {message_class.PHRASE}, got {safe_repr(media_type)}: "
            f"write media_type='{message_class().media_type}'"
        )
        raise ValueError(message)
    if isinstance(source, str) and source.startswith(_URL_SCHEMES):
        return message_class(url=source, media_type=media_type or _type_of_url(message_class, source), **fields)
    if isinstance(source, bytes):
        data, name = source, ""
    else:
        name = Path(source).name
        data = _read(source)
    if len(data) > MAX_FILE_BYTES:
        message = f"expected at most {MAX_FILE_BYTES:,} bytes, got more: give a URL instead"
        raise ValueError(message)
    if not fields.get("name", "has none"):
        fields["name"] = name
    return message_class(data=data, media_type=media_type or _type_of_data(message_class, data, name), **fields)


def _read(source: str | Path) -> bytes:
    """Return the start of a file, a byte more than it may have. Raises OSError."""
    try:
        with Path(source).open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        # The system's error repeats all of it, and it may be the content of a file.
        message = f"expected a path or a URL, got {safe_repr(str(source))}: pass content as bytes"
        raise OSError(errno.ENAMETOOLONG, message) from None


def _type_of_url(message_class: type[MediaMessage], url: str) -> str:
    """Return the media type in a URL, or the class's default."""
    if url.startswith(_DATA_SCHEME):
        media_type = url[len(_DATA_SCHEME) : url.find(",")].partition(";")[0]
        if not _matches(message_class, media_type):
            message = f"expected the URL of {message_class.PHRASE}, got one of {safe_repr(media_type)}"
            raise ValueError(message)
        return media_type
    named = _type_of_name(urlsplit(url).path)
    if named is not None and _matches(message_class, named):
        return named
    return message_class().media_type


def _type_of_data(message_class: type[MediaMessage], data: bytes, name: str) -> str:
    media_type = next((type_ for type_, signature in _SIGNATURES.items() if signature.match(data)), None)
    named = _type_of_name(name)
    # A file without the signature of its name's type is not of that type.
    if media_type is None and named not in _SIGNATURES:
        media_type = named
    if media_type is None and message_class is DocumentMessage and _is_text(data):
        media_type = "text/plain"
    if media_type is not None and _matches(message_class, media_type):
        return media_type
    known = ", ".join(
        sorted({type_.rpartition("/")[2] for type_ in _SUFFIXES.values() if _matches(message_class, type_)})
    )
    actual = safe_repr(name or data[:16])
    if media_type is not None:
        actual = f"{safe_repr(name) if name else 'bytes'} of {media_type}"
    message = (
        f"expected {message_class.PHRASE} ({known}), got {actual}: "
        f"set its type with media_type='{message_class().media_type}'"
    )
    raise ValueError(message)


def _type_of_name(name: str) -> str | None:
    return _SUFFIXES.get(name.rpartition(".")[2].lower())


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _matches(message_class: type[MediaMessage], media_type: str) -> bool:
    if message_class is DocumentMessage:
        prefixes = _DOCUMENT_PREFIXES
    else:
        prefixes = (f"{message_class.KIND}/",)
    return _MEDIA_TYPE.fullmatch(media_type) is not None and media_type.startswith(prefixes)
