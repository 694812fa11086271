"""The asynchronous driver: runs one exchange from an event loop (asyncio or trio) without blocking it."""

from __future__ import annotations

import contextlib
import math
import socket
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ez_ptc._sync import to_thread
from ez_ptc.sandbox.host.calling import program_call
from ez_ptc.sandbox.host.idle_programs import Silence
from ez_ptc.sandbox.protocol.frames import Received
from ez_ptc.schema.arguments.value_sizes import MAX_WRITTEN, is_little
from ez_ptc.tools.call_lifetime import CallInterrupted

if TYPE_CHECKING:
    from collections.abc import Generator

    from anyio.abc import TaskGroup

    from ez_ptc.sandbox.host.pool import Lease
    from ez_ptc.sandbox.protocol.exchange import Exchange
    from ez_ptc.sandbox.protocol.frames import CallFrame
    from ez_ptc.sandbox.protocol.interfaces import Channel

__all__ = ["AwaitingDriver"]

_CHUNK = 1 << 16
# Other systems than Linux have no such flag, but no such signal in Python either.
_NO_SIGNAL: int = getattr(socket, "MSG_NOSIGNAL", 0)
# Frames of more bytes are read in a worker thread.
_LARGE = 100_000


class AwaitingDriver:
    """Runs one exchange with one worker."""

    def __init__(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        self._exchange = exchange
        self._lease = lease
        self._socket = lease.worker.socket
        self._channel = channel
        self._sending = anyio.Lock()
        self._failure: BaseException | None = None
        self._scope = anyio.CancelScope()
        self._questions = 0
        self._left = 0.0

    async def run(self) -> None:
        """Return when the program ends or is stopped, or its worker is lost. It may be cancelled at any point.

        Raises exceptions of listeners, and those of tools that are not an Exception.
        """
        async with anyio.create_task_group() as group:
            # OSError: the worker is lost, and the backend asks the zygote for its exit code.
            with contextlib.suppress(OSError):
                await self._within_limits(group)
            # No one needs the results of calls that are still running.
            group.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def _within_limits(self, group: TaskGroup) -> None:
        limits = self._exchange.limits
        with anyio.move_on_after(limits.timeout) as scope:
            self._scope = scope
            calls = self._exchange.waiting_calls
            if not calls:
                try:
                    await self._send(self._exchange.opening())
                except OSError:
                    self._exchange.change("miss")
                    raise
            for call in calls:
                await self._dispatch(call, group)
            await self._converse(group)
        if scope.cancelled_caught and self._exchange.stop():
            self._lease.worker.interrupt()
            with anyio.move_on_after(limits.grace):
                await self._converse(group)

    async def _converse(self, group: TaskGroup) -> None:
        exchange = self._exchange
        if not await self._lease.ais_cleared(exchange):
            return
        while not exchange.is_over:
            try:
                data = self._socket.recv(_CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            if not data:
                return
            if exchange.reader.unread_bytes + len(data) <= _LARGE:
                calls = exchange.receive(data)
            else:
                # To the end: another reader could not continue a partly read frame. It takes a second at most.
                received = Received([])
                with anyio.CancelScope(shield=True):
                    received = await to_thread(exchange.reader.read, data)
                calls = exchange.receive_frames(received)
            for call in calls:
                await self._dispatch(call, group)
            if exchange.observer is not None:
                # A consumer that is behind slows the program: nothing more is read.
                await exchange.observer.room()

    async def _dispatch(self, call: CallFrame, group: TaskGroup) -> None:
        exchange = self._exchange
        refusal = exchange.refusal(call)
        if refusal is not None:
            await self._send(exchange.refuse(call, refusal))
            return
        must_run, frame = exchange.replay(call)
        if frame:
            await self._send(frame)
            exchange.mark_sent(call)
        if must_run:
            group.start_soon(self._run, call, group)
        else:
            self._watch_for_pause(call, group)

    @contextlib.contextmanager
    def _pausing(self) -> Generator[None]:
        """Stop the program's clock during an approval."""
        scope, self._questions = self._scope, self._questions + 1
        if self._questions == 1:
            self._left = scope.deadline - anyio.current_time()
            scope.deadline = math.inf
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                scope.deadline = anyio.current_time() + self._left

    async def _run(self, call: CallFrame, group: TaskGroup) -> None:
        exchange = self._exchange
        recorder = self._channel.recorder
        try:
            life = program_call(exchange, call, recorder, self._pausing)
            result = await self._channel.acall(call.name, call.args, call.kwargs, life)
            # Encoding runs foreign code, recording waits for the disk: they stay off the event loop if they are slow.
            encode = partial(exchange.encode, call, result, life.earlier_reply)
            is_quick = recorder is None and (not result.success or is_little(result.output, most=MAX_WRITTEN))
            encoded = encode() if is_quick else await to_thread(encode)
            if exchange.is_over:
                return
            frame = exchange.answer(call, encoded)
            exchange.report_call(call)
            await self._send(frame)
            exchange.mark_sent(call)
        except OSError:
            # The worker is lost; the reader notices.
            return
        except CallInterrupted as interruption:
            if interruption.error is not None:
                self._fail(interruption.error, group)
                return
            if not exchange.has_left:
                exchange.wait_for_decision(call)
                self._watch_for_pause(call, group)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's own task, where it does not break the loop
            self._fail(error, group)

    def _fail(self, error: BaseException, group: TaskGroup) -> None:
        self._failure = error
        group.cancel_scope.cancel()

    def _watch_for_pause(self, call: CallFrame, group: TaskGroup) -> None:
        """Pause the program, or have it watched, if a call waits for a decision or for recorded ones."""
        step = self._exchange.consider_pause(call)
        if step == "pause":
            group.cancel_scope.cancel()
        elif step == "watch":
            group.start_soon(self._pause_in_silence, group)

    async def _pause_in_silence(self, group: TaskGroup) -> None:
        """Pause the program once all its calls wait, and it is quiet: its other parts have gone as far as they can."""
        silence = Silence(self._exchange, self._lease.worker)
        with contextlib.suppress(OSError):  # the worker is lost; the reader notices
            while not self._exchange.is_over:
                await anyio.sleep(silence.seconds)
                if silence.lasts() and self._exchange.pause_if_all_wait():
                    group.cancel_scope.cancel()

    async def _send(self, frame: bytes) -> None:
        rest = memoryview(frame)
        async with self._sending:
            # A partial frame would break the protocol: once begun, it is sent whole, or the worker is lost.
            while rest:
                try:
                    rest = rest[self._socket.send(rest, _NO_SIGNAL) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._socket)
