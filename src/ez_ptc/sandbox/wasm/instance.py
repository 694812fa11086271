"""One instance of the component, which serves the programs of one worker in a thread of its own.

Theory of operation. The guest may call one function, `turn`: it sends the program's bytes, and waits for others. There
are two ways of driving a program:

- A blocking driver is a `Conversation`. It receives in the instance's thread, and runs a lone call there: a call costs
  no change of threads. Replies come through `deliver`, in any thread.
- An awaiting driver knows a worker by its socket, as that of a process; `turn` reads and writes the other end.

`interrupt` and `kill` set a flag and advance the engine's epoch, at which each running instance calls `_on_epoch`: it
stops its program (by the guest's function `stop`, called in the midst of `serve`), ends its instance, or goes on. An
instance that waits in `turn` is woken through a second socket. A tool that runs in the thread is not interrupted: the
program is stopped when it returns, and the caller goes on without it.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Protocol

from ez_ptc.sandbox.wasm.bindings import as_error, call_during_epoch, limit_memory, watch_epochs
from ez_ptc.sandbox.wasm.engine import MAX_MEMORY, UnboundedWaitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.wasm.engine import WasmEngine

__all__ = ["Conversation", "Instance", "KilledError"]

_CHUNK = 1 << 18
# Four times the guest's: the engine, and what the host's function calls, need some too.
_THREAD_STACK = 16 << 20
_starting = threading.Lock()
_MAX_WAIT = 1e5
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
# The image of the interpreter, and what is kept in reserve for reports.
_OWN_MEMORY = 80 << 20
# Parts of the engine's messages, and what they mean for a program.
_TRAPS = {
    "call stack exhausted": "the program crashed the interpreter: it nested or recursed too deeply",
    "Exited with": "the program ended its process instead of running to its end",
}


class KilledError(Exception):
    """The worker was ended by its host."""


class Conversation(Protocol):
    """A blocking driver, as its instance knows it."""

    def receive(self, data: bytes) -> None:
        """Receive the program's bytes, in the instance's thread."""
        ...

    def lose(self) -> None:
        """Learn that the instance has ended, or is withdrawn."""
        ...


class Instance:
    """A worker: the host's end for awaiting drivers is `socket`."""

    head: bytes | None = None
    """What it was told in advance: nothing."""

    def __init__(self, engine: WasmEngine, is_ready: Callable[[Instance], None]) -> None:
        """Start the thread; it calls `is_ready` once a program can be sent."""
        self._engine = engine
        self._is_ready = is_ready
        self._was_ready = False
        self._is_killed = False
        self._is_asked_to_stop = False
        self._is_waiting = False
        self._conversation: Conversation | None = None
        self._inbox: deque[bytes] = deque()
        self._memory: int = MAX_MEMORY
        self._memory_limit: int = MAX_MEMORY
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

    def begin(self, memory: int, conversation: Conversation | None) -> None:
        """Begin a program with a limit of `memory` bytes; without a conversation, its driver uses the socket."""
        self._memory = min(_OWN_MEMORY + memory, MAX_MEMORY)
        self._is_asked_to_stop = False
        self._conversation = conversation
        if conversation is not None and self.ended:
            conversation.lose()

    def deliver(self, data: bytes) -> None:
        """Let the program receive `data`, which has whole frames; any thread may call this."""
        self._inbox.append(data)
        if self._is_waiting:
            self._rouse()

    def interrupt(self) -> None:
        """Ask the program to stop: it gets a TimeoutError."""
        self._is_asked_to_stop = True
        self._alarm()

    def kill(self) -> None:
        """End the instance."""
        self._is_killed = True
        self._alarm()

    def _alarm(self) -> None:
        self._engine.tick()
        self._rouse()

    def _rouse(self) -> None:
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
        for end in (self.socket, self._far, self._wake, self._woken):
            end.close()

    def close(self) -> None:
        """End the instance and close the socket. Closing twice is harmless."""
        self.kill()
        self.socket.close()

    # The guest's side ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        from wasmtime import Store, WasiConfig, WasmtimeError

        self._engine.enter(self)
        store = self._store = Store(self._engine.engine)
        callback = watch_epochs(store, self._on_epoch)
        try:
            store.set_wasi(WasiConfig())
            instance = self._engine.linker.instantiate(store, self._engine.component)
            self._stop_function = instance.get_func(store, "stop")
            serve: Any = instance.get_func(store, "serve")
            serve(store)
            self.reason = "the program ended its process instead of running to its end"
        except WasmtimeError as error:
            self.reason = self._explain(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it must be told to the caller of the program
            self.reason = f"the sandbox failed: {type(error).__name__}: {error}"
        finally:
            # Not left to the collector: the callback holds this object.
            store.close()
            del store, callback, self._store
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
        if self.failure is not None:
            return f"the sandbox failed: {type(self.failure).__name__}: {self.failure}"
        for part, reason in _TRAPS.items():
            if part in trap:
                return reason
        return "the program crashed the interpreter: it nested too deeply, aborted, or ran out of memory"

    def _on_epoch(self, context: Any) -> Any:  # noqa: ANN401 - these are pointers in C
        if self._is_killed:
            return as_error("killed")
        if self._is_asked_to_stop:
            self._is_asked_to_stop = False
            if not call_during_epoch(context, self._stop_function):
                return as_error("the program cannot be stopped")
        return 0

    def turn(self, sent: bytes, seconds: float) -> bytes:
        """Send the program's bytes, and wait for others; see the guest's module `pipe`."""
        if self._is_killed:
            raise KilledError
        if sent:
            self._send(sent if sent.isascii() else sent.decode().encode("latin-1"))
        elif not self._was_ready:
            self._was_ready = True
            self._is_ready(self)
        data = self._wait(seconds)
        if self._is_killed:
            raise KilledError
        if self._memory != self._memory_limit:
            self._memory_limit = self._memory
            limit_memory(self._store, self._memory)
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
        until = None if seconds < 0 else time.monotonic() + min(seconds, _MAX_WAIT)
        self._is_waiting = True
        try:
            while not (self._inbox or self._is_killed or self._is_asked_to_stop):
                left = None if until is None else max(until - time.monotonic(), 0)
                readable = _find_readable((self._far, self._woken), left)
                if self._woken in readable:
                    self._woken.recv(64)
                elif readable:
                    return self._far.recv(_CHUNK)
                else:
                    return None
        finally:
            self._is_waiting = False
        data = b"".join(self._inbox)
        self._inbox.clear()
        return data or None


def _find_readable(sockets: tuple[socket.socket, ...], seconds: float | None) -> list[socket.socket]:
    """Return the readable sockets, after waiting for one."""
    if not hasattr(select, "poll"):  # Windows, where any number of a socket can be selected
        return select.select(sockets, (), (), seconds)[0]
    poll = select.poll()
    for candidate in sockets:
        poll.register(candidate, select.POLLIN)
    ready = {number for number, _ in poll.poll(None if seconds is None else seconds * 1e3)}
    return [candidate for candidate in sockets if candidate.fileno() in ready]
