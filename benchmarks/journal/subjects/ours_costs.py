"""What only this library is asked: calls side by side and without a journal, resuming, and streaming."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from ez_ptc import Approve, ExecutionResult, Limits, ProcessSandbox, Toolkit, ez_tool

__all__ = [
    "PARALLEL",
    "STEPS",
    "echo",
    "journaled_costs",
    "parallel_costs",
    "plain_costs",
    "resume_times",
    "stream_times",
]

STEPS: Final = "for number in range({}):\n    echo(number)"
PARALLEL: Final = """
for start in range(0, {}, 20):
    parallel(*[(echo, number) for number in range(start, start + 20)])
"""
_RESUMED: Final = STEPS + "\napproved(0)"
_STREAMED: Final = {
    "calls of 1 ms": "for number in range({}):\n    wait(number)",
    "calls of 1 ms, each printed": "for number in range({}):\n    print(wait(number))",
    "× 50 lines of output": "for number in range({} * 50):\n    print(number, 'x' * 80)",
}
_STREAMED_CALLS: Final = 200
_RESUMES: Final = 5


@ez_tool
def echo(number: int) -> int:
    """Return the number."""
    return number


@ez_tool(requires_approval=True)
def approved(number: int) -> int:
    """Return the number, with an approval."""
    return number


@ez_tool
def wait(number: int) -> int:
    """Return the number after a millisecond."""
    time.sleep(0.001)
    return number


def journaled_costs(folder: Path, steps: int) -> float:
    """Run a program of `steps` calls in a journaled run, and return the seconds of CPU in this process."""
    return _costs(Toolkit([echo], journal=folder / "runs.db"), STEPS, steps)


def parallel_costs(folder: Path, steps: int) -> float:
    """Same as `journaled_costs`, for calls that run side by side."""
    return _costs(Toolkit([echo], journal=folder / "runs.db"), PARALLEL, steps)


def plain_costs(folder: Path, steps: int) -> float:
    """Same as `journaled_costs`, without a journal."""
    del folder
    return _costs(Toolkit([echo]), STEPS, steps)


def _costs(toolkit: Toolkit, program: str, steps: int) -> float:
    with toolkit:
        toolkit.execute(program.format(1)).raise_for_error()
        began = time.process_time()
        if steps:
            toolkit.execute(program.format(steps)).raise_for_error()
        return time.process_time() - began


def resume_times(folder: Path, calls: int) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds, and those of CPU in this process, to resume runs of `calls` recorded calls.

    They are resumed to the same pause, and approved, to the result; beside that, the same calls run without a journal.
    The worker of the paused program is not kept; the zygote, from which a new one comes, is running.
    """
    plain: list[tuple[float, float]] = []
    pauses: list[tuple[float, float]] = []
    ends: list[tuple[float, float]] = []
    limits = Limits(calls=calls + 1)
    with (
        ProcessSandbox(paused=0) as sandbox,
        Toolkit([echo, approved], journal=folder / "runs.db", sandbox=sandbox, limits=limits) as toolkit,
        Toolkit([echo], sandbox=sandbox, limits=limits) as unrecorded,
    ):
        unrecorded.execute(STEPS.format(1)).raise_for_error()
        for _ in range(_RESUMES):
            paused = toolkit.execute(_RESUMED.format(calls))
            assert paused.status == "paused", paused.status
            assert paused.run_id is not None
            plain.append(_seconds(partial(unrecorded.execute, STEPS.format(calls)), "done"))
            pauses.append(_seconds(partial(toolkit.resume, paused.run_id), "paused"))
            decisions = {paused.pending[0].id: Approve()}
            ends.append(_seconds(partial(toolkit.resume, paused.run_id, decisions), "done"))
    return {"no journal": plain, "resumed to the same pause": pauses, "resumed with an approval, to the result": ends}


def _seconds(run: Callable[[], ExecutionResult], status: str) -> tuple[float, float]:
    began, began_cpu = time.perf_counter(), time.process_time()
    result = run()
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    assert result.status == status, result.status
    return seconds, cpu


def stream_times(folder: Path, tries: int, calls: int = _STREAMED_CALLS) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds of programs, streamed and plain: with the blocking methods, and with the asynchronous ones."""
    del folder
    times: dict[str, list[tuple[float, float]]] = {}
    with Toolkit([wait]) as toolkit:
        for name, template in _STREAMED.items():
            program, title = template.format(calls), f"{calls} {name}"
            toolkit.execute(program).raise_for_error()
            list(toolkit.stream(program))
            blocking: list[tuple[float, float]] = []
            for _ in range(tries):
                began = time.perf_counter()
                for _event in toolkit.stream(program):
                    pass
                between = time.perf_counter()
                toolkit.execute(program).raise_for_error()
                blocking.append((between - began, time.perf_counter() - between))
            times[f"`stream`, {title}"] = blocking
            times[f"`astream`, {title}"] = asyncio.run(_astream_times(toolkit, program, tries))
    return times


async def _astream_times(toolkit: Toolkit, program: str, tries: int) -> list[tuple[float, float]]:
    times: list[tuple[float, float]] = []
    await toolkit.aexecute(program)
    for _ in range(tries):
        began = time.perf_counter()
        async for _event in toolkit.astream(program):
            pass
        between = time.perf_counter()
        (await toolkit.aexecute(program)).raise_for_error()
        times.append((between - began, time.perf_counter() - between))
    return times
