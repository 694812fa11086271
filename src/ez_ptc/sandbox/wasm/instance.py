"""One instance of the component, which serves the programs of one worker in a thread of its own.

Theory of operation. The guest may call one function, `turn`: it sends the program's bytes, and waits for others. There
are two ways of driving a program:

- A blocking driver is an `InstanceDriver`. It receives in the instance's thread, and runs a lone call there: a call
  costs no change of threads. Replies come through `deliver`, in any thread. An instance that waits, also for its first
  program, does so at a lock, `_bell`: it is released whenever there may be news.
- An awaiting driver knows a worker by its socket, as that of a process; `turn` reads and writes the other end. What
  rings the bell also writes to a second socket then.

`interrupt` and `kill` set a flag and advance the engine's epoch, at which each running instance calls `_on_epoch`: it
stops its program (by the guest's function `stop`, called in the midst of `serve`), ends its instance, or goes on. A
tool that runs in the thread is not interrupted: the program is stopped when it returns, and the caller goes on without
it.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from ez_ptc.sandbox.protocol.records.worker_state import WorkerLife
from ez_ptc.sandbox.wasm.bindings import EngineError
from ez_ptc.sandbox.wasm.imports import REAL, BrokenTurnError, PinnedWorld, UnboundedWaitError
from ez_ptc.sandbox.wasm.store import MAX_MEMORY, InstanceStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.protocol.execution import Limits
    from ez_ptc.sandbox.wasm.imports import World
    from ez_ptc.sandbox.wasm.store import WasmEngine

__all__ = ["Instance", "InstanceDriver", "KilledError", "take_all"]

_CHUNK = 1 << 18
# More than the guest's: the engine, and what the host's function calls, need some too. Little of it is ever touched.
_THREAD_STACK = 48 << 20
_starting = threading.Lock()
_MAX_WAIT = 1e5
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
# The worker sends its frames one by one, beyond this many bytes of them; as text, each byte may be two.
_MAX_COLLECTED = 1 << 19
# The image of the interpreter, and what is kept in reserve for reports.
_OWN_MEMORY = 80 << 20
# Parts of the engine's messages, and what they mean for a program.
_TRAPS = {
    "call stack exhausted": "the program crashed the interpreter: it nested or recursed too deeply",
    "Exited with": "the program ended its process instead of running to its end",
}


class KilledError(Exception):
    """The worker was ended by its host."""


class InstanceDriver(Protocol):
    """A blocking driver, as its instance knows it."""

    def receive(self, data: bytes) -> None:
        """Receive the program's bytes, in the instance's thread."""
        ...

    def lose(self) -> None:
        """Learn that the instance has ended, or is withdrawn."""
        ...


class Instance(WorkerLife):
    """A worker: the host's end for awaiting drivers is `socket`."""

    head: bytes | None = None
    """What it was told in advance: nothing."""

    def __init__(self, engine: WasmEngine, is_ready: Callable[[Instance], None]) -> None:
        """Start the thread; it calls `is_ready` once a program can be sent."""
        super().__init__()
        self._engine = engine
        self._is_ready = is_ready
        self._was_ready = False
        self._is_killed = False
        self._is_asked_to_stop = False
        self._is_waiting = False
        self._conversation: InstanceDriver | None = None
        self._inbox: deque[bytes] = deque()
        self._memory: int = MAX_MEMORY
        self._memory_limit: int = MAX_MEMORY
        self._bell = threading.Lock()
        self._bell.acquire()
        self._is_awaited = False
        self.world: World = REAL
        self.max_sent = _MAX_COLLECTED
        self.failure: BaseException | None = None
        self.reason: str | None = None
        """Why it ended; None while it lives."""
        self.over: Final = threading.Event()
        ours, self._far = socket.socketpair()
        self.socket: Final = ours
        ours.settimeout(0)
        self._wake, self._woken = socket.socketpair()
        self._wake.settimeout(0)
        with _starting:
            before = threading.stack_size(_THREAD_STACK)
            try:
                threading.Thread(target=self._run, name="ez-ptc wasm", daemon=True).start()
            finally:
                threading.stack_size(before)

    # The driver's side --------------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.over.is_set()

    def host_pid(self) -> None:
        """Return None: it is no process."""

    def begin(self, limits: Limits, conversation: InstanceDriver | None, clock_ns: int | None) -> None:
        """Begin a program; without a conversation, its driver uses the socket.

        `clock_ns` is where the clock of a repeatable one starts, by default always at the same time.
        """
        self._memory = min(_OWN_MEMORY + limits.memory, MAX_MEMORY)
        self.max_sent = 2 * (limits.frame + _MAX_COLLECTED)
        if limits.seed is not None and self.world is REAL:
            self.world = PinnedWorld(limits.seed, clock_ns)
        self._is_asked_to_stop = False
        self._conversation = conversation
        was_awaited, self._is_awaited = self._is_awaited, conversation is None
        if was_awaited or self._is_awaited:
            self._ring()
            self._wake_up()
        if conversation is not None and self.ended:
            conversation.lose()

    def deliver(self, data: bytes) -> None:
        """Let the program receive `data`, which has whole frames; any thread may call this."""
        self._inbox.append(data)
        if self._is_waiting:
            self._ring()

    def interrupt(self) -> None:
        """Ask the program to stop: it gets a TimeoutError."""
        self._is_asked_to_stop = True
        self._alarm()

    def kill(self) -> None:
        """End the instance."""
        self._is_killed = True
        self._alarm()

    def _alarm(self) -> None:
        self._engine.engine.advance_epoch()
        self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(RuntimeError):  # it has been rung
            self._bell.release()
        if self._is_awaited:
            self._wake_up()

    def _wake_up(self) -> None:
        with contextlib.suppress(OSError):
            self._wake.send(b"!")

    def hang_up(self) -> None:
        """Shut the socket down, so that drivers in all threads learn of the end."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        conversation = self._conversation
        if conversation is not None:
            conversation.lose()

    def disown(self) -> None:
        """Close the sockets: the instance's thread is gone, in a fork of the host."""
        self.change("close")
        for end in (self.socket, self._far, self._wake, self._woken):
            end.close()

    def close(self) -> None:
        """End the instance and close the socket. Closing twice is harmless."""
        self.change("close")
        self.kill()
        self.socket.close()

    # The guest's side ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._engine.imports.enter(self)
        try:
            self._store = store = InstanceStore(self._engine, self._on_epoch)
            try:
                store.serve()
            finally:
                # Not left to the collector: the callback holds this object.
                store.close()
                del store, self._store
            self.reason = "the program ended its process instead of running to its end"
        except EngineError as error:
            self.reason = self._explain(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it must be told to the caller of the program
            self.reason = f"the sandbox failed: {type(error).__name__}: {error}"
        finally:
            for end in (self._far, self._wake, self._woken):
                end.close()
            self.over.set()
            conversation = self._conversation
            if conversation is not None:
                conversation.lose()
            if not self._was_ready:
                self._is_ready(self)

    def _explain(self, trap: str) -> str:
        if self._is_killed:
            return "the program was killed"
        if isinstance(self.failure, UnboundedWaitError):
            return "the program waited for a descriptor, which nothing here would end: use time.sleep"
        if isinstance(self.failure, BrokenTurnError):
            return f"the program broke the sandbox's protocol and was ended: {self.failure}"
        if self.failure is not None:
            return f"the sandbox failed: {type(self.failure).__name__}: {self.failure}"
        for words, reason in _TRAPS.items():
            if words in trap:
                return reason
        return "the program crashed the interpreter: it nested too deeply, aborted, or ran out of memory"

    def _on_epoch(self, store: InstanceStore) -> bool:
        if self._is_killed:
            return False
        if self._is_asked_to_stop:
            self._is_asked_to_stop = False
            return store.stop()
        return True

    def turn(self, sent: bytes, seconds: float) -> bytes:
        """Send the program's bytes, and wait for others; see the guest's module `pipe`."""
        if self._is_killed:
            raise KilledError
        if sent:
            self._send(sent if sent.isascii() else _as_bytes(sent))
        elif not self._was_ready:
            self._was_ready = True
            self._is_ready(self)
        data = self._wait(seconds)
        if self._is_killed:
            raise KilledError
        if self._memory != self._memory_limit:
            self._memory_limit = self._memory
            self._store.limit_memory(self._memory)
        if self._is_asked_to_stop:
            self._is_asked_to_stop = False
            if data:
                self._inbox.appendleft(data)
            return b"s"
        if data is None:
            return b"t"
        if not data:
            return b"e"
        return b"d" + (data if data.isascii() else data.decode("latin-1").encode())

    def _send(self, data: bytes) -> None:
        if self._conversation is not None:
            self._conversation.receive(data)
            return
        rest = memoryview(data)
        while rest:
            rest = rest[self._far.send(rest, _NO_SIGNAL) :]

    def _wait(self, seconds: float) -> bytes | None:
        """Return bytes, none at their end, and None at the end of the time or if the program is to stop."""
        if math.isnan(seconds):
            message = "it waited for no number of seconds"
            raise BrokenTurnError(message)
        until = None if seconds < 0 else time.monotonic() + min(seconds, _MAX_WAIT)
        self._is_waiting = True
        try:
            while not (self._inbox or self._is_killed or self._is_asked_to_stop):
                left = None if until is None else max(until - time.monotonic(), 0)
                if not self._is_awaited:
                    if not self._bell.acquire(timeout=-1 if left is None else left):
                        return None
                elif (data := self._receive(left)) is not None:
                    return data
                elif left == 0:
                    return None
        finally:
            self._is_waiting = False
        return take_all(self._inbox) or None

    def _receive(self, seconds: float | None) -> bytes | None:
        """Return what the driver has sent to the socket; None if nothing comes in time, or the bell is rung."""
        readable = _find_readable((self._far, self._woken), seconds)
        if self._woken in readable:
            self._woken.recv(64)
        elif readable:
            return self._far.recv(_CHUNK)
        return None


def take_all(inbox: deque[bytes]) -> bytes:
    """Take what was delivered, in its order; other threads may deliver more meanwhile."""
    taken: list[bytes] = []
    with contextlib.suppress(IndexError):
        while True:
            taken.append(inbox.popleft())
    return b"".join(taken)


def _as_bytes(sent: bytes) -> bytes:
    """Return the bytes that travelled as characters of the same number."""
    try:
        return sent.decode().encode("latin-1")
    except UnicodeEncodeError as error:
        message = "it sent text instead of bytes"
        raise BrokenTurnError(message) from error


def _find_readable(sockets: tuple[socket.socket, ...], seconds: float | None) -> list[socket.socket]:
    """Return the readable sockets, after waiting for one."""
    if not hasattr(select, "poll"):  # Windows, where any number of a socket can be selected
        return select.select(sockets, (), (), seconds)[0]
    poll = select.poll()
    for candidate in sockets:
        poll.register(candidate, select.POLLIN)
    ready = {number for number, _ in poll.poll(None if seconds is None else seconds * 1e3)}
    return [candidate for candidate in sockets if candidate.fileno() in ready]
