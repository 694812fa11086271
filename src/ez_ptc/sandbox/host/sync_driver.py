"""The blocking driver: runs one exchange from a thread.

Theory of operation. The calling thread talks to the worker until the first tool call. From then on a second thread
converses: it runs each call that comes alone and reads on. The calling thread only watches the clock, so a tool that
hangs keeps its thread but never its caller. If the second thread is stuck at the deadline, the calling thread takes
over the socket, asks the program to stop, and reads until the end of the grace period. Calls that arrive together run
in threads of their own.

If the program is the only one and there is a second core, the reader polls the socket before it sleeps; see
`ez_ptc.sandbox.protocol.both_ends.spinning`.

A reader of the program's events in yet another thread slows the program: nothing is received while too many events are
unread. When it leaves, `cancel` takes the worker from all threads, and a tool that runs keeps its thread only.

Locks. `_sending` is held while a reply is sent, and no other lock is: a large reply waits for the worker, which may
itself wait for a reader.
"""

from __future__ import annotations

import contextvars
import math
import select
import socket
import threading
from typing import TYPE_CHECKING

from ez_ptc.sandbox.host.calling import program_call
from ez_ptc.sandbox.host.clock import Clock
from ez_ptc.sandbox.host.idle_programs import Silence
from ez_ptc.sandbox.protocol.both_ends.spinning import Spinner
from ez_ptc.sandbox.protocol.opening import timeout_message
from ez_ptc.sandbox.protocol.records.caller_presence import ending_with_caller
from ez_ptc.tools.call_lifetime import CallInterrupted

if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable

    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.host.pool import Lease
    from ez_ptc.sandbox.protocol.exchange import Exchange
    from ez_ptc.sandbox.protocol.frames import CallFrame
    from ez_ptc.sandbox.protocol.interfaces import Channel

__all__ = ["BlockingDriver", "ask"]

_CHUNK = 1 << 16
# Bytes; most first answers are shorter, and a larger buffer would be fresh memory.
_FIRST_CHUNK = 1 << 12
# Seconds: the kernel accepts 2**31 milliseconds at most, and a program may run for a year.
_MAX_WAIT = 1e6
# Seconds after the deadline for the other thread to notice by itself, if it is not stuck.
_SLACK = 0.05


def ask(exchange: Exchange, lease: Lease) -> list[CallFrame] | None:
    """Send a program to a new worker and receive its first answer, usually the only one.

    Returns the calls to run, an empty list if there is more to read, or None if no more will come. This does not spin
    and prepares nothing that few programs need: the kernel schedules the woken worker on the caller's core as soon as
    the caller blocks.
    """
    link = lease.worker.socket
    frame = exchange.opening()
    try:
        sent = link.send(frame, socket.MSG_NOSIGNAL)
        if sent < len(frame):
            _send_rest(link, memoryview(frame)[sent:], Clock(exchange.started + exchange.limits.timeout))
            return []
    except TimeoutError:
        return []
    except OSError:
        exchange.change("miss")
        return None
    data = b""
    try:
        if lease.is_cleared(exchange):
            link.settimeout(min(exchange.limits.timeout, _MAX_WAIT))
            data = link.recv(_FIRST_CHUNK)
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
    """Return when the socket is ready. Raises TimeoutError at the end of the time."""
    poll = select.poll()
    poll.register(link, event)
    while not poll.poll(math.ceil(min(clock.nap(), _MAX_WAIT) * 1e3)):
        if not clock.left():
            raise TimeoutError


