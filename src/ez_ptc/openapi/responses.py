"""What a program gets of a response."""

import json
from typing import Final

from ez_ptc.errors import ToolError
from ez_ptc.openapi.documents import clean_text
from ez_ptc.openapi.http import MAX_RESPONSE_BYTES, ApiResponse, too_large
from ez_ptc.openapi.operations import ApiOperation, is_text_type
from ez_ptc.schema.arguments.json_text import MAX_DEPTH, is_too_deep

__all__ = ["read_response"]

_MAX_ERROR_LENGTH: Final = 2_000
_REMOVED: Final = "[removed]"


def read_response(operation: ApiOperation, response: object) -> object:
    """Return the value of a successful response: JSON as data, text, or bytes; None if it has no body.

    Raises ToolError for any other status, with the status and the start of the body.
    """
    if not isinstance(response, ApiResponse):
        message = f"{operation.name}: the client returned {type(response).__name__} instead of an ApiResponse"
        raise ToolError(message)
    if len(response.content) > MAX_RESPONSE_BYTES:
        raise too_large()
    media_type, _, parameters = response.content_type.lower().partition(";")
    media_type = media_type.strip()
    if not 200 <= response.status < 300:  # noqa: PLR2004 - HTTP's successes
        message = f"{operation.name}: the API answered with status {response.status}"
        start = _decoded(response.content[: _MAX_ERROR_LENGTH * 8], parameters)
        text = _without(response.secrets, start).strip()
        if text and "\0" not in text:
            message += f": {clean_text(text, _MAX_ERROR_LENGTH)}"
        raise ToolError(message)
    if not response.content:
        return None
    is_json = media_type == "application/json" or media_type.endswith("+json")
    if is_json or (not media_type and response.content.lstrip()[:1] in (b"{", b"[")):
        return _read_json(operation, response)
    if is_text_type(media_type):
        return _without(response.secrets, _decoded(response.content, parameters))
    return _without_bytes(response.secrets, response.content)


def _read_json(operation: ApiOperation, response: ApiResponse) -> object:
    try:
        value: object = json.loads(_without_bytes(response.secrets, response.content))
    except (ValueError, RecursionError):
        message = f"{operation.name}: the API answered with status {response.status}, and with JSON that is invalid"
        raise ToolError(message) from None
    if is_too_deep(value):
        message = f"{operation.name}: the API answered with JSON of more than {MAX_DEPTH} levels"
        raise ToolError(message)
    return value


def _decoded(content: bytes, parameters: str) -> str:
    charset = "utf-8"
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            charset = value.strip().strip("\"'")
    try:
        return content.decode(charset, "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


def _without(secrets: frozenset[str], text: str) -> str:
    # The longest first: one may be a part of another.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _REMOVED)
    return text


def _without_bytes(secrets: frozenset[str], content: bytes) -> bytes:
    for secret in sorted(secrets, key=len, reverse=True):
        content = content.replace(secret.encode("utf-8", "surrogateescape"), _REMOVED.encode())
    return content
