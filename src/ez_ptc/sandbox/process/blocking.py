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
    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.converse import Exchange
    from ez_ptc.sandbox.execution import Channel
    from ez_ptc.sandbox.frames import CallFrame
    from ez_ptc.sandbox.process.handle import WorkerHandle

__all__ = ["BlockingDriver"]

_CHUNK = 1 << 16
_MOST_MISSES = 3
"""So often may the worker be looked for in vain; then who waits sleeps at once, and looks again now and then."""
_TRY_AGAIN = 50
_SLACK = 0.05
"""Seconds after the deadline in which the other thread, if it is not stuck, notices by itself."""


class BlockingDriver:
    """Runs one exchange over one worker."""

    def __init__(self, exchange: Exchange, worker: WorkerHandle, channel: Channel, threads: Threads) -> None:
        self._exchange = exchange
        self._worker = worker
        self._socket = worker.socket
        self._socket.settimeout(0)
        self._channel = channel
        self._threads = threads
        self._turn = threading.Lock()
        self._sending = threading.Lock()
        self._reader = 0
        self._misses = 0
        self._in_tool = False
        self._failure: BaseException | None = None
        self._deadline = time.monotonic() + exchange.limits.timeout

    def run(self) -> None:
        """Return when the program has ended or been stopped, or its worker is gone.

        Raises what a tool raised that is no Exception (KeyboardInterrupt, SystemExit).
        """
        try:
            self._send(self._exchange.opening())
            calls = self._read_until_call(0, self._exchange.patience)
        except TimeoutError:
            self._stop()
        except OSError:
            # The worker is gone; the backend asks the zygote how it ended.
            return
        else:
            if calls:
                context = contextvars.copy_context()
                over = threading.Event()
                self._threads.start(lambda: context.run(self._converse, calls, over))
                self._watch(over)

    def _left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)

    def _wait(self, event: int) -> None:
        """Return when the socket is ready; raise TimeoutError when the time is over."""
        poll = select.poll()
        poll.register(self._socket, event)
        if not poll.poll(math.ceil(self._left() * 1e3)):
            raise TimeoutError

    def _receive(self, patience: float) -> bytes:
        """Return what the worker sends next; look for it for some time before sleeping, where that has helped."""
        receive = self._socket.recv
        if patience and self._looking_helps():
            until = time.monotonic() + patience
            while time.monotonic() < until:
                try:
                    data = receive(_CHUNK)
                except BlockingIOError:
                    continue
                # Found so late, it was found by chance: somebody else had this core in between.
                self._misses = 0 if time.monotonic() < until + patience else _MOST_MISSES
                return data
        while True:
            try:
                return receive(_CHUNK)
            except BlockingIOError:
                self._wait(select.POLLIN)

    def _looking_helps(self) -> bool:
        self._misses += 1
        if self._misses > _TRY_AGAIN:
            self._misses = _MOST_MISSES
        return self._misses <= _MOST_MISSES

    def _read_until_call(self, reader: int, patience: float) -> list[CallFrame]:
        """Return the next calls; none when the program has ended or another reader has taken over."""
        while reader == self._reader and not self._exchange.finished:
            data = self._receive(patience)
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

    def _converse(self, calls: list[CallFrame], over: threading.Event) -> None:
        """Run calls and read on until the program ends, in a thread that may get stuck in a tool."""
        patience = self._exchange.patience
        try:
            while calls and not self._reader:
                for call in calls:
                    self._dispatch(call, over)
                calls = self._read_until_call(0, patience)
        except TimeoutError:
            if not self._reader:
                self._stop()
        except OSError:
            # The worker is gone; the backend asks the zygote how it ended.
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
        over.set()

    def _dispatch(self, call: CallFrame, over: threading.Event) -> None:
        refusal = self._exchange.refusal(call)
        if refusal is not None:
            self._send(self._exchange.refuse(call, refusal))
        elif call.alone:
            self._in_tool = True
            self._run(call)
            self._in_tool = False
        else:
            context = contextvars.copy_context()
            self._threads.start(lambda: context.run(self._run_aside, call, over))

    def _run(self, call: CallFrame) -> None:
        result = self._channel.call(call.name, call.args, call.kwargs)
        with self._turn:
            if self._reader:
                # The time was over, and the caller has gone on without this one.
                return
            frame = self._exchange.answer(call, result)
        self._send(frame)

    def _run_aside(self, call: CallFrame, over: threading.Event) -> None:
        try:
            self._run(call)
        except OSError:
            # The worker is gone; whoever reads from it finds out.
            return
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
            over.set()

    def _send(self, frame: bytes) -> None:
        # Not under the other lock: who sends much waits for the worker, which may wait for whoever reads.
        with self._sending:
            try:
                sent = self._socket.send(frame)
            except BlockingIOError:
                sent = 0
            if sent < len(frame):
                self._send_rest(memoryview(frame)[sent:])

    def _send_rest(self, left: memoryview) -> None:
        while left:
            self._wait(select.POLLOUT)
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                continue

    def _watch(self, over: threading.Event) -> None:
        """Wait for the other thread; when it is stuck in a tool at the end of the time, take over from it."""
        while not over.wait(self._left() + _SLACK):
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
            while calls := self._read_until_call(reader, 0):
                for call in calls:
                    self._send(exchange.refuse(call, exchange.timeout_message))
        except OSError:
            # Gone, or (TimeoutError) deaf to the request: the backend kills it.
            return
