"""A server's process, and its standard streams as streams of messages.

The SDK's transport passes each message through two tasks and a text decoder, at the cost of a third of a call, and
keeps a line of any length. This one parses lines as they arrive, and ends a server after `MAX_MESSAGE_BYTES` without a
newline.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections import deque
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from ez_ptc.mcp.client.transports.watch import MAX_STDERR_LINE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from mcp.client._transport import TransportStreams

    from ez_ptc.mcp.client.transports.watch import Watch

__all__ = ["MAX_MESSAGE_BYTES", "open_process"]

MAX_MESSAGE_BYTES: Final = 64 * 2**20
"""Far more than servers are known to send; a program could not keep such a value either."""

# Messages that may wait for the session before the server has to wait.
_MAX_WAITING: Final = 64
# Seconds for the server to read what it was sent, to exit after its input has ended, and after it was asked to.
_FLUSH_SECONDS: Final = 0.5
_EXIT_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.01


@asynccontextmanager
async def open_process(
    command: Sequence[str], env: Mapping[str, str], cwd: str | None, watch: Watch
) -> AsyncGenerator[TransportStreams]:
    """Start a server, and yield the streams of its messages; end it, with its descendants unless it exits by itself.

    Raises OSError if it cannot be started, ValueError if an argument contains a NUL.
    """
    loop = asyncio.get_running_loop()
    process = await _spawn(command, env, cwd)
    messages, output, errors = _Messages(watch), _Output(), _StderrLines(watch)
    try:
        await loop.connect_read_pipe(lambda: errors, process.stderr)
        await loop.connect_read_pipe(lambda: messages, process.stdout)
        await loop.connect_write_pipe(lambda: output, process.stdin)
        yield messages, output
    finally:
        with anyio.CancelScope(shield=True):
            await messages.aclose()
            await output.finish()
            await _end(process)
            # Descendants of the server may hold them open.
            for pipe in (messages, output, errors):
                await pipe.close()
            for file in (process.stdin, process.stdout, process.stderr):
                if file is not None:  # as it is after a cancellation between the connections
                    file.close()


async def _spawn(command: Sequence[str], env: Mapping[str, str], cwd: str | None) -> subprocess.Popen[bytes]:
    """Start a process in a thread of the loop's own, because some die with the thread that started them."""

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )

    spawning = asyncio.get_running_loop().run_in_executor(None, start)
    try:
        return await asyncio.shield(spawning)
    except asyncio.CancelledError:
        spawning.add_done_callback(_discard)
        raise


def _discard(spawning: asyncio.Future[subprocess.Popen[bytes]]) -> None:
    if not spawning.cancelled() and spawning.exception() is None:
        process = spawning.result()
        _signal_group(process, signal.SIGKILL)
        process.communicate()


async def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process whose input has ended; signal its group if that takes long."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        if await _has_exited(process):
            return
        _signal_group(process, signal_number)
    await _has_exited(process)


async def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    with anyio.move_on_after(_EXIT_SECONDS):
        while process.poll() is None:  # noqa: ASYNC110 - nothing on all systems tells of the end
            await anyio.sleep(_POLL_SECONDS)
    return process.returncode is not None


def _signal_group(process: subprocess.Popen[bytes], signal_number: int) -> None:
    # Its group is its own, and has its id as long as it has not been waited for.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal_number)


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

    def __init__(self, watch: Watch) -> None:
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
        # A broken character makes a line invalid at most.
        text = line.decode(errors="replace").strip()
        if not text:
            return
        try:
            message = types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError as error:
            self._watch.take_garbage(error)
        else:
            self._watch.check_listing(message)
            self._waiting.append(SessionMessage(message))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
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
    """The messages to a server."""

    def __init__(self) -> None:
        super().__init__()
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
    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._watch.take_stderr(line[:MAX_STDERR_LINE].decode(errors="replace"))
        self._rest = rest[:MAX_STDERR_LINE]
