"""Figures of this library alone, each for one size: ``python -m benchmarks.peers.own_growth`` prints how they grow."""

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypedDict

from benchmarks.peers.newborn import ROOT
from benchmarks.peers.subject import echo, elapsed
from benchmarks.peers.table import figure_text

__all__ = ["Cost", "main", "measure_early_programs", "measure_tools", "measure_turns", "own_lines"]

_GAP: Final = 0.02
# The turns, and the programs, whose median is a figure.
_LAST_TURNS: Final = 20
_FIRST_EARLY: Final = 2
_TOOLS: Final = (1_000, 3_000, 10_000)
_TURNS: Final = (20, 100, 200, 500)
_SECONDS: Final = 300.0


class Cost(NamedTuple):
    """What something takes: elapsed seconds, seconds of CPU time, and bytes of memory."""

    seconds: float
    cpu: float
    memory: float = 0.0


class Record(TypedDict):
    """What most of the tools return."""

    id: str
    name: str
    status: str
    owner: str


def measure_early_programs(count: int) -> Cost:
    """Return the median of programs 3 to ``count`` of a new toolkit, with callers 20 ms apart."""
    from ez_ptc import Toolkit, ez_tool

    # Its sandbox has run a program of another toolkit.
    with Toolkit([ez_tool(echo)]) as other, Toolkit([ez_tool(echo, name="repeat")], sandbox=other.sandbox) as toolkit:
        other.execute("1").raise_for_error()
        times: list[float] = []
        began = time.process_time()
        for _ in range(count):
            time.sleep(_GAP)  # as callers come
            times.append(elapsed(lambda: toolkit.execute("repeat(1)").raise_for_error()))
        cpu = (time.process_time() - began) / count
    return Cost(statistics.median(times[_FIRST_EARLY:]), cpu)


def measure_turns(count: int) -> Cost:
    """Return the median of the last 20 of ``count`` blocking turns of one conversation, each with a tool call."""
    from ez_ptc import ScriptedProvider, ToolCall, ez_tool, llm

    answers: list[ToolCall | str] = []
    for number in range(count):
        answers += [ToolCall(f"call_{number}", "echo", {"value": number}), f"It is {number}."]
    conversation = llm().tools(ez_tool(echo)).provider(ScriptedProvider(*answers))
    times, cpu_times = list[float](), list[float]()
    for number in range(count):
        began = time.process_time()
        seconds = time.perf_counter()
        _, conversation = conversation.converse(f"What is {number}?")
        times.append(time.perf_counter() - seconds)
        cpu_times.append(time.process_time() - began)
    return Cost(statistics.median(times[-_LAST_TURNS:]), statistics.median(cpu_times[-_LAST_TURNS:]))


def _functions(count: int) -> list[Callable[..., object]]:
    """Return functions with docstrings and annotations of a few types; a fifth return records."""
    names: dict[str, object] = {"Record": Record, "Literal": Literal}
    heads = (
        "get_{0}(item_id: str) -> Record",
        "search_{0}(query: str, limit: int = 20) -> list[Record]",
        "update_{0}(item_id: str, status: Literal['open', 'closed'] = 'open') -> bool",
        "count_{0}(region: str) -> int",
        "export_{0}(month: str) -> str",
    )
    functions: list[Callable[..., object]] = []
    for number in range(count):
        head = heads[number % len(heads)].format(number)
        exec(f"def {head}:\n    '''Work on the items of system {number}.'''\n", names)  # noqa: S102 - lines of this module
        functions.append(names[head.partition("(")[0]])  # pyright: ignore[reportArgumentType] - a function
    return functions


def measure_tools(count: int) -> Cost:
    """Return what a toolkit of ``count`` tools and its first prompt take, beyond the memory of their functions."""
    from ez_ptc import Toolkit

    with Toolkit(_functions(5)) as small:  # imports what describing takes
        small.prompt()
    functions = _functions(count)
    gc.collect()
    before, began, cpu = _resident(), time.perf_counter(), time.process_time()
    toolkit = Toolkit(functions)
    toolkit.prompt()
    cost = Cost(time.perf_counter() - began, time.process_time() - cpu, _resident() - before)
    toolkit.close()
    return cost


def _resident() -> int:
    """Return the memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:"))


def own_lines() -> list[str]:
    """Return how toolkits grow with their tools, and turns with their number, each size in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.peers.own_growth"]
    sizes = [["tools", str(count)] for count in _TOOLS] + [["turns", str(count)] for count in _TURNS]
    lines: list[str] = []
    for size in sizes:
        done = subprocess.run(
            [*command, *size], cwd=ROOT, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
        lines += done.stdout.splitlines() or [f"{' '.join(size)}: not measured"]
    return lines


def main(part: str, size: int) -> None:
    """Print the cost of a toolkit of so many tools, or of the last of so many turns."""
    if part == "tools":
        cost = measure_tools(size)
        memory = figure_text(cost.memory, "bytes")
        print(
            f"{size:,} tools: toolkit and prompt CPU {figure_text(cost.cpu, 'seconds')}, {memory} beyond the functions"
        )
    else:
        cost = measure_turns(size)
        print(f"turn {size}: CPU {figure_text(cost.cpu, 'seconds')}, elapsed {figure_text(cost.seconds, 'seconds')}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
