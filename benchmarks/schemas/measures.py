"""What is measured of a subject, and whether it does what is measured."""

from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.schemas.functions import Example
from benchmarks.schemas.subject import Subject, timed

__all__ = ["MEASURES", "problem_of", "repetitions"]

_SECONDS: Final = 0.02
"""How long a round measures one subject at least: the clock's own steps vanish in it."""
_MOST: Final = 20_000
_MOST_NEW: Final = 8


def _schema(subject: Subject, example: Example, times: int) -> float:
    return timed(lambda: subject.describe(example.function), times)


def _new_schema(subject: Subject, example: Example, times: int) -> float:
    count = min(times, _MOST_NEW)
    with example.renew(count + 1) as functions:
        seconds = timed(lambda: subject.describe(functions.pop()), count)
    return seconds * times / count


def _call(subject: Subject, example: Example, times: int) -> float:
    return subject.call(example.function, example.arguments, times)


MEASURES: Final[Mapping[str, tuple[str, Callable[[Subject, Example, int], float]]]] = {
    "schema": ("schema of a function", _schema),
    "new": ("schema with new classes", _new_schema),
    "call": ("validate and call", _call),
}
"""By name: a title, and what returns the seconds for so many repetitions."""


def repetitions(subject: Subject, kind: str, example: Example) -> int:
    """Return how often a subject has to do something for the time to be measured well."""
    _, take = MEASURES[kind]
    times = 1
    while (seconds := take(subject, example, times)) < _SECONDS / 4 and times < _MOST:
        times *= 4
    return max(1, min(_MOST, round(times * _SECONDS / seconds)))


def problem_of(subject: Subject, example: Example) -> str | None:
    """Return what keeps a subject from being measured: it must describe all parameters, and hand over every argument.

    A peer is foreign code: whatever it raises is its problem.
    """
    spy, calls = example.spy()
    try:
        described = subject.describe(example.function)
        subject.call(spy, example.arguments, 1)
    except Exception as error:  # noqa: BLE001 - a peer is foreign code; what it raises is noted
        return f"{example.name}: {type(error).__name__}: {error}"
    if set(described.get("properties", {})) != set(example.expected) and "$ref" not in described:
        return f"{example.name}: the schema has other properties than the function has parameters"
    if not calls or any(call != example.expected for call in calls):
        return f"{example.name}: the function got {calls} instead of {example.expected}"
    return None
