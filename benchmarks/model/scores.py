"""What the attempts at tasks come to: how many are right after each program, and how sure that is."""

import random
from collections.abc import Iterator, Sequence
from statistics import stdev
from typing import Final

__all__ = ["MAX_PROGRAMS", "count_right", "describe", "find_range", "gain"]

MAX_PROGRAMS: Final = 3
_DRAWS: Final = 2000
_OUTSIDE: Final = 0.025


def count_right(repairs: Sequence[int]) -> list[int]:
    """Return how many tasks are right after one program, after two, and so on; `repairs` has a number for each task."""
    return [sum(number <= most for number in repairs) for most in range(MAX_PROGRAMS)]


def gain(repairs: Sequence[int]) -> float:
    """Return how many times as many tasks are right in the end as at first; NaN if none is."""
    first, *_, last = count_right(repairs)
    return last / first if first else float("nan")


def find_range(tasks: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Return between which numbers 95 of 100 gains are, if tasks are drawn again from these; each has its repeats."""
    draw = random.Random(0)
    gains = sorted(
        gain([number for task in draw.choices(tasks, k=len(tasks)) for number in task]) for _ in range(_DRAWS)
    )
    return gains[int(_DRAWS * _OUTSIDE)], gains[int(_DRAWS * (1 - _OUTSIDE))]


def describe(tasks: Sequence[Sequence[int]]) -> str:
    """Return a row: what is right after each program in the mean of the repeats, their spread, and the gain."""
    repeats = [*zip(*tasks, strict=True)]
    counts = [count_right(repeat) for repeat in repeats]
    low, high = find_range(tasks)
    cells = [*_cells([[count[most] for count in counts] for most in range(MAX_PROGRAMS)])]
    every = gain([number for task in tasks for number in task])
    return "".join(f"{cell:>12}" for cell in cells) + f"   of {len(tasks)}   x {every:.2f} ({low:.2f} to {high:.2f})"


def _cells(columns: Sequence[Sequence[int]]) -> Iterator[str]:
    for column in columns:
        if len(column) > 1:
            yield f"{sum(column) / len(column):.1f} ± {stdev(column):.1f}"
        else:
            yield str(column[0])
