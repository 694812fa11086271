"""Measure programs on actors of a Ray cluster of two local one-core nodes, beside the same toolkit in this process.

    python -m benchmarks.ray [--programs N]

prints the overhead of a program, the cost of a call beside the program and in the caller, and how much faster two nodes
are than one. The figures are wall times, so they are worth something only on a machine without other work; the load is
printed with them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from benchmarks.ray.shop import toolkit as local_toolkit
from ez_ptc import RayToolkit, ez_tool

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_OVERHEAD_MS: Final = 3.0
MIN_SPEED_UP: Final = 1.6

_MODULE: Final = "benchmarks.ray.shop:toolkit"
_NODE: Final = {"num_cpus": 1, "object_store_memory": 80 << 20}
_QUIET_LOAD: Final = 0.5
_CALLS: Final = 200
_PAUSE_SECONDS: Final = 0.02


@ez_tool(read_only=True)
def local_price_of(product: str) -> float:
    """Look up a price, in the caller."""
    return float(len(product))


def main() -> None:
    """Measure all of it, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200, help="programs for the overhead")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    ray = import_module("ray")
    cluster: Any = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={**_NODE, "include_dashboard": False}
    )
    cluster.add_node(**_NODE)
    try:
        print(f"Load average before: {load:.1f}{'' if load < _QUIET_LOAD else ' (figures beside other work)'}")
        _print_overhead(cluster.address, options.programs)
        _print_calls(cluster.address)
        _print_speed_up(cluster.address)
    finally:
        local_toolkit.close()
        ray.shutdown()
        cluster.shutdown()


def _print_overhead(address: str, programs: int) -> None:
    program = "price_of('lamp')"
    with RayToolkit(_MODULE, address=address) as toolkit:
        ways: tuple[Callable[[str], Any], ...] = (local_toolkit.execute, toolkit.execute)
        for execute in ways:
            execute(program)
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(programs):
            for execute, taken in zip(ways, times, strict=True):
                started = time.perf_counter()
                execute(program)
                taken.append((time.perf_counter() - started) * 1000)
                # What a program leaves to do, such as the next worker, is not the cost of another one.
                time.sleep(_PAUSE_SECONDS)
    here, there = map(statistics.median, times)
    fastest = sorted(times[1])[programs // 10] - sorted(times[0])[programs // 10]
    print(f"A program of one call, median of {programs}: here {here:.2f} ms, on an actor {there:.2f} ms")
    print(f"  overhead {there - here:.2f} ms, of the fastest tenth {fastest:.2f} ms (at most {MAX_OVERHEAD_MS:.0f} ms)")


def _print_calls(address: str) -> None:
    with RayToolkit(_MODULE, address=address, local=[local_price_of]) as toolkit:
        for name in ("price_of", "local_price_of"):
            toolkit.execute(f"{name}('lamp')")
            started = time.perf_counter()
            toolkit.execute(f"for _ in range({_CALLS}): {name}('lamp')", timeout=60).raise_for_error()
            each = (time.perf_counter() - started) * 1000 / _CALLS
            print(f"A call of {name}: {each:.2f} ms")


def _print_speed_up(address: str, programs: int = 8) -> None:
    seconds = [_run_all(address, programs, actors) for actors in (1, 2, 1, 2)]
    one, two = min(seconds[::2]), min(seconds[1::2])
    print(f"{programs} programs of about 1 s of CPU: one node {one:.1f} s, two nodes {two:.1f} s")
    print(f"  {one / two:.2f} times as fast (at least {MIN_SPEED_UP})")


def _run_all(address: str, programs: int, actors: int) -> float:
    with RayToolkit(_MODULE, address=address, max_actors=actors) as toolkit:
        _in_threads(lambda: toolkit.execute("import time\ntime.sleep(1)"), actors)  # starts the actors
        rounds = 1_000_000
        taken = toolkit.execute(_busy(rounds), timeout=60).duration_ms
        program = _busy(max(int(rounds * 1000 / taken), 1))
        started = time.perf_counter()
        _in_threads(lambda: toolkit.execute(program, timeout=60).raise_for_error(), programs)
        return time.perf_counter() - started


def _busy(rounds: int) -> str:
    return f"total = 0\nfor number in range({rounds}):\n    total += number * number\ntotal"


def _in_threads(work: Callable[[], object], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
