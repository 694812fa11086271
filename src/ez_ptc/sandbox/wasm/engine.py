"""The WebAssembly engine, its component, and the host's function for instances, `turn`.

Programs get nothing else: no folder, environment, argument or socket. Clocks are read by the host. Waits without the
host end the instance, because nothing could interrupt them.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ez_ptc._extras import import_extra
from ez_ptc.sandbox.wasm.bindings import define_turn, set_stack

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MAX_MEMORY", "Guest", "UnboundedWaitError", "WasmEngine"]

MAX_MEMORY = (4 << 30) - (1 << 16)
"""The maximum bytes of an instance's memory."""
# The guest's part of a thread's stack: beyond it, the instance ends. A thread with less would end this process.
_STACK = 4 << 20
_SETTINGS = "epochs, 4 MB of stack"


class Guest(Protocol):
    """An instance, as its host's functions know it."""

    failure: BaseException | None

    def turn(self, sent: bytes, seconds: float) -> bytes:
        """Send the program's bytes, and wait for others."""
        ...


class UnboundedWaitError(Exception):
    """A program waits, and the host could not end the wait."""


class WasmEngine:
    """Compiles the component, and makes instances of it in any thread."""

    def __init__(self, component: Path, digest: str, folder: Path) -> None:
        """Load a component with a SHA-256 digest, compiled in a cache folder.

        Raises MissingExtraError without wasmtime, and WasmtimeError if the component cannot be loaded.
        """
        import_extra("wasmtime", extra="wasm")
        from wasmtime import Config, Engine
        from wasmtime.component import Linker

        from ez_ptc.sandbox.wasm.cache import load_component

        config = Config()
        config.epoch_interruption = True
        set_stack(config, _STACK)
        self.engine = Engine(config)
        self.component = load_component(self.engine, component, digest, _SETTINGS, folder)
        self.linker = Linker(self.engine)
        self.linker.allow_shadowing = True
        self.linker.add_wasip2()
        self._current = threading.local()
        with self.linker.root() as root:
            self._turn = define_turn(root, self._answer)
        self._refuse_timers()

    def tick(self) -> None:
        """Let every running instance look whether it is to stop."""
        self.engine.increment_epoch()

    def enter(self, guest: Guest) -> None:
        """Let `turn` of this thread be the guest's."""
        self._current.guest = guest

    def _answer(self, sent: bytes, seconds: float) -> bytes:
        guest: Guest = self._current.guest
        try:
            return guest.turn(sent, seconds)
        except BaseException as error:
            guest.failure = error
            raise

    def _refuse_timers(self) -> None:
        """End instances waiting without the host: such waits cannot be interrupted."""

        def refuse(*_: object) -> NoReturn:
            raise UnboundedWaitError

        def now(_: object) -> int:
            return time.monotonic_ns()

        def resolution(_: object) -> int:
            return 1

        imports: dict[str, Any] = self.component.type.imports(self.engine)
        for name in [name for name in imports if name.startswith("wasi:clocks/monotonic-clock")]:
            # All of its functions: under the name with this version, there are no others.
            with self.linker.root() as root, root.add_instance(name) as clock:
                clock.add_func("now", now)
                clock.add_func("resolution", resolution)
                clock.add_func("subscribe-duration", refuse)
                clock.add_func("subscribe-instant", refuse)
