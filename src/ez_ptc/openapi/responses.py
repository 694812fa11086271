"""What a program gets of a response."""

import json
from typing import Final

from ez_ptc._bodies import safe_charset
from ez_ptc.errors import ToolError
from ez_ptc.openapi.documents import clean_text
from ez_ptc.openapi.http import MAX_RESPONSE_BYTES, ApiResponse, too_large
from ez_ptc.openapi.operations import ApiOperation, is_text_type
from ez_ptc.redaction.redactor import Redactor
from ez_ptc.schema.arguments.json_text import MAX_DEPTH, is_too_deep

__all__ = ["read_response"]

_MAX_ERROR_LENGTH: Final = 2_000


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
        # All of it, before it is cut: half of a secret would not be found.
        redactor = Redactor(response.secrets, addresses=response.addresses)
        text = redactor.text(_decoded(response.content, parameters)).strip()
        if text and "\0" not in text:
            message += f": {clean_text(text, _MAX_ERROR_LENGTH)}"
        raise ToolError(message)
    if not response.content:
        return None
    is_json = media_type == "application/json" or media_type.endswith("+json")
    if is_json or (not media_type and response.content.lstrip()[:1] in (b"{", b"[")):
        return _read_json(operation, response)
    if is_text_type(media_type):
        return Redactor(response.secrets).text(_decoded(response.content, parameters))
    return Redactor(response.secrets).content(response.content)


def _read_json(operation: ApiOperation, response: ApiResponse) -> object:
    try:
        text = response.content.decode(json.detect_encoding(response.content), "surrogatepass")
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        message = f"{operation.name}: the API answered with status {response.status}, and with JSON that is invalid"
        raise ToolError(message) from None
    if is_too_deep(value):
        message = f"{operation.name}: the API answered with JSON of more than {MAX_DEPTH} levels"
        raise ToolError(message)
    redactor = Redactor(response.secrets)
    # Most responses repeat no secret, and searching the whole text is cheaper than visiting each value.
    return redactor.value(value) if redactor.is_in(text) else value


def _decoded(content: bytes, parameters: str) -> str:
    charset = json.detect_encoding(content)  # what its first bytes say, and UTF-8 otherwise
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            charset = value.strip().strip("\"'")
    return content.decode(safe_charset(charset), "replace")
