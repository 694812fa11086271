"""Opening a server's streams: the SDK's transports, watched for the end of the server and for broken listings."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import ValidationError

from ez_ptc.mcp.client.texts import error_line
from ez_ptc.schema.safe_repr import safe_name, safe_repr

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from types import TracebackType
    from typing import Self

    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage

    from ez_ptc.mcp.client.servers import ServerAddress

__all__ = ["Watch", "open_transport"]

# Of a server that ends, the last lines say why.
_STDERR_LINES: Final = 5
_MAX_LINE: Final = 400
_log = logging.getLogger("ez_ptc.mcp")
_log.addHandler(logging.NullHandler())


class Watch:
    """What is known of a connection: whether the server has ended, its last words, and lines that are no messages."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.is_ended = False
        self.garbage: str | None = None
        self._last_words: deque[str] = deque(maxlen=_STDERR_LINES)

    def take_stderr(self, line: str) -> None:
        """Keep a line that the server wrote on standard error."""
        if line := error_line(line.strip()[:_MAX_LINE]):
            self._last_words.append(line)
            _log.debug("%s: %s", self.server, line)

    def take_garbage(self, error: Exception) -> None:
        """Keep the first line that is not a message of the protocol."""
        if self.garbage is None:
            sample: object = None
            if isinstance(error, ValidationError):
                sample = error.errors(include_url=False)[0].get("input")
            self.garbage = safe_repr(sample) if isinstance(sample, str) else error_line(type(error).__name__)
            _log.warning("%s wrote a line that is not a message of the protocol: %s", self.server, self.garbage)

    def explain(self) -> str:
        """Return what the server wrote, as an addition to an error message, or ""."""
        text = ""
        if self.garbage is not None:
            text += f"; it wrote {self.garbage}, which is not a message of the protocol"
        if self._last_words:
            text += f"; its last words: {' | '.join(self._last_words)}"
        return text


@asynccontextmanager
async def open_transport(
    address: ServerAddress, watch: Watch, headers: Mapping[str, str], auth: object
) -> AsyncGenerator[TransportStreams]:
    """Open the streams of a command or URL."""
    _quiet_sdk()
    if address.url is not None:
        async with (
            create_mcp_http_client(headers={**headers, **address.headers}, auth=cast("Any", auth)) as http,
            streamable_http_client(address.url, http_client=http) as (reads, writes),
        ):
            yield _WatchedStream(reads, watch), writes
        return
    parameters = StdioServerParameters(
        command=address.command[0],
        args=list(address.command[1:]),
        env=dict(address.env),
        cwd=address.cwd,
        # A broken character is an invalid line, not the end of the connection.
        encoding_error_handler="replace",
    )
    async with _stderr_lines(watch) as error_pipe, stdio_client(parameters, errlog=cast("Any", error_pipe)) as streams:
        reads, writes = streams
        yield _WatchedStream(reads, watch), writes


@asynccontextmanager
async def _stderr_lines(watch: Watch) -> AsyncGenerator[int]:
    """Yield a descriptor for a server's standard error; its lines go to `watch`, never to our terminal."""
    reading, writing = os.pipe()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: _LineProtocol(watch), os.fdopen(reading, "rb", buffering=0)
    )
    try:
        yield writing
    finally:
        os.close(writing)
        transport.close()


class _LineProtocol(asyncio.Protocol):
    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._watch.take_stderr(line[:_MAX_LINE].decode(errors="replace"))
        self._rest = rest[:_MAX_LINE]


class _WatchedStream:
    """A transport's stream of messages: notes its end, and takes broken tools out of listings."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], watch: Watch) -> None:
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
        result: object = getattr(message.message, "result", None)
        if isinstance(result, dict) and "tools" in result and "content" not in result:
            _keep_valid_tools(cast("dict[str, Any]", result), self._watch.server)
        return message


def _keep_valid_tools(result: dict[str, Any], server: str) -> None:
    """Take tools that are none out of a listing, which the SDK would refuse as a whole."""
    tools: object = result["tools"]
    if not isinstance(tools, list):
        return
    valid: list[object] = []
    for tool in cast("list[object]", tools):
        problem = _problem_of(tool)
        if problem is None:
            valid.append(tool)
        else:
            name = safe_name(cast("dict[str, object]", tool).get("name")) if isinstance(tool, dict) else "a tool"
            _log.warning("%s of the MCP server %s is left out: %s", name, server, problem)
    result["tools"] = valid


def _problem_of(tool: object) -> str | None:
    if not isinstance(tool, dict):
        return f"expected an object, got {safe_repr(tool)}"
    fields = cast("dict[str, Any]", tool)
    schema: object = fields.setdefault("inputSchema", {"type": "object"})
    if isinstance(schema, dict):
        type_ = cast("dict[str, object]", schema).setdefault("type", "object")
        if type_ != "object":
            return f"expected an input schema of the type 'object', got {safe_repr(type_)}"
    output: object = fields.get("outputSchema")
    if output is not None and not (
        isinstance(output, dict) and cast("dict[str, object]", output).get("type") == "object"
    ):
        # The tool works without it; results arrive as they are.
        del fields["outputSchema"]
    try:
        types.Tool.model_validate(fields, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return error_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return None


@cache
def _quiet_sdk() -> None:
    """Keep the SDK's warnings, which quote servers, off standard error if the application configures no logging."""
    for name in ("mcp", "client"):
        logging.getLogger(name).addHandler(logging.NullHandler())
