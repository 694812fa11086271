"""Tools made of the operations of an API."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from ez_ptc._warnings import warn_caller
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SchemaError, ToolError
from ez_ptc.openapi.documents import list_in, read_document
from ez_ptc.openapi.http import Client, HttpClient
from ez_ptc.openapi.operations import ApiOperation, read_operations
from ez_ptc.openapi.requests import build_request
from ez_ptc.openapi.responses import read_response
from ez_ptc.schema.safe_repr import safe_line
from ez_ptc.tools.tool import Tool

__all__ = ["openapi_tools"]

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
        requires_approval: Says whether an operation's calls require approval; by default, none does.

    Raises:
        SchemaError: The document is not an OpenAPI 3 document.
        MissingExtraError: It is YAML, and pyyaml is not installed.
        TypeError, ValueError: The client cannot be used.
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
    for operation in read_operations(document, sender.names, refuse):
        if include is not None and not include(operation):
            continue
        try:
            needs_approval = requires_approval is not None and bool(requires_approval(operation))
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
