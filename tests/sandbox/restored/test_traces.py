"""Nothing of a program is in the next one, though both run in one process that is restored in between."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from typing import cast

import pytest

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.restored.host.kept_workers import KeptWorkers
from ez_ptc.sandbox.restored.host.ready import RestoredWorkers
from tests.sandbox.escapes.catalog import OWN, PRELUDE
from tests.sandbox.restored.programs import ASK_THE_KERNEL, PLAIN, PROBE, TAINTING, TRACELESS

FEW, SOME = 24, 400
MANY = int(os.environ.get("EZ_PTC_RESTORED_PROGRAMS", SOME))
SEED = 19
# Seconds for a new worker, on a machine that may lack memory or processes for a while.
PATIENCE = 60.0
ATTEMPTS = 5
# These take their time, or the memory of the machine.
HOSTILE = {
    f"{name}, {number}": program
    for name, programs in OWN.items()
    if name.startswith(("aftermath", "kernel", "executable", "files", "processes", "runtime", "values"))
    for number, program in enumerate(programs)
}


@ez_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Restored:
    """A sandbox whose programs share one worker for as long as that can be restored."""

    def __init__(self) -> None:
        self._sandbox = ProcessSandbox(ready=1, fresh="restored")
        self.toolkit = Toolkit([add], sandbox=self._sandbox, limits=Limits(timeout=1, grace=0.2))
        for _ in range(2):
            self.toolkit.execute("1")
        self.settle()

    @property
    def kept(self) -> KeptWorkers:
        """The restored workers."""
        zygote = self._sandbox._pool.zygote()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no program can tell
        zygote.receive()
        assert isinstance(zygote.ready, RestoredWorkers)
        return zygote.ready.kept

    def settle(self) -> None:
        """Wait until a worker is ready at its snapshot; after traces, others must run first in new processes."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self._sandbox.cool_down()
            if self.kept.ready_count:
                return
            self.toolkit.execute("1")
        raise TimeoutError(self.kept.ended)

    def run(self, code: str) -> object:
        """Run a program, and return its value once its worker is ready again, or another one."""
        value = self.toolkit.execute(code).return_value
        self.settle()
        return value

    def probe(self, code: str) -> object:
        """Run a program that must succeed, once more while the machine is too busy for it; return its value."""
        for _ in range(ATTEMPTS):
            result = self.toolkit.execute(code)
            self.settle()
            if result.success:
                return result.return_value
            assert "timed out" in (result.error or ""), result.error
        raise TimeoutError(code)

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Restored]:
    found = Restored()
    yield found
    found.close()


@pytest.fixture
def restored(shared: Restored) -> Restored:
    """Return the sandbox of all tests, with a worker at its snapshot."""
    shared.settle()
    return shared


def look(restored: Restored, seen: list[object]) -> object:
    """Return what a probe finds, and require random numbers that no other one has seen."""
    found, numbers = cast("tuple[object, list[object]]", restored.probe(PROBE))
    assert not set(numbers) & set(seen)
    seen += numbers
    return found


def run_mixed(restored: Restored, programs: dict[str, str], count: int) -> None:
    """Run programs in a random order, each followed by a probe that must find what the first one found."""
    chance = random.Random(SEED)
    seen: list[object] = []
    expected, kernel = look(restored, seen), restored.probe(ASK_THE_KERNEL)
    for number in range(count):
        name = chance.choice(list(programs))
        restored.run(programs[name])
        assert look(restored, seen) == expected, name
        if number % 20 == 0:
            assert restored.probe(ASK_THE_KERNEL) == kernel, name


def with_prelude(programs: dict[str, str]) -> dict[str, str]:
    return {name: PRELUDE + code for name, code in programs.items()}


EVERYTHING = PLAIN | with_prelude(TRACELESS) | with_prelude(TAINTING) | with_prelude(HOSTILE)


@pytest.mark.sampled(every=0)
def test_mixed_programs_leave_no_trace(restored: Restored) -> None:
    run_mixed(restored, PLAIN | with_prelude(TRACELESS) | with_prelude(TAINTING), FEW)


@pytest.mark.security
def test_many_mixed_programs_leave_no_trace(restored: Restored) -> None:
    before = restored.kept.restored
    run_mixed(restored, EVERYTHING, MANY)
    assert restored.kept.restored - before > MANY


@pytest.mark.parametrize("name", TRACELESS)
@pytest.mark.sampled(every=6)
def test_change_without_system_call_is_gone(restored: Restored, name: str) -> None:
    seen: list[object] = []
    expected = look(restored, seen)
    for _ in range(2):
        restored.run(PRELUDE + TRACELESS[name])
        assert look(restored, seen) == expected


@pytest.mark.parametrize("name", TAINTING)
@pytest.mark.sampled(every=5)
def test_trace_in_the_kernel_ends_the_worker(restored: Restored, name: str) -> None:
    numbers = restored.kept.numbers
    restored.run(PRELUDE + TAINTING[name])
    assert numbers - restored.kept.numbers


def test_plain_programs_share_a_worker(restored: Restored) -> None:
    numbers, before = restored.kept.numbers, restored.kept.restored
    for name, code in PLAIN.items():
        restored.run(code)
        assert restored.kept.numbers == numbers, (name, restored.kept.ended)
    assert restored.kept.restored - before >= len(PLAIN)


@pytest.mark.parametrize(
    "name", ["two done frames", "bytes after the end", "an end that goes on", "an end beside a reply"]
)
@pytest.mark.sampled(every=2)
def test_end_that_is_no_end_ends_the_worker(restored: Restored, name: str) -> None:
    numbers = restored.kept.numbers
    restored.run(PRELUDE + TRACELESS[name])
    assert numbers - restored.kept.numbers
    assert restored.probe("add(1, 2)") == 3
