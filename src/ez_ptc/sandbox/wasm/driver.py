"""The blocking driver of an instance: the program's thread converses, and the calling thread watches the clock.

A call that comes alone runs in the program's thread, those that come together in threads of their own. A tool that
hangs keeps its thread and the instance, but never its caller, who goes on at the end of the grace period.
"""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, cast

from ez_ptc.sandbox.host.runner import Runner
from ez_ptc.sandbox.host.sync_driver import BlockingDriver
from ez_ptc.sandbox.protocol.records.caller_presence import ending_with_caller

if TYPE_CHECKING:
    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.host.pool import Lease
    from ez_ptc.sandbox.protocol.exchange import Exchange
    from ez_ptc.sandbox.protocol.frames import CallFrame
    from ez_ptc.sandbox.protocol.interfaces import Channel
    from ez_ptc.sandbox.wasm.instance import Instance

__all__ = ["InstanceRunner"]

_MAX_WAIT = 1e6


class InstanceRunner(Runner):
    """Runs programs in leased instances."""

    def __init__(self, threads: Threads) -> None:
        # Neither side polls: both are threads of one interpreter, of which one runs at a time.
        super().__init__(threads, may_spin=False)

    def _drive(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        _InstanceDriver(exchange, lease, channel, self._threads).run(exchange.waiting_calls or None)

    async def arun(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        """Same as `run`, but awaits."""
        _instance(lease).begin(exchange.limits, None, _clock_of(channel))
        await super().arun(exchange, lease, channel)


class _InstanceDriver(BlockingDriver):
    """Runs one exchange with one instance."""

    def __init__(self, exchange: Exchange, lease: Lease, channel: Channel, threads: Threads) -> None:
        super().__init__(exchange, lease, channel, threads)
        self._instance = _instance(lease)
        self._ended = threading.Event()
        self._context = contextvars.copy_context()

    def run(self, calls: list[CallFrame] | None) -> None:
        """Return when the program ends or is stopped, or its instance is lost; see `BlockingDriver.run`."""
        self._over = self._ended
        if self._events_reader is not None:
            self._events_reader.begin(self.cancel)
        self._instance.begin(self._exchange.limits, self, _clock_of(self._channel))
        if calls:
            self._threads.start(lambda: self._context.run(self._converse, calls, self._ended))
        else:
            self._instance.deliver(self._exchange.opening())
        with ending_with_caller(self._ended.set):
            self._watch(self._ended)

    def receive(self, data: bytes) -> None:
        """Receive the program's bytes, and run its calls, in the instance's thread."""
        self._context.run(self._receive_all, data)

    def lose(self) -> None:
        """Let the calling thread go on: the instance has ended."""
        self._ended.set()

    def _receive_all(self, data: bytes) -> None:
        exchange = self._exchange
        try:
            with self._turn:
                if exchange.is_over or exchange.has_left:
                    return
                calls = exchange.receive(data)
            self._converse(calls, self._ended)
        finally:
            if exchange.is_over:
                self._ended.set()

    def _converse(self, calls: list[CallFrame], over: threading.Event) -> None:
        try:
            self._wait_for_room()
            for call in calls:
                self._dispatch(call, over)
        except TimeoutError:
            # The calling thread knows the time as well.
            return
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
            over.set()

    def _send(self, frame: bytes, answered: CallFrame | None = None) -> None:
        self._instance.deliver(frame)
        if answered is not None:
            self._exchange.mark_sent(answered)

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(min(self._clock.nap(), _MAX_WAIT)):
            if not self._clock.left():
                self._stop()
                break
        if self._failure is not None:
            raise self._failure

    def _stop(self) -> bool:
        exchange = self._exchange
        with self._turn:
            if self._reader:
                return False
            # What a tool returns from now on comes too late.
            self._reader = 1
            if not exchange.stop():
                return True
            self._clock.restart(exchange.limits.grace)
        self._instance.interrupt()
        while self._clock.left() and not self._ended.wait(self._clock.nap()):
            continue
        return True


def _instance(lease: Lease) -> Instance:
    return cast("Instance", lease.worker)


def _clock_of(channel: Channel) -> int | None:
    return None if channel.recorder is None else channel.recorder.clock_ns
