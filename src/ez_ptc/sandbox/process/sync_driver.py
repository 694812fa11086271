"""Driving one execution from a thread.

The calling thread talks to the worker until the first tool call. Then it hands the conversation to another thread, in
which that call and every later one that comes alone runs at once, and only watches the clock: a tool that hangs keeps
its thread, never its caller.
"""

from __future__ import annotations

import contextvars
import math
import select
import socket
import threading
import time
from typing import TYPE_CHECKING

from ez_ptc.sandbox.process.calling import ProgramCall
from ez_ptc.sandbox.process.clock import Clock

if TYPE_CHECKING:
    import _socket

    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.exchange import Exchange
    from ez_ptc.sandbox.execution import Channel
    from ez_ptc.sandbox.frames import CallFrame
    from ez_ptc.sandbox.process.pool import Lease

__all__ = ["BlockingDriver", "ask"]

_CHUNK = 1 << 16
_LITTLE = 1 << 12
"""Bytes that a first answer mostly is shorter than: room for more would be fresh memory."""
_LONGEST_WAIT = 1e6
"""Seconds: the kernel takes no more than 2**31 milliseconds at a time, and a program may have a year."""
_MOST_MISSES = 3
"""So often may the worker be looked for in vain; then who waits sleeps at once, and looks again now and then."""
_TRY_AGAIN = 50
_SLACK = 0.05
"""Seconds after the deadline in which the other thread, if it is not stuck, notices by itself."""


def ask(exchange: Exchange, link: _socket.socket) -> list[CallFrame] | None:
    """Send a program to a worker that is new to it, and take the first of its answer, which mostly is all of it.

    Return the calls to run now, none where there is more to read, or None when no more will come. What few programs
    need is not made ready here, and nobody looks for the answer: the kernel lets a worker that it wakes run on the core
    of who woke it, once that one sleeps.
    """
    frame = exchange.opening()
    try:
        sent = link.send(frame, socket.MSG_NOSIGNAL)
        if sent < len(frame):
            _send_rest(link, memoryview(frame)[sent:], Clock(exchange.deadline))
            return []
    except TimeoutError:
        return []
    except OSError:
        exchange.is_undelivered = True
        return None
    try:
        link.settimeout(min(exchange.limits.timeout, _LONGEST_WAIT))
        data = link.recv(_LITTLE)
    except TimeoutError:
        return []
    except OSError:
        return None
    calls = exchange.receive(data)
    return calls if calls or not (exchange.is_over or not data) else None


def _send_rest(link: _socket.socket, left: memoryview, clock: Clock) -> None:
    while left:
        _wait(link, select.POLLOUT, clock)
        try:
            left = left[link.send(left, socket.MSG_NOSIGNAL) :]
        except BlockingIOError:
            continue


def _wait(link: _socket.socket, event: int, clock: Clock) -> None:
    """Return when the socket is ready; raise TimeoutError when the time is over."""
    poll = select.poll()
    poll.register(link, event)
    while not poll.poll(math.ceil(min(clock.nap(), _LONGEST_WAIT) * 1e3)):
        if not clock.left():
            raise TimeoutError


