"""The standard streams of a server's process as streams of messages.

The SDK's transport passes each message through two tasks and a text decoder, at the cost of a third of a call, and
keeps a line of any length. This one parses lines as they arrive, and ends a server after `MAX_MESSAGE_BYTES` without a
newline.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import string
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from ez_ptc.mcp.client.transports.processes import end_process
from ez_ptc.mcp.client.transports.watch import MAX_LEVELS, MAX_STDERR_LINE, invalid_text
from ez_ptc.schema.arguments.json_text import read_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType
    from typing import Self

    from mcp.client._transport import TransportStreams

    from ez_ptc.mcp.client.transports.processes import ServerProcess
    from ez_ptc.mcp.client.transports.watch import ConnectionWatch

__all__ = ["MAX_MESSAGE_BYTES", "open_process", "salvage_answer"]

# Reading a message three times takes long if it is large.
_MAX_LENGTH: Final = 4 * 2**20
_HEAD: Final = 200
_ID: Final = re.compile(r'"id"\s*:\s*(\d{1,15})\s*[,}]')


def salvage_answer(text: str, error: ValueError) -> types.JSONRPCResponse | types.JSONRPCError | None:
    """Return the answer in a line that the parser has refused, or None if it is no answer.

    Half of a surrogate pair, deep nesting and an empty result that is no object do not make an answer unusable. If it
    is, an error takes its place: the server's own one, if there is one.
    """
    content = _lenient(text)
    if content is None or "method" in content or type(content.get("id")) not in (int, str):  # True is an int
        return None
    # PHP writes an empty object as a list.
    if content.get("result", ...) in (None, []) and not content.get("error"):
        content["result"] = {}
    try:
        return types.JSONRPCResponse.model_validate(content, by_name=False)
    except ValueError as later:
        reason = invalid_text(error if "result" not in content and "error" not in content else later)
    # An error in a form that the protocol does not have, such as a text alone, is passed on with all that it says.
    words: object = content.get("error") or f"the server's answer is invalid: {reason}"
    fields = {"message": words}
    if isinstance(words, dict):
        fields = cast("dict[str, object]", words)
    message = fields.get("message")
    data = {key: value for key, value in fields.items() if key != "message"}
    if not isinstance(message, str):
        message, data = json.dumps(words, ensure_ascii=False), {}
    problem = types.ErrorData(code=types.INTERNAL_ERROR, message=message, data=data or None)
    return types.JSONRPCError(jsonrpc="2.0", id=content["id"], error=problem)


def _lenient(text: str) -> dict[str, Any] | None:
    """Return a message by Python's parser, without halves of surrogate pairs; if it fails too, only the id."""
    if len(text) <= _MAX_LENGTH:
        try:
            content: object = read_json(text, levels=MAX_LEVELS)
            content = json.loads(json.dumps(content, ensure_ascii=False).encode(errors="replace"))
        except (ValueError, RecursionError):
            pass
        else:
            return cast("dict[str, Any]", content) if isinstance(content, dict) else None
    match = _ID.search(text, 0, _HEAD)
    if match is None or '"method"' in text[:_HEAD]:
        return None
    return {"id": int(match[1])}


MAX_MESSAGE_BYTES: Final = 64 * 2**20
"""Far more than servers are known to send; a program could not keep such a value either."""

# Messages that may wait for the session before the server has to wait.
_MAX_WAITING: Final = 64
# A credential that is cut in two would not be found, so the line is cut after the search.
_MAX_STDERR_BYTES: Final = 16 * MAX_STDERR_LINE
# Before a message.
_BLANKS: Final = codecs.BOM_UTF8 + string.whitespace.encode()
# For the server to read what it was sent.
_FLUSH_SECONDS: Final = 0.5


@asynccontextmanager
async def open_process(starting: ServerProcess, watch: ConnectionWatch) -> AsyncGenerator[TransportStreams]:
    """Yield the streams of a server's messages; end it, with descendants that still have its streams.

    Raises as `ServerProcess.take` does.
    """
    loop = asyncio.get_running_loop()
    process = await starting.take()
    messages, errors = _Messages(watch), _StderrLines(watch)
    output = _Output(messages.ended)
    try:
        await loop.connect_read_pipe(lambda: errors, process.stderr)
        await loop.connect_read_pipe(lambda: messages, process.stdout)
        await loop.connect_write_pipe(lambda: output, process.stdin)
        yield messages, output
    finally:
        with anyio.CancelScope(shield=True):
            await messages.aclose()
            await output.finish()
            await end_process(process, lambda: messages.is_released and errors.is_released)
            for pipe in (messages, output, errors):
                await pipe.close()
            for file in (process.stdin, process.stdout, process.stderr):
                if file is not None:  # as it is after a cancellation between the connections
                    file.close()


