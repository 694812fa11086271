"""The one table of what a program may use. A new limit is an entry here, a field of `Limits`, and its enforcement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LIMITS", "Limit", "limit_error", "worker_limits"]

_MIB = 1 << 20


class Limit(NamedTuple):
    """A limit: its unit, its default, the accepted values, who enforces it, and the text of its error.

    `worker_name` is its name in a run frame; "" if no worker reads it. Where `error` is "", exceeding the limit is no
    error, or a layer below the sandbox writes the error.
    """

    unit: str
    default: Any
    expected: str
    enforcer: str
    error: str = ""
    worker_name: str = ""


LIMITS: Mapping[str, Limit] = {
    "timeout": Limit("seconds", 30.0, "a positive number", "host", "the program timed out after {limit:g} s"),
    "grace": Limit("seconds", 0.5, "a number >= 0", "host"),
    "approval_timeout": Limit("seconds", 3600.0, "a positive number", "host"),
    "cpu_time": Limit(
        "seconds", None, "a positive number or None", "worker", "the program used up its {limit} s of CPU time", "cpu"
    ),
    "memory": Limit("bytes", 256 * _MIB, "a positive int", "worker", "the program may use {limit} MiB", "memory"),
    "program": Limit(
        "characters",
        16 * _MIB,
        "a positive int",
        "host",
        "the program has {size:,} characters; at most {limit:,} can be run",
    ),
    "text": Limit("characters", 30_000, "a positive int", "host"),
    "output": Limit(
        "bytes", _MIB, "a positive int", "host and worker", "[{cut:,} more bytes were cut: print less.]", "output"
    ),
    "calls": Limit(
        "calls", 1_000, "a positive int", "host and worker", "the program made more than {limit:,} tool calls", "calls"
    ),
    "outstanding": Limit(
        "calls", 64, "a positive int", "host and worker", "more unanswered calls than its limits allow", "outstanding"
    ),
    "frame": Limit("bytes", 16 * _MIB, "a positive int", "host and worker", "at most {limit:,} can {verb}", "frame"),
    "elements": Limit(
        "elements",
        500_000,
        "a positive int",
        "host and worker",
        "the value is too large: it has more than {limit:,} elements (Limits.elements)",
        "elements",
    ),
    "images": Limit(
        "bytes",
        4 * _MIB,
        "a positive int",
        "host and worker",
        "[Pictures made: {count}. Left out, as too large or too many: {cut}. Draw smaller ones.]",
        "images",
    ),
    "recorded": Limit(
        "bytes",
        64 * _MIB,
        "a positive int",
        "host",
        "{tool} was not called: the journal records at most {limit:,} bytes of one run (Limits.recorded), and its "
        "arguments would exceed them; pass less data",
    ),
    "seed": Limit("", None, "an int of <= 4,300 digits or None", "worker", worker_name="seed"),
}


def limit_error(name: str, **amounts: object) -> str:
    """Return the error of a program that exceeds a limit."""
    return LIMITS[name].error.format(**amounts)


def worker_limits(**numbers: float | None) -> dict[str, Any]:
    """Return the limits of a run frame: the given numbers, by the worker's names, and the default of each other."""
    limits = {limit.worker_name: limit.default for limit in LIMITS.values() if limit.worker_name} | numbers
    return {name: number for name, number in limits.items() if number is not None}
