"""Programs that another worker checks: what it says, what it cannot do, and what is left when it fails."""

from __future__ import annotations

import _socket
import contextlib
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import pytest

from ez_ptc import Toolkit
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.host.workers.checkers import Checker, Checkers
from ez_ptc.sandbox.host.zygote import ZygoteProcess
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.fresh import FRESH
from tests.sandbox.host.workers.checked import (
    RIGHT,
    WRONG,
    add_one,
    checkers_of,
    find_row,
    made,
    replace_socket,
    with_checker,
)
from tests.sandbox.processes import all_gone, becomes, descendants, descriptors
from tests.sandbox.scripts import run_script

# No program can tell which worker has checked it.
# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false

MISTAKES = [
    WRONG,
    "print('before')\nadd_one(1, 2)",
    "print('before')\nadd_one(missing)",
    "print('before')\nadd_onee(1)\nadd_one(1)",
    "print('before')\nadd_one(1) + 'x'",
    "```python\nprint('before')\nadd_one('one')\n```",
    "print('before')\nadd_one('one')\nadd_one(1, 2)\nfind_row(1).nam",
]


@pytest.fixture
def own() -> Iterator[ProcessSandbox]:
    made.clear()
    with ProcessSandbox(fresh=FRESH) as sandbox:
        yield sandbox


@pytest.fixture
def kit(own: ProcessSandbox) -> Toolkit:
    return Toolkit([add_one, find_row], sandbox=own, timeout=30)


def texts(result: ExecutionResult) -> tuple[object, ...]:
    return result.success, result.output, result.error, result.error_output, result.correction, result.tool_calls


