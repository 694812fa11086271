"""What instances can ask of their host: `turn`, the time, and random numbers. All else is empty, or refused."""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
import time
from ctypes import byref, c_void_p, sizeof, string_at
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ez_ptc.sandbox.protocol.both_ends.predefined import EPOCH_NS, STEP_NS
from ez_ptc.sandbox.wasm.bindings import (
    LIST,
    RECORD,
    STRING,
    U8,
    U32,
    U64,
    Callback,
    ComponentField,
    Value,
    check,
    guarded,
    library,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.wasm.component import Component, Engine

__all__ = ["REAL", "BrokenTurnError", "GuestInstance", "Imports", "PinnedWorld", "UnboundedWaitError", "World"]

_SECOND = 10**9
_MAX_DRAWN = 1 << 16
# Each byte as a value of its own, which is how a component gets a list of them.
_BYTES = tuple(bytes((U8, *bytes(7), number)).ljust(sizeof(Value), b"\0") for number in range(256))


class GuestInstance(Protocol):
    """An instance, as its host's functions know it."""

    failure: BaseException | None
    world: World
    max_sent: int

    def turn(self, sent: bytes, seconds: float) -> bytes:
        """Send the program's bytes, and wait for others."""
        ...


class UnboundedWaitError(Exception):
    """A program waits, and the host could not end the wait."""


class BrokenTurnError(Exception):
    """A program called a function of the host as the worker never does."""


class Imports:
    """The imports of all instances of a component; each one runs in a thread of its own."""

    def __init__(self, engine: Engine, component: Component) -> None:
        """Define them. Raises EngineError if the engine does not accept them."""
        self._library = library()
        self._current = threading.local()
        self._callbacks: list[object] = []  # kept as long as the engine may call them
        self.linker: int = self._library.wasmtime_component_linker_new(engine.pointer)
        self._library.wasmtime_component_linker_allow_shadowing(self.linker, True)  # noqa: FBT003 - a function in C
        check(self._library.wasmtime_component_linker_add_wasip2(self.linker))
        self._define("", {"turn": self._turn})
        for name in component.imports():
            # All of their functions: under a name with a version, there are no others.
            self._define(name, self._functions.get(name.partition("@")[0], {}))

    @property
    def _functions(self) -> dict[str, dict[str, Callable[..., int | None]]]:
        return {
            "wasi:clocks/monotonic-clock": {
                "now": self._now,
                "resolution": self._resolution,
                "subscribe-duration": self._refuse,
                "subscribe-instant": self._refuse,
            },
            "wasi:clocks/wall-clock": {"now": self._wall_now, "resolution": self._wall_resolution},
            "wasi:random/random": {"get-random-bytes": self._draw, "get-random-u64": self._draw_number},
        }

    def enter(self, guest: GuestInstance) -> None:
        """Let this thread's instance be the guest."""
        self._current.guest = guest

    def _define(self, instance: str, functions: dict[str, Callable[..., int | None]]) -> None:
        if not functions:
            return
        root = target = c_void_p(self._library.wasmtime_component_linker_root(self.linker))
        if instance:
            target, name = c_void_p(), instance.encode()
            check(self._library.wasmtime_component_linker_instance_add_instance(root, name, len(name), byref(target)))
        for text, function in functions.items():
            name, callback = text.encode(), Callback(guarded(function))
            self._callbacks.append(callback)
            check(
                self._library.wasmtime_component_linker_instance_add_func(target, name, len(name), callback, None, None)
            )
        if instance:
            self._library.wasmtime_component_linker_instance_delete(target)
        self._library.wasmtime_component_linker_instance_delete(root)

    # As a component's functions are called: what they are given is in `args`, and what they return in `results` -----

    def _turn(self, _data: Any, _context: Any, _type: Any, args: Any, _n: Any, results: Any, _m: Any) -> None:  # noqa: ANN401 - these are C
        guest: GuestInstance = self._current.guest
        text = args[0].of.bytes
        size = text.size
        if size > guest.max_sent:
            error = guest.failure = BrokenTurnError(f"it sent {size:,} bytes at once")
            raise error
        try:
            received = guest.turn(string_at(text.data, size) if size else b"", args[1].of.f64)
        except BaseException as error:
            guest.failure = error
            raise
        result = results[0]
        result.kind = STRING
        self._library.wasm_byte_vec_new(byref(result.of.bytes), len(received), received)

    def _now(self, *arguments: Any) -> None:
        result = arguments[5][0]
        result.kind, result.of.u64 = U64, time.monotonic_ns()

    def _resolution(self, *arguments: Any) -> None:
        result = arguments[5][0]
        result.kind, result.of.u64 = U64, 1

    def _refuse(self, *_: object) -> NoReturn:
        error = self._current.guest.failure = UnboundedWaitError()
        raise error

    def _wall_now(self, *arguments: Any) -> None:
        self._set_time(arguments[5][0], self._current.guest.world.wall_ns())

    def _wall_resolution(self, *arguments: Any) -> None:
        self._set_time(arguments[5][0], 1)

    def _set_time(self, result: Any, nanoseconds: int) -> None:  # noqa: ANN401 - as above
        fields = (ComponentField * 2)()
        for field, name, value_type, number in zip(
            fields, (b"seconds", b"nanoseconds"), (U64, U32), divmod(nanoseconds, _SECOND), strict=True
        ):
            self._library.wasm_byte_vec_new(byref(field.name), len(name), name)
            field.value.kind, field.value.of.u64 = value_type, number
        result.kind = RECORD
        self._library.wasmtime_component_valrecord_new(byref(result.of.elements), len(fields), fields)

    def _draw(self, *arguments: Any) -> None:
        size = arguments[3][0].of.u64
        if size > _MAX_DRAWN:
            error = self._current.guest.failure = BrokenTurnError(f"it asked for {size:,} random bytes at once")
            raise error
        drawn = b"".join(map(_BYTES.__getitem__, self._current.guest.world.draw(size)))
        result = arguments[5][0]
        result.kind = LIST
        self._library.wasmtime_component_vallist_new(byref(result.of.elements), size, drawn)

    def _draw_number(self, *arguments: Any) -> None:
        result = arguments[5][0]
        result.kind, result.of.u64 = U64, int.from_bytes(self._current.guest.world.draw(8), "little")


class World:
    """The host's clock and random numbers, below what the worker pins: for code in C."""

    def wall_ns(self) -> int:
        """Return the time in nanoseconds since 1970."""
        return time.time_ns()

    def draw(self, size: int) -> bytes:
        """Return random bytes."""
        return os.urandom(size)


class PinnedWorld(World):
    """Depends on a seed and on the time at which its clock starts."""

    def __init__(self, seed: int, epoch_ns: int | None) -> None:
        self._seed = seed
        self._times = itertools.count(EPOCH_NS if epoch_ns is None else epoch_ns, STEP_NS)
        self._drawn = itertools.count()

    def wall_ns(self) -> int:
        """Return the time in nanoseconds since 1970, and advance the clock."""
        return next(self._times)

    def draw(self, size: int) -> bytes:
        """Return the next bytes of the seed."""
        return hashlib.shake_128(b"host %d %d" % (self._seed, next(self._drawn))).digest(size)


REAL = World()
