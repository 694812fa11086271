"""Opening the streams of a server: a process, or the SDK's streamable HTTP, watched for its end."""

from __future__ import annotations

import json
import logging
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

import httpcore2
import httpx2
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import ValidationError

from ez_ptc._bodies import LineEnds, exhaust
from ez_ptc._bounded_stream import ask_plainly, bound_body
from ez_ptc.mcp.client.transports.pipes import MAX_MESSAGE_BYTES, open_process, salvage_answer
from ez_ptc.redaction.quiet_logs import quiet_logs
from ez_ptc.redaction.quiet_urls import CompletedAddress
from ez_ptc.redaction.sources import secrets_in_headers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType
    from typing import Self

    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage

    from ez_ptc.mcp.client.settings import McpSettings
    from ez_ptc.mcp.client.transports.processes import ServerProcess
    from ez_ptc.mcp.client.transports.watch import ConnectionWatch

__all__ = ["open_transport"]

# Of the protocol, with names and arguments of tools; and what clients send beside it.
_PROTOCOL_PREFIX: Final = "mcp-"
# Of the many servers that were made from the TypeScript SDK's example, with the status 400.
_UNKNOWN_SESSION: Final = "No valid session ID"
# What some servers send with the status 404 and the id of the call: the code and the text of the TypeScript SDK.
_LOST_SESSION: Final = -32001, "session not found"
_PUBLIC_HEADERS: Final = frozenset({"baggage", "cache-control", "last-event-id", "pragma"})


@asynccontextmanager
async def open_transport(
    process: ServerProcess, watch: ConnectionWatch, settings: McpSettings
) -> AsyncGenerator[TransportStreams]:
    """Open the streams of a command or URL."""
    with quiet_logs(watch.redactor, "mcp", "client", httpx2.__name__, httpcore2.__name__):
        async with _open_streams(process, watch, settings) as streams:
            yield streams


@asynccontextmanager
async def _open_streams(
    process: ServerProcess, watch: ConnectionWatch, settings: McpSettings
) -> AsyncGenerator[TransportStreams]:
    address = process.address
    _quiet_sdk()
    if address.url is not None:
        client = create_mcp_http_client(
            headers={**settings.headers, **address.headers}, auth=cast("Any", settings.auth)
        )
        url = CompletedAddress(address.url, is_endpoint=True)

        async def prepare(request: httpx2.Request) -> None:
            ask_plainly(request)
            url.complete(request)
            # Of an authentication, which the settings do not have.
            headers = [item for item in request.headers.items() if not item[0].startswith(_PROTOCOL_PREFIX)]
            watch.redactor.add(secrets_in_headers(headers, _PUBLIC_HEADERS))

        client.event_hooks = {"request": [prepare], "response": [_bound_body, _tell_lost_session]}
        async with client as http, streamable_http_client(url.visible, http_client=http) as (reads, writes):
            yield _WatchedStream(reads, watch), writes
        return
    async with open_process(process, watch) as streams:
        yield streams


async def _bound_body(response: httpx2.Response) -> None:
    """Give a body the size that a message of a process has; of a stream of events, the SDK bounds each.

    The lines of events become those that the SDK's decoder reads without mistakes, in UTF-8 as the standard says.
    """
    is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    # An error that the SDK answers the request with.
    too_large = httpx2.StreamError(f"the answer has more than {MAX_MESSAGE_BYTES >> 20} MiB")
    bound_body(response, None if is_stream else MAX_MESSAGE_BYTES, too_large, httpx2.StreamError)
    if is_stream:
        response.headers["content-type"] = "text/event-stream; charset=utf-8"
        response.stream = _EventStream(cast("httpx2.AsyncByteStream", response.stream))
    elif response.headers.get("content-type", "").lower().startswith("application/json"):
        response.stream = _JsonBody(cast("httpx2.AsyncByteStream", response.stream))


async def _tell_lost_session(response: httpx2.Response) -> None:
    """Have the SDK tell of a lost session, whatever the JSON: it passes an error in it on as that of the request.

    The status says it, and servers send errors of several codes and texts with it, most of them without the request's
    id. But some send the errors of calls with this status too: such a call has run, and must not be repeated.
    """
    request, lost = response.request, httpx2.codes.NOT_FOUND
    is_json = response.headers.get("content-type", "").lower().startswith("application/json")
    if not is_json or request.method != "POST" or "mcp-session-id" not in request.headers:
        return
    if response.status_code not in (lost, httpx2.codes.BAD_REQUEST):
        return
    with suppress(httpx2.StreamError, ValidationError):  # the SDK then goes by the status
        answer = types.JSONRPCError.model_validate_json(await response.aread(), by_name=False)
        error, is_of_call = answer.error, answer.id == json.loads(request.content).get("id")
        if response.status_code != lost:
            is_lost = _UNKNOWN_SESSION in error.message
        else:
            is_lost = error.code != types.METHOD_NOT_FOUND
        # The text of a call's own error may speak of any session, such as one of a shop's till.
        if is_lost and (not is_of_call or (error.code, error.message.lower()) == _LOST_SESSION):
            response.status_code = lost
            response.headers["content-type"] = "text/plain"


class _EventStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        line_ends = LineEnds()
        chunks = aiter(self._stream)
        try:
            async for chunk in chunks:
                yield line_ends.feed(chunk)
        finally:
            await exhaust(chunks)

    async def aclose(self) -> None:
        await self._stream.aclose()


class _JsonBody(_EventStream):
    """A body whose message is salvaged as one of a process is, if the SDK could not read it."""

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        chunks = aiter(self._stream)
        try:
            body = b"".join([chunk async for chunk in chunks])
        finally:
            await exhaust(chunks)
        try:
            types.jsonrpc_message_adapter.validate_json(body, by_name=False)
        except ValueError as error:
            message = salvage_answer(body.decode(errors="replace"), error)
            if message is not None:
                body = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        yield body


class _WatchedStream:
    """A transport's stream of messages: notes its end, and takes broken tools out of listings."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], watch: ConnectionWatch) -> None:
        self._stream = stream
        self._watch = watch

    @property
    def last_context(self) -> object:
        """The context of the last message, which the SDK asks for."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return self._check(await self._stream.receive())
        except BaseException:
            self._watch.is_ended = True
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> ReadStream[SessionMessage | Exception]:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return self._check(await self._stream.__anext__())
        except BaseException:  # the end, or a failure; both end the connection
            self._watch.is_ended = True
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)

    def _check(self, message: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(message, Exception):
            self._watch.take_garbage(message)
            return message
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        cleaned = self._watch.clean_message(text)
        if cleaned != text:
            message.message = types.jsonrpc_message_adapter.validate_json(cleaned, by_name=False)
        self._watch.check_listing(message.message)
        return message


@cache
def _quiet_sdk() -> None:
    """Keep the SDK's warnings, which quote servers, off standard error if the application configures no logging."""
    for name in ("mcp", "client"):
        logging.getLogger(name).addHandler(logging.NullHandler())
