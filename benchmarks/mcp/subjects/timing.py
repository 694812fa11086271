"""What every subject is measured with; it imports the standard library only."""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable

Call = Callable[[], Awaitable[object]]


def started() -> float:
    """Return the seconds since the interpreter began to load this process's code."""
    return time.perf_counter() - _BEGIN


async def report(connected: float, call: Call, program: Call | None, calls: int) -> None:
    """Time calls and a program with 100 calls, and print all figures as JSON."""
    figures: dict[str, float | None] = {"start_ms": connected * 1e3}
    figures["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for _ in range(20 if calls else 0):
        await call()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        await call()
    figures["call_us"] = (time.perf_counter() - wall) / max(calls, 1) * 1e6
    figures["call_cpu_us"] = (time.process_time() - cpu) / max(calls, 1) * 1e6
    figures["program_ms"] = None
    if program is not None and calls:
        await program()
        times: list[float] = []
        for _ in range(5):
            wall = time.perf_counter()
            await program()
            times.append((time.perf_counter() - wall) * 1e3)
        figures["program_ms"] = sorted(times)[2]
    sys.stdout.write(json.dumps(figures) + "\n")


def run(measure: Callable[[list[str], int], Awaitable[None]]) -> None:
    """Measure a subject: `SUBJECT.py CALLS COMMAND...`."""

    async def main() -> None:
        await measure(sys.argv[2:], int(sys.argv[1]))

    asyncio.run(main())


_BEGIN = time.perf_counter()