class BlockingDriver:
    """Runs one exchange over one worker."""

    def __init__(self, exchange: Exchange, lease: Lease, channel: Channel, threads: Threads) -> None:
        self._exchange = exchange
        self._lease = lease
        self._socket = lease.worker.socket
        self._socket.settimeout(0)
        self._channel = channel
        self._threads = threads
        self._turn = threading.Lock()
        self._sending = threading.Lock()
        self._reader = 0
        self._misses = 0
        self._in_tool = False
        self._failure: BaseException | None = None
        self._clock = Clock(exchange.deadline)

    def run(self, calls: list[CallFrame] | None) -> None:
        """Return when the program has ended or been stopped, or its worker is gone.

        `calls` are those that its first answer brought, and None where it has not been sent yet. Raises what a tool
        raised that is no Exception (KeyboardInterrupt, SystemExit).
        """
        try:
            if calls is None:
                self._send_opening()
            calls = calls or self._read_until_call(0, self._exchange.spin_seconds)
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
                self._settle()

    def _send_opening(self) -> None:
        try:
            self._send(self._exchange.opening())
        except TimeoutError:
            raise
        except OSError:
            self._exchange.is_undelivered = True
            raise

    def _receive(self, patience: float) -> bytes:
        """Return what the worker sends next; look for it for some time before sleeping, where that has helped."""
        receive = self._socket.recv
        if patience and self._looking_helps():
            until = time.perf_counter() + patience
            while time.perf_counter() < until:
                try:
                    data = receive(_CHUNK)
                except BlockingIOError:
                    continue
                # Found so late, it was found by chance: somebody else had this core in between.
                self._misses = 0 if time.perf_counter() < until + patience else _MOST_MISSES
                return data
        while True:
            try:
                return receive(_CHUNK)
            except BlockingIOError:
                _wait(self._socket, select.POLLIN, self._clock)

    def _looking_helps(self) -> bool:
        self._misses += 1
        if self._misses > _TRY_AGAIN:
            self._misses = _MOST_MISSES
        return self._misses <= _MOST_MISSES

    def _read_until_call(self, reader: int, patience: float) -> list[CallFrame]:
        """Return the next calls; none when the program has ended or another reader has taken over."""
        while reader == self._reader and not self._exchange.is_over:
            data = self._receive(patience)
            with self._turn:
                if not data or reader != self._reader:
                    return []
                calls = self._exchange.receive(data)
            if calls:
                return calls
        return []

    def _converse(self, calls: list[CallFrame], over: threading.Event) -> None:
        """Run calls and read on until the program ends, in a thread that may get stuck in a tool."""
        patience = self._exchange.spin_seconds
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
        exchange = self._exchange
        result = self._channel.call(call.name, call.args, call.kwargs, ProgramCall(exchange, self._clock.pausing))
        encoded = exchange.encode(call, result)
        with self._turn:
            if self._reader or exchange.closed:
                # The time was over, or the program, and the caller has gone on without this one.
                return
            frame = exchange.answer(call, result, encoded)
        exchange.report_call(call)
        self._send(frame, call)

    def _run_aside(self, call: CallFrame, over: threading.Event) -> None:
        try:
            self._run(call)
        except OSError:
            # The worker is gone; whoever reads from it finds out.
            return
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
            over.set()

    def _send(self, frame: bytes, answered: CallFrame | None = None) -> None:
        # Not under the other lock: who sends much waits for the worker, which may wait for whoever reads.
        with self._sending:
            try:
                sent = self._socket.send(frame, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                sent = 0
            if sent < len(frame):
                _send_rest(self._socket, memoryview(frame)[sent:], self._clock)
            if answered is not None:
                self._exchange.mark_sent(answered)

    def _watch(self, over: threading.Event) -> None:
        """Wait for the other thread; when it is stuck in a tool at the end of the time, take over from it."""
        while not over.wait(self._clock.nap() + _SLACK):
            if self._in_tool and not self._clock.left():
                self._stop()
                break
        if self._failure is not None:
            raise self._failure

    def _settle(self) -> None:
        """Wait for who sends a reply that the worker has read already: the worker may be used again then."""
        if self._exchange.has_unsent and self._sending.acquire(timeout=_SLACK):
            self._sending.release()

    def _stop(self) -> None:
        """Ask the program to stop, its time being over, and take what it says within the grace."""
        exchange = self._exchange
        with self._turn:
            self._reader += 1
            reader = self._reader
            if exchange.is_finished:
                return
            exchange.stop()
            self._clock.restart(exchange.limits.grace)
        self._lease.worker.interrupt()
        try:
            while calls := self._read_until_call(reader, 0):
                for call in calls:
                    self._send(exchange.refuse(call, exchange.timeout_message))
        except OSError:
            # Gone, or (TimeoutError) deaf to the request: the backend kills it.
            return
