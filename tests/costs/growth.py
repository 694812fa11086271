"""Measuring how the cost of hostile input grows with its size."""

import gc
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

__all__ = ["Cost", "check_growth", "measure_cost"]

T = TypeVar("T")

_ATTEMPTS: Final = 5
_MAX_GROWTH: Final = 2.6
# Below this, the timer and the caches decide.
_MIN_SECONDS: Final = 0.02
_FREE_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """The least CPU time of this process in several attempts, in seconds, and the peak of allocated bytes."""

    seconds: float
    bytes: int


def measure_cost(make: Callable[[], T], run: Callable[[T], object]) -> Cost:
    """Return the cost of `run` with a new input of `make` each time."""
    seconds: list[float] = []
    for _ in range(_ATTEMPTS):
        value = make()
        gc.collect()
        began = time.process_time()
        run(value)
        seconds.append(time.process_time() - began)
        if seconds[-1] > 100 * _MIN_SECONDS:  # noise does not matter any more
            break
    value = make()
    tracemalloc.start()
    try:
        run(value)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return Cost(min(seconds), peak)


def check_growth(
    make: Callable[[int], T], run: Callable[[T], object], *, start: int, most: int, bytes_each: float
) -> None:
    """Fail if twice the size costs more than 2.6 times the CPU time, or a unit of it more than `bytes_each`.

    Args:
        make: Makes an input of a size.
        run: Takes the input; its result is discarded.
        start: The first size, which is doubled until the cost can be measured.
        most: The maximum size; larger inputs are refused, or cost what this one costs.
        bytes_each: The memory allowed for each unit of the size, in addition to 4 MB.
    """
    size = start
    before = measure_cost(partial(make, size), run)
    while before.seconds < _MIN_SECONDS and size * 2 <= most:
        size *= 2
        before = measure_cost(partial(make, size), run)
    allowed = bytes_each * size + _FREE_BYTES
    assert before.bytes <= allowed, f"size {size:,}: a peak of {before.bytes:,} bytes; at most {allowed:,.0f} allowed"
    if before.seconds < _MIN_SECONDS:
        return
    for doublings in (1, 3):  # the first may show only what grows in proportion
        if size << doublings > 2 * most:
            return
        ratios: list[float] = []
        for _ in range(3):  # a busy machine may slow down one of two measurements, but not in each of several pairs
            after = measure_cost(partial(make, size << doublings), run)
            ratios.append(after.seconds / before.seconds)
            if ratios[-1] <= _MAX_GROWTH**doublings:
                break
            before = measure_cost(partial(make, size), run)
        else:
            message = (
                f"{1 << doublings} times the size of {size:,} takes {min(ratios):.1f} times the CPU time "
                f"({before.seconds:.3f} s)"
            )
            raise AssertionError(message)
