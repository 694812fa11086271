"""Driving one execution from an event loop (asyncio or trio): nothing blocks, many run side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ez_ptc.errors import ProtocolError

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ez_ptc.sandbox.converse import Exchange
    from ez_ptc.sandbox.execution import Channel
    from ez_ptc.sandbox.frames import CallFrame
    from ez_ptc.sandbox.process.handle import WorkerHandle

__all__ = ["AwaitingDriver"]

_CHUNK = 1 << 16


class AwaitingDriver:
    """Runs one exchange over one worker."""

    def __init__(self, exchange: Exchange, worker: WorkerHandle, channel: Channel) -> None:
        self._exchange = exchange
        self._worker = worker
        self._socket = worker.socket
        self._channel = channel
        self._sending = anyio.Lock()
        self._socket.settimeout(0)

    async def run(self) -> None:
        """Return when the program has ended or been stopped, or its worker is gone; cancelling is fine at any point.

        Raises what a listener raised, or a tool that is no Exception.
        """
        try:
            async with anyio.create_task_group() as group:
                await self._within_limits(group)
                # Calls that still run have nobody to answer to.
                group.cancel_scope.cancel()
        except BaseExceptionGroup as errors:
            # A worker that is gone is no failure here: the backend asks the zygote how it ended.
            others = errors.subgroup(lambda error: not isinstance(error, OSError))
            if others is not None:
                raise others.exceptions[0] from None

    async def _within_limits(self, group: TaskGroup) -> None:
        limits = self._exchange.limits
        with anyio.move_on_after(limits.timeout) as scope:
            await self._send(self._exchange.opening())
            await self._converse(group)
        if scope.cancelled_caught:
            self._exchange.stop()
            self._worker.interrupt()
            with anyio.move_on_after(limits.grace):
                await self._converse(group)

    async def _converse(self, group: TaskGroup) -> None:
        exchange = self._exchange
        while not exchange.finished:
            try:
                data = self._socket.recv(_CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            if not data:
                return
            try:
                calls = exchange.feed(data)
            except ProtocolError as error:
                exchange.end(f"the program broke the sandbox's protocol and was ended: {error}")
                return
            for call in calls:
                refusal = exchange.refusal(call)
                if refusal is None:
                    group.start_soon(self._run, call)
                else:
                    await self._send(exchange.refuse(call, refusal))

    async def _run(self, call: CallFrame) -> None:
        result = await self._channel.acall(call.name, call.args, call.kwargs)
        await self._send(self._exchange.answer(call, result))

    async def _send(self, frame: bytes) -> None:
        left = memoryview(frame)
        async with self._sending:
            # A torn frame would end the program: once begun, it is sent, or the worker is lost with it.
            while left:
                try:
                    left = left[self._socket.send(left) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._socket)
