"""Driving one execution from a thread.

The calling thread talks to the worker until the first tool call. Then it hands the conversation to another thread, in
which that call and every later one that comes alone runs at once, and only watches the clock: a tool that hangs keeps
its thread, never its caller.
"""

from __future__ import annotations

import contextvars
import math
import select
import threading
import time
from typing import TYPE_CHECKING

from ez_ptc.errors import ProtocolError

if TYPE_CHECKING:
    from ez_ptc.sandbox.converse import Exchange
    from ez_ptc.sandbox.execution import Channel
    from ez_ptc.sandbox.frames import CallFrame
    from ez_ptc.sandbox.process.handle import WorkerHandle
    from ez_ptc.sandbox.process.threads import Threads

__all__ = ["BlockingDriver"]

_CHUNK = 1 << 16
_SLACK = 0.05
"""Seconds after the deadline in which the other thread, if it is not stuck, notices by itself."""


class BlockingDriver:
    """Runs one exchange over one worker."""

    def __init__(self, exchange: Exchange, worker: WorkerHandle, channel: Channel, threads: Threads) -> None:
        self._exchange = exchange
        self._worker = worker
        self._socket = worker.socket
        self._socket.settimeout(0)
        self._readable = select.poll()
        self._readable.register(self._socket, select.POLLIN)
        self._channel = channel
        self._threads = threads
        self._turn = threading.Lock()
        self._sending = threading.Lock()
        self._reader = 0
        self._in_tool = False
        self._over = threading.Event()
        self._failure: BaseException | None = None
        self._deadline = time.monotonic() + exchange.limits.timeout

    def run(self) -> None:
        """Return when the program has ended or been stopped, or its worker is gone.

        Raises what a tool raised that is no Exception (KeyboardInterrupt, SystemExit).
        """
        try:
            self._send(self._exchange.opening())
            calls = self._read_until_call(0)
        except TimeoutError:
            self._stop()
        except OSError:
            # The worker is gone; the backend asks the zygote how it ended.
            return
        else:
            if calls:
                context = contextvars.copy_context()
                self._threads.start(lambda: context.run(self._converse, calls, 0))
                self._watch()

    def _left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)

    def _wait(self, poll: select.poll) -> None:
        """Return when the socket is ready; raise TimeoutError when the time is over."""
        if not poll.poll(math.ceil(self._left() * 1e3)):
            raise TimeoutError

    def _read_until_call(self, reader: int) -> list[CallFrame]:
        """Return the next calls; none when the program has ended or another reader has taken over."""
        while reader == self._reader and not self._exchange.finished:
            self._wait(self._readable)
            data = self._socket.recv(_CHUNK)
            with self._turn:
                if not data or reader != self._reader:
                    return []
                try:
                    calls = self._exchange.feed(data)
                except ProtocolError as error:
                    self._exchange.end(f"the program broke the sandbox's protocol and was ended: {error}")
                    return []
            if calls:
                return calls
        return []

    def _converse(self, calls: list[CallFrame], reader: int) -> None:
        """Run calls and read on until the program ends, in a thread that may get stuck in a tool."""
        try:
            while calls and reader == self._reader:
                for call in calls:
                    self._dispatch(call, reader)
                calls = self._read_until_call(reader)
        except TimeoutError:
            if reader == self._reader:
                self._stop()
        except OSError:
            # The worker is gone; the backend asks the zygote how it ended.
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
        self._over.set()

    def _dispatch(self, call: CallFrame, reader: int) -> None:
        refusal = self._exchange.refusal(call)
        if refusal is not None:
            self._send(self._exchange.refuse(call, refusal))
        elif call.alone:
            self._in_tool = True
            self._run(call, reader)
            self._in_tool = False
        else:
            context = contextvars.copy_context()
            self._threads.start(lambda: context.run(self._run_aside, call, reader))

    def _run(self, call: CallFrame, reader: int) -> None:
        result = self._channel.call(call.name, call.args, call.kwargs)
        with self._turn:
            if reader != self._reader:
                return
            frame = self._exchange.answer(call, result)
        self._send(frame)

    def _run_aside(self, call: CallFrame, reader: int) -> None:
        try:
            self._run(call, reader)
        except OSError:
            # The worker is gone; whoever reads from it finds out.
            return
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
            self._over.set()

    def _send(self, frame: bytes) -> None:
        # Not under the other lock: who sends much waits for the worker, which may wait for whoever reads.
        left = memoryview(frame)
        with self._sending:
            while left:
                try:
                    left = left[self._socket.send(left) :]
                except BlockingIOError:
                    writable = select.poll()
                    writable.register(self._socket, select.POLLOUT)
                    self._wait(writable)

    def _watch(self) -> None:
        """Wait for the other thread; when it is stuck in a tool at the end of the time, take over from it."""
        while not self._over.wait(self._left() + _SLACK):
            if self._in_tool:
                self._stop()
                break
        if self._failure is not None:
            raise self._failure

    def _stop(self) -> None:
        """Ask the program to stop, its time being over, and take what it says within the grace."""
        exchange = self._exchange
        with self._turn:
            self._reader += 1
            reader = self._reader
            if exchange.finished:
                return
            exchange.stop()
            self._deadline = time.monotonic() + exchange.limits.grace
        self._worker.interrupt()
        try:
            while calls := self._read_until_call(reader):
                for call in calls:
                    self._send(exchange.refuse(call, exchange.timeout_message))
        except OSError:
            # Gone, or (TimeoutError) deaf to the request: the backend kills it.
            return