class BlockingDriver:
    """Runs one exchange with one worker."""

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
        self._spinner = Spinner()
        self._poll: Callable[[int], object] | None = None
        self._in_tool = False
        self._failure: BaseException | None = None
        self._over: threading.Event | None = None
        self._clock = Clock(exchange.started + exchange.limits.timeout)
        self._events_reader = None if exchange.observer is None else exchange.observer.reader

    def run(self, calls: list[CallFrame] | None) -> None:
        """Return when the program ends or is stopped, or its worker is lost.

        `calls` are those of its first answer, or None if it was not sent yet. Raises exceptions of tools that are not
        an Exception (KeyboardInterrupt, SystemExit).
        """
        if self._events_reader is not None:
            self._events_reader.begin(self.cancel)
        try:
            if calls is None:
                self._send_opening()
            calls = calls or self._read_until_call(0, self._exchange.spin_seconds)
        except TimeoutError:
            self._stop()
        except OSError:
            # The worker is lost; the backend asks the zygote for its exit code.
            return
        else:
            if calls:
                context = contextvars.copy_context()
                self._over = over = threading.Event()
                self._threads.start(lambda: context.run(self._converse, calls, over))
                with ending_with_caller(over.set):
                    self._watch(over)
                # The worker may be used again only when the sender of a reply, which it may have read, is done.
                if self._exchange.has_unsent and self._sending.acquire(timeout=_SLACK):
                    self._sending.release()

    def cancel(self) -> None:
        """End the program at once, in any thread: no further call begins, and `run` returns."""
        self._exchange.leave()
        self._lease.withdraw("the reader of its events has left")
        if self._over is not None:
            self._over.set()

    def _wait_for_room(self) -> None:
        """Wait while too many events are unread. Raises TimeoutError at the end of the time."""
        reader = self._events_reader
        while reader is not None and not reader.wait_for_room(min(self._clock.nap(), _MAX_WAIT)):
            if not self._clock.left():
                raise TimeoutError

    def _send_opening(self) -> None:
        try:
            self._send(self._exchange.opening())
        except TimeoutError:
            raise
        except OSError:
            self._exchange.change("miss")
            raise

    def _receive(self, spin_seconds: float) -> bytes:
        """Return what the worker sends next; poll for it before sleeping, if `spin_seconds` is not 0."""
        if spin_seconds:
            if self._poll is None:
                # Only here: some systems have no poll, and the instances that run there have no socket to poll.
                poll = select.poll()
                poll.register(self._socket, select.POLLIN)
                self._poll = poll.poll
            self._spinner.wait(spin_seconds, self._poll)
        while True:
            try:
                return self._socket.recv(_CHUNK)
            except BlockingIOError:
                _wait(self._socket, select.POLLIN, self._clock)

    def _read_until_call(self, reader: int, spin_seconds: float) -> list[CallFrame]:
        """Return the next calls; none if the program has ended or another reader has taken over."""
        if not self._lease.is_cleared(self._exchange):
            return []
        while reader == self._reader and not self._exchange.is_over:
            self._wait_for_room()
            data = self._receive(spin_seconds)
            with self._turn:
                if not data or reader != self._reader:
                    return []
                calls = self._exchange.receive(data)
            if calls:
                return calls
        return []

    def _converse(self, calls: list[CallFrame], over: threading.Event) -> None:
        """Run calls and read on until the program ends, in a thread that may get stuck in a tool."""
        spin_seconds = self._exchange.spin_seconds
        try:
            while calls and not self._reader:
                for call in calls:
                    self._dispatch(call, over)
                calls = self._read_until_call(0, spin_seconds)
        except TimeoutError:
            self._stop()
        except OSError:
            # The worker is lost; the backend asks the zygote for its exit code.
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
        over.set()

    def _dispatch(self, call: CallFrame, over: threading.Event) -> None:
        refusal = self._exchange.refusal(call)
        if refusal is not None:
            self._send(self._exchange.refuse(call, refusal))
            return
        must_run = True
        if self._channel.recorder is not None:
            must_run, frame = self._exchange.replay(call)
            if frame:
                self._send(frame, call)
        if not must_run:
            self._watch_for_pause(call, over)
        elif call.alone:
            self._in_tool = True
            self._run(call, over)
            self._in_tool = False
        else:
            self._aside(call, over, self._run)

    def _aside(self, call: CallFrame, over: threading.Event, run: Callable[[CallFrame, threading.Event], None]) -> None:
        context = contextvars.copy_context()
        self._threads.start(lambda: context.run(self._run_aside, call, over, run))

    def _run(self, call: CallFrame, over: threading.Event) -> None:
        exchange = self._exchange
        try:
            life = program_call(exchange, call, self._channel.recorder, self._clock.pausing)
            result = self._channel.call(call.name, call.args, call.kwargs, life)
            encoded = exchange.encode(call, result, life.earlier_reply)
        except CallInterrupted as interruption:
            if interruption.error is not None:
                raise interruption.error from None
            if not exchange.has_left:
                exchange.wait_for_decision(call)
                self._watch_for_pause(call, over)
            return
        with self._turn:
            if self._reader or exchange.is_over or exchange.has_left:
                # The time or the program is over, and the caller has gone on without this thread.
                return
            frame = exchange.answer(call, encoded)
        exchange.report_call(call)
        self._send(frame, call)

    def _watch_for_pause(self, call: CallFrame, over: threading.Event) -> None:
        """Pause the program, or have it watched, if a call waits for a decision or for recorded ones."""
        with self._turn:
            step = self._exchange.consider_pause(call)
        if step == "pause":
            over.set()
        elif step == "watch":
            self._aside(call, over, self._pause_in_silence)

    def _pause_in_silence(self, _: CallFrame, over: threading.Event) -> None:
        """Pause the program once all its calls wait, and it is quiet: its other parts have gone as far as they can."""
        silence = Silence(self._exchange, self._lease.worker)
        while not (self._exchange.is_over or over.wait(silence.seconds)):
            if silence.lasts():
                with self._turn:
                    has_paused = self._exchange.pause_if_all_wait()
                if has_paused:
                    over.set()

    def _run_aside(
        self, call: CallFrame, over: threading.Event, run: Callable[[CallFrame, threading.Event], None]
    ) -> None:
        try:
            run(call, over)
        except OSError:
            # The worker is lost; the reader notices.
            return
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
            over.set()

    def _send(self, frame: bytes, answered: CallFrame | None = None) -> None:
        # Not under the other lock: the sender of a large reply waits for the worker, which may wait for a reader.
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
        """Wait for the other thread; if it is stuck in a tool at the deadline, take over the socket."""
        while not over.wait(self._clock.nap() + _SLACK):
            if self._in_tool and not self._clock.left() and self._stop():
                break
        if self._failure is not None:
            raise self._failure

    def _stop(self) -> bool:
        """Ask the program to stop at its deadline, and read until the end of the grace period.

        Return False, and do nothing, if another thread does so: each would cut the grace period of the other.
        """
        exchange = self._exchange
        with self._turn:
            if self._reader:
                return False
            if not exchange.stop():
                return True
            self._reader = reader = 1
            self._clock.restart(exchange.limits.grace)
        self._lease.worker.interrupt()
        try:
            while calls := self._read_until_call(reader, 0):
                for call in calls:
                    self._send(exchange.refuse(call, timeout_message(exchange.limits)))
        except OSError:
            # Lost, or (TimeoutError) deaf to the request: the backend kills it.
            pass
        return True