def test_mistake_has_the_same_text_from_a_checker(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    made.clear()
    for program in MISTAKES:
        # The first program of a toolkit is checked in its worker.
        alone = Toolkit([add_one, find_row], sandbox=own, timeout=30).execute(program)
        number = checker.number
        assert texts(kit.execute(program)) == texts(alone)
        assert checker.number == number + 1
        assert not alone.success
        assert alone.output == ""
    assert not made


def test_right_program_runs_once_and_prints(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    made.clear()
    number = checker.number
    result = kit.execute(RIGHT)
    assert (result.output, result.return_value, list(made), checker.number) == ("before\n", 2, [1], number + 1)


def test_event_loop_awaits_the_verdict(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    made.clear()
    for backend in ("asyncio", "trio"):
        for program, success in ((RIGHT, True), (WRONG, False), (RIGHT, True)):
            assert anyio.run(kit.aexecute, program, backend=backend).success is success
    assert list(made) == [1, 1, 1, 1]
    assert checker in checkers_of(own)._idle


SILENT = "import time\ntime.sleep(600)\nadd_one({})"
WAYS: dict[str, Callable[[Toolkit, str], object]] = {
    "a thread": lambda kit, code: kit.execute(code, 600),
    "a stream": lambda kit, code: list(kit.stream(code, 600)),
    "asyncio": lambda kit, code: anyio.run(kit.aexecute, code, 600),
    "trio": lambda kit, code: anyio.run(partial(kit.aexecute, code, 600), backend="trio"),
}


def begin(way: str, kit: Toolkit, code: str) -> threading.Thread:
    def run() -> None:
        with contextlib.suppress(SandboxError):  # closed
            WAYS[way](kit, code)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("way", list(WAYS))
def test_refused_program_ends_before_it_sends_anything(kit: Toolkit, own: ProcessSandbox, way: str) -> None:
    checker = with_checker(own, kit)
    made.clear()
    thread = begin(way, kit, SILENT.format("'one'"))
    thread.join(30)
    assert not thread.is_alive()
    assert not made
    assert checker in checkers_of(own)._idle


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.security
def test_late_verdict_is_given_up_before_the_program_ends(kit: Toolkit, own: ProcessSandbox, way: str) -> None:
    checker = with_checker(own, kit)
    far = replace_socket(checker)
    thread = begin(way, kit, SILENT.format(1))
    assert becomes(lambda: checker.worker.ended, True, within=30)
    assert thread.is_alive()
    own.close()
    thread.join(30)
    far.close()


def test_busy_checkers_count_among_the_most(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    checkers, ready = checkers_of(own), own._pool.zygote().ready
    own.cool_down()
    assert becomes(lambda: ready.blank > 0, True, within=20)
    worker = ready.pop()
    assert worker is not None
    checkers._busy.update(Checker(checker.worker, checker.owner) for _ in range(8))
    other = Toolkit([add_one], sandbox=own)
    for _ in range(2):
        assert checkers.begin(other._channel.grants, RIGHT) is None
    assert checkers.is_missing
    assert not checkers.add(worker)
    assert len(checkers) == 8
    ready.put_back(worker)


def test_nothing_of_a_refused_program_reaches_a_reader_of_events(kit: Toolkit, own: ProcessSandbox) -> None:
    with_checker(own, kit)
    events = list(kit.stream(WRONG))
    assert [type(event).__name__ for event in events] == ["ProgramEnded"]


def answer(text: bytes) -> Callable[[_socket.socket, int], None]:
    def send(far: _socket.socket, number: int) -> None:
        far.send(text % number if b"%d" in text else text)

    return send


def hang_up(far: _socket.socket, number: int) -> None:
    del number
    far.close()


HOSTILE = {
    "the end of its socket": hang_up,
    "another number": answer(b"p0"),
    "the next number, too": answer(b"p%dp999"),
    "a verdict twice": answer(b"p%dp"),
    "nothing but a letter": answer(b"p"),
    "garbage": answer(b"\xff\x00\x80"),
    "a flood": answer(b"p" * (1 << 15)),
    "a frame": answer(b"\0\0\0\x10" + b'{"t":"done"}    '),
}


@pytest.mark.parametrize("send", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("program", [RIGHT, WRONG], ids=["right", "wrong"])
@pytest.mark.sampled(every=8)
def test_checker_that_breaks_its_protocol_changes_nothing(
    kit: Toolkit, own: ProcessSandbox, program: str, send: Callable[[_socket.socket, int], None]
) -> None:
    checker = with_checker(own, kit)
    made.clear()
    far = replace_socket(checker)
    send(far, checker.number + 1)
    result = kit.execute(program)
    assert (result.success, result.output, list(made)) == (
        (True, "before\n", [1]) if program is RIGHT else (False, "", [])
    )
    assert checker not in checkers_of(own)._idle
    assert checker.worker.ended
    far.close()


@pytest.mark.security
@pytest.mark.parametrize("program", [RIGHT, WRONG], ids=["right", "wrong"])
def test_silent_checker_is_replaced(kit: Toolkit, own: ProcessSandbox, program: str) -> None:
    checker = with_checker(own, kit)
    made.clear()
    pid = checker.worker.host_pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    result = kit.execute(program)
    assert (result.success, list(made)) == ((True, [1]) if program is RIGHT else (False, []))
    assert checker.worker.ended
    assert with_checker(own, kit) is not checker


@pytest.mark.security
def test_killed_checker_is_replaced(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    pid = checker.worker.host_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    made.clear()
    assert not kit.execute(WRONG).success
    assert kit.execute(RIGHT).success
    assert list(made) == [1]
    assert with_checker(own, kit) is not checker


def test_verdict_passes_or_refuses_and_does_no_more(kit: Toolkit, own: ProcessSandbox) -> None:
    """The worker and the host check each call as ever, also of a wrong program that a checker has passed."""
    checker = with_checker(own, kit)
    made.clear()
    far = replace_socket(checker)
    far.send(b"p%d" % (checker.number + 1))
    result = kit.execute(WRONG)
    assert (result.success, result.output, list(made)) == (False, "before\n", [])
    far.send(b"r%d" % (checker.number + 1))
    assert kit.execute(RIGHT).success
    assert list(made) == [1]
    far.close()


def test_each_toolkit_has_its_own_checker(own: ProcessSandbox) -> None:
    """Also one with equal tools: its programs are those of others."""
    kits = [Toolkit([add_one], sandbox=own), Toolkit([add_one], sandbox=own), Toolkit([find_row, add_one], sandbox=own)]
    found = [with_checker(own, kit) for kit in kits]
    assert len({id(checker.worker) for checker in found}) == len(kits)
    for kit, checker in zip(kits, found, strict=True):
        numbers = [checker.number for checker in found]
        assert kit.execute(RIGHT).success
        numbers[found.index(checker)] += 1
        assert [checker.number for checker in found] == numbers


def test_checker_is_confined_like_a_worker(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    own.warm_up()
    ready = own._pool.zygote().ready
    assert becomes(lambda: ready.blank > 0, True, within=20)
    worker = ready._blank[0]

    def confinement(pid: int | None) -> dict[str, str]:
        lines = (Path("/proc") / str(pid) / "status").read_text(encoding="ascii").splitlines()
        names = ("Seccomp", "NoNewPrivs", "CapEff", "CapBnd", "Uid", "Gid", "Seccomp_filters")
        return {name: value for name, _, value in (line.partition(":") for line in lines) if name in names}

    assert becomes(lambda: confinement(worker.host_pid()), confinement(checker.worker.host_pid()), within=20)
    assert confinement(checker.worker.host_pid())["Seccomp"].strip() == "2"


def test_checker_of_many_programs_is_replaced(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    checker.number = 499
    assert kit.execute(RIGHT).success
    assert checker.worker.ended
    assert not kit.execute(WRONG).success


@pytest.mark.security
def test_programs_at_a_time_share_no_verdict(kit: Toolkit, own: ProcessSandbox) -> None:
    with_checker(own, kit)
    made.clear()
    results: list[tuple[bool, ExecutionResult]] = []

    def run(number: int) -> None:
        for program in (RIGHT, WRONG) * 4:
            is_right = (program is RIGHT) ^ bool(number % 2)
            results.append((is_right, kit.execute(RIGHT if is_right else WRONG, 60)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(results) == 32
    assert all(result.success is is_right for is_right, result in results)
    assert len(made) == 16
    assert not checkers_of(own)._busy


def test_cancelled_caller_leaves_no_verdict_behind(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    far = replace_socket(checker)

    async def cancel() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(kit.aexecute, "add_one(1)\nwhile True: pass"))
            while not checkers_of(own)._busy:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    anyio.run(cancel)
    assert not checkers_of(own)._busy
    assert checker not in checkers_of(own)._idle
    assert not kit.execute(WRONG).success
    far.close()


def test_closed_sandbox_leaves_no_checker(own: ProcessSandbox, kit: Toolkit) -> None:
    before = descriptors().items()
    processes = descendants(os.getpid())
    checker = with_checker(own, kit)
    own.close()
    assert checker.worker.ended
    assert all_gone(descendants(os.getpid()) - processes, within=20)
    becomes(lambda: len(descriptors().items() - before), 0, within=20)
    assert descriptors().items() - before == set()
    with pytest.raises(SandboxError, match="closed"):
        kit.execute(RIGHT)


def test_idle_checkers_end_where_no_process_can_start(kit: Toolkit, own: ProcessSandbox) -> None:
    checker = with_checker(own, kit)
    cast("ZygoteProcess", own._pool.zygote())._take_refusal("Resource temporarily unavailable")
    assert checker.worker.ended
    assert kit.execute(RIGHT).success
    assert not kit.execute(WRONG).success


def test_cool_down_and_dropped_toolkits_end_checkers(own: ProcessSandbox) -> None:
    toolkit = Toolkit([add_one], sandbox=own)
    checker = with_checker(own, toolkit)
    del toolkit
    gc.collect()
    assert checker.owner() is None
    own.cool_down()
    assert checker.worker.ended
    assert len(checkers_of(own)) == 0


FORK = """
import os, sys
from ez_ptc import ProcessSandbox, Toolkit, ez_tool

@ez_tool
def add_one(x: int) -> int:
    "Add one."
    return x + 1

def run(toolkit):
    assert toolkit.execute("print(1)\\nadd_one(1)", 60).return_value == 2
    assert "has not run" in toolkit.execute("add_one('a')", 60).error_output

with ProcessSandbox() as sandbox:
    toolkit = Toolkit([add_one], sandbox=sandbox)
    while not (checkers := sandbox._pool.zygote().ready.checkers):
        run(toolkit)
    checker = checkers._idle[0]
    pid = os.fork()
    if not pid:
        run(toolkit)
        sandbox.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    number = checker.number
    run(toolkit)
    assert checker.number == number + 2
"""


@pytest.mark.security
def test_fork_of_the_host_leaves_the_checker_to_its_parent() -> None:
    run_script(FORK)


def test_no_checker_is_missing_where_workers_cannot_be_prepared() -> None:
    grants = Toolkit([add_one])._channel.grants  # as in WebAssembly
    for can_prepare in (True, False):
        checkers = Checkers(can_prepare=can_prepare)
        assert [checkers.begin(grants, RIGHT) for _ in range(9)] == [None] * 9
        assert checkers.is_missing is can_prepare
