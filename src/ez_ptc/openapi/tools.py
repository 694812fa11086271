"""Tools made of the operations of an API."""

import json
import os
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from ez_ptc._bodies import safe_charset
from ez_ptc._warnings import warn_caller
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SchemaError, ToolError
from ez_ptc.openapi.documents import clean_text, list_in, read_document
from ez_ptc.openapi.http import MAX_RESPONSE_BYTES, ApiResponse, Client, HttpClient, too_large
from ez_ptc.openapi.operations import ApiOperation, is_text_type, read_operations
from ez_ptc.openapi.requests import build_request
from ez_ptc.redaction.redactor import Redactor
from ez_ptc.schema.arguments.json_text import MAX_DEPTH, is_too_deep, read_json
from ez_ptc.schema.safe_repr import safe_line
from ez_ptc.tools.approvals.approval import verdict_problem
from ez_ptc.tools.tool import Tool

__all__ = ["openapi_tools", "read_response"]

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
    if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
        message = f"{operation.name}: the API answered with status {response.status}"
        # All of it, before it is cut: half of a secret would not be found.
        redactor = Redactor(response.secrets, addresses=response.addresses)
        text = redactor.text(_decode(response.content, parameters)).strip()
        if text and "\0" not in text:
            message += f": {clean_text(text, _MAX_ERROR_LENGTH)}"
        raise ToolError(message)
    if not response.content:
        return None
    is_json = media_type.endswith(("/json", "+json"))
    if is_json or (not media_type and response.content.lstrip()[:1] in (b"{", b"[")):
        return _read_json(operation, response)
    if is_text_type(media_type):
        return Redactor(response.secrets).text(_decode(response.content, parameters))
    return Redactor(response.secrets).content(response.content)


def _read_json(operation: ApiOperation, response: ApiResponse) -> object:
    try:
        text = response.content.decode(json.detect_encoding(response.content), "surrogatepass")
        value = read_json(text)
    except ValueError:
        message = f"{operation.name}: the API answered with status {response.status}, and with JSON that is invalid"
        raise ToolError(message) from None
    except RecursionError:
        raise _too_deep(operation) from None
    if is_too_deep(value):
        raise _too_deep(operation)
    redactor = Redactor(response.secrets)
    # Most responses repeat no secret, and searching the whole text is cheaper than visiting each value.
    return redactor.value(value) if redactor.is_in(text) else value


def _too_deep(operation: ApiOperation) -> ToolError:
    return ToolError(f"{operation.name}: the API answered with JSON of more than {MAX_DEPTH} levels")


def _decode(content: bytes, parameters: str) -> str:
    charset = json.detect_encoding(content)  # what its first bytes say, and UTF-8 otherwise
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            charset = value.strip().strip("\"'")
    return content.decode(safe_charset(charset), "replace")


_MAX_SERVERS: Final = 3


@explain_calls
def openapi_tools(
    spec: Mapping[str, Any] | str | os.PathLike[str],
    *,
    client: HttpClient | object,
    include: Callable[[ApiOperation], bool] | None = None,
    requires_approval: Callable[[ApiOperation], bool] | None = None,
) -> list[Tool[..., Any]]:
    """Return a tool for each operation of an OpenAPI document. `Toolkit.from_openapi` makes a toolkit of them.

    Operations that only read (GET, HEAD) are declared `read_only`. A `UserWarning` names each operation that cannot
    become a tool, and says why.

    Args:
        spec: The document, of version 3.0 to 3.2: a dict, the path of a file, or JSON or YAML text.
        client: What sends the requests: an `httpx.Client` or `AsyncClient` with a base URL and the credentials, or a
            function that takes an `ApiRequest` and returns an `ApiResponse`. Neither reaches a model or a program.
        include: Chooses operations; by default, all.
        requires_approval: Returns True if an operation's calls require approval, or False; by default, none does.

    Raises:
        SchemaError: The document is not an OpenAPI 3 document.
        MissingExtraError: It is YAML, and pyyaml is not installed.
        TypeError, ValueError: The client cannot be used, or `requires_approval` returned neither True nor False.
        OSError: The file cannot be read.
    """
    document = read_document(spec)
    servers = [str(server["url"]) for server in list_in(document.root, "servers") if "url" in server]
    hint = ""
    if servers:
        hint = f"; the document names {', '.join(map(safe_line, servers[:_MAX_SERVERS]))}"
    sender = Client.of(client, hint)

    def refuse(operation: str, reason: str) -> None:
        warn_caller(f"the operation {safe_line(operation)} is no tool: {safe_line(reason)}")

    tools: list[Tool[..., Any]] = []
    for operation in read_operations(document, sender.names, refuse, include):
        needs_approval = requires_approval is not None and requires_approval(operation)
        if needs_approval is not True and needs_approval is not False:
            message = f"{operation.name}: {verdict_problem(requires_approval, needs_approval)}"
            raise TypeError(message)
        try:
            tools.append(_tool(operation, sender, requires_approval=needs_approval))
        except SchemaError as error:
            refuse(f"{operation.name} ({operation.method} {operation.path})", str(error))
    return tools


def _tool(operation: ApiOperation, client: Client, *, requires_approval: bool) -> Tool[..., Any]:
    def call(**arguments: Any) -> object:
        request = build_request(operation, arguments)
        try:
            response = client.send(request)
        except ToolError:
            raise
        except Exception as error:  # the client is foreign code, and its messages may have its credentials
            raise _unreachable(operation, error) from error
        return read_response(operation, response)

    async def acall(**arguments: Any) -> object:
        request = build_request(operation, arguments)
        try:
            response = await client.send(request)
        except ToolError:
            raise
        except Exception as error:  # the client is foreign code, and its messages may have its credentials
            raise _unreachable(operation, error) from error
        return read_response(operation, response)

    return Tool(
        operation.name,
        operation.description,
        operation.arguments,
        acall if client.is_async else call,
        return_schema=operation.returns,
        read_only=operation.is_reading or None,
        requires_approval=requires_approval,
    )


def _unreachable(operation: ApiOperation, error: Exception) -> ToolError:
    return ToolError(f"{operation.name}: the API could not be asked ({type(error).__name__})")