class _Pipe(asyncio.Protocol):
    """One of the server's standard streams."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.ended.set()

    @property
    def is_released(self) -> bool:
        """Whether no process has the other end any more."""
        return self.transport is None or self.ended.is_set()

    async def close(self) -> None:
        """Close the pipe, and wait until that is done."""
        if self.transport is not None:
            self.transport.close()
            await self.ended.wait()

    # What the SDK asks of streams.

    async def aclose(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _Messages(_Pipe):
    """The messages of a server, in its order; other lines go to the watch."""

    last_context = None

    def __init__(self, watch: ConnectionWatch) -> None:
        super().__init__()
        self._watch = watch
        self._waiting: deque[SessionMessage] = deque()
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._reader: asyncio.Future[None] | None = None
        self._is_closed = False

    def data_received(self, data: bytes) -> None:
        if self._is_closed:  # a server that is blocked in writing could not exit
            return
        first, *lines = data.split(b"\n")
        self._line.append(first)
        self._line_bytes += len(first)
        if self._line_bytes > MAX_MESSAGE_BYTES:
            self._watch.take_note(f"it sent a message of more than {MAX_MESSAGE_BYTES // 2**20} MiB")
            self._stop()
            return
        if not lines:
            return
        self._receive(b"".join(self._line))
        for line in lines[:-1]:
            self._receive(line)
        self._line, self._line_bytes = [lines[-1]], len(lines[-1])
        if len(self._waiting) > _MAX_WAITING:
            self.transport.pause_reading()
        self._notify()

    def _receive(self, line: bytes) -> None:
        # A broken character makes a line invalid at most, and a byte order mark says nothing.
        text = self._watch.clean_message(line.decode(errors="replace").strip().lstrip("\ufeff"))
        if not text:
            return
        try:
            message = types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError as error:
            message = salvage_answer(text, error)
            if not isinstance(message, types.JSONRPCResponse):
                self._watch.take_garbage(error)
        if message is not None:
            self._watch.check_listing(message)
            self._waiting.append(SessionMessage(message))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        rest = b"".join(self._line).lstrip(_BLANKS)
        # A cut message or batch is not quoted; text without a newline may be the reason of the server's end.
        if not self._is_closed and not rest.startswith((b"{", b"[")):
            # An error quotes its beginning only.
            beginning = rest[:_MAX_STDERR_BYTES].decode(errors="replace")
            if not self._watch.redactor.has_part(beginning):
                self._receive(rest)
        self._stop()

    def _stop(self) -> None:
        self._is_closed = True
        self._watch.is_ended = True
        self._notify()

    def _notify(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Raises anyio.EndOfStream after the last."""
        while not self._waiting:
            if self._is_closed:
                raise anyio.EndOfStream
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        message = self._waiting.popleft()
        if len(self._waiting) == _MAX_WAITING:
            self.transport.resume_reading()
        return message

    async def aclose(self) -> None:
        """Drop what arrives from now on."""
        self._stop()
        if self.transport is not None:
            self.transport.resume_reading()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Output(_Pipe):
    """The messages to a server, which says until `answers_ended` why it takes no more."""

    def __init__(self, answers_ended: asyncio.Event) -> None:
        super().__init__()
        self._answers_ended = answers_ended
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def send(self, item: SessionMessage) -> None:
        """Send a message. Raises anyio.BrokenResourceError if the server has ended."""
        if self.transport is None or self.transport.is_closing():
            with anyio.move_on_after(_FLUSH_SECONDS):
                await self._answers_ended.wait()
            raise anyio.BrokenResourceError
        self.transport.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        if not self._writable.is_set():
            await self._writable.wait()
            if self.ended.is_set():
                raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """End the server's input after what it was sent."""
        if self.transport is not None:
            self.transport.close()

    async def finish(self) -> None:
        """End the server's input, and wait until the server has read it, or for a moment."""
        await self.aclose()
        if self.transport is None:
            return
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self.ended.wait()
        if not self.ended.is_set():
            self.transport.abort()


class _StderrLines(_Pipe):
    def __init__(self, watch: ConnectionWatch) -> None:
        super().__init__()
        self._watch = watch
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._watch.take_stderr(line[:_MAX_STDERR_BYTES].decode(errors="replace"))
        self._rest = rest[:_MAX_STDERR_BYTES]
        self._watch.unfinished_line = self._rest.decode(errors="replace")
