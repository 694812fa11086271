"""Makes instances in advance: for a pool, it is what a zygote is to processes, and has the same methods."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, cast

from ez_ptc._closing import OpenObjects
from ez_ptc.sandbox.host.workers.ready import ReadyWorkers
from ez_ptc.sandbox.protocol.isolation import Layer, Report
from ez_ptc.sandbox.wasm.instance import Instance

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.workers.handle import WorkerHandle
    from ez_ptc.sandbox.wasm.store import WasmEngine

__all__ = ["REPORT", "InstanceMaker"]

_MOMENT = 0.02
_END_SECONDS = 1.0
REPORT = Report(
    (
        Layer(name="WebAssembly", required=True, held=True, detail="CPython in wasmtime: no files, network, processes"),
        Layer(
            name="process boundary",
            required=False,
            held=False,
            detail="programs run in this process: nothing would contain a bug of the WebAssembly engine",
            advice="run this in Linux with seccomp, where programs get processes of their own",
        ),
    ),
    "wasm",
)


class InstanceMaker:
    """Makes instances, each in a thread of its own, and hands them out."""

    def __init__(self, engine: WasmEngine) -> None:
        """Make instances of the engine's component."""
        self._engine = engine
        # An instance learns the memory that it may use with its program.
        self.ready = ReadyWorkers(can_prepare=False)
        self._ordered: deque[None] = deque()
        self._arrived: deque[Instance] = deque()
        self._news = threading.Event()
        self.refusal = ""
        self.refusals = 0
        self.report = REPORT
        self._all: OpenObjects[Instance] = OpenObjects()
        # At exit too: the interpreter must not end while a thread is in the engine.
        weakref.finalize(self, _end, self._all)

    @property
    def ordered(self) -> int:
        """The number of instances ordered and not received yet."""
        return len(self._ordered)

    def order(self, number: int) -> None:
        """Order instances."""
        self._ordered.extend(repeat(None, number))
        for _ in range(number):
            try:
                self._all.add(Instance(self._engine, self._arrive))
            except (OSError, RuntimeError) as error:
                self._refuse(str(error))

    def _arrive(self, instance: Instance) -> None:
        self._arrived.append(instance)
        self._news.set()

    def _refuse(self, reason: str) -> None:
        self.refusals += 1
        self.refusal = reason
        with contextlib.suppress(IndexError):
            self._ordered.pop()

    def expect_nothing_late(self) -> None:
        """Do nothing: no order is lost."""

    def receive(self) -> None:
        """Receive the instances that are ready."""
        self._news.clear()
        with contextlib.suppress(IndexError):
            while True:
                instance = self._arrived.popleft()
                if instance.reason is not None:
                    self._refuse(instance.reason)
                    instance.close()
                else:
                    self.refusals = 0
                    # It has the methods of a handle.
                    self.ready.add(cast("WorkerHandle", instance))
                    with contextlib.suppress(IndexError):
                        self._ordered.pop()

    def wait(self) -> None:
        """Return when there is something to receive, or a moment later."""
        self._news.wait(_MOMENT)

    def exit_reason(self, worker: Instance) -> str | None:
        """Return why an instance has ended, or None if it has not."""
        worker.over.wait(_END_SECONDS)
        return worker.reason or "the program did not end"

    def ask(self, worker: Instance) -> None:
        """Do nothing: an instance knows why it has ended."""

    def disown(self) -> None:
        """Forget the instances in a fork of the host, where their threads are gone."""
        self.ready.disown()
        for instance in self._arrived:
            instance.disown()
        self._arrived.clear()

    def close(self) -> None:
        """End all instances, also those in use."""
        self.ready.close()
        for instance in self._all.read():
            instance.close()


def _end(instances: OpenObjects[Instance]) -> None:
    """End all instances, also those in use, and wait for them."""
    living = instances.read()
    for instance in living:
        instance.close()
    for instance in living:
        instance.over.wait(_END_SECONDS)
