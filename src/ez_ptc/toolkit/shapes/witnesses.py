"""The evidence that a key is the name of a field: the results that had it.

A key of one result may be anything: a customer, a word of a foreign server. So each key is kept with its witnesses, a
few of the results that had it, each with the digest of the arguments of its call. They are in memory only; a name that
a file has was in enough results before it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

__all__ = ["MIN_RESULTS", "OF_FILE", "Witness", "are_enough", "are_of_several_calls", "gather"]

MIN_RESULTS: Final = 5
"""Fewer results have not shown yet what varies."""
_MIN_CALLS: Final = 3


class Witness(NamedTuple):
    """A result by its number, with the digest of its call's arguments."""

    result: int
    call: int


OF_FILE: Final = frozenset(Witness(-number, -number) for number in range(1, MIN_RESULTS + 1))
"""The witnesses of a name that a file has."""


def gather(first: frozenset[Witness], second: frozenset[Witness]) -> frozenset[Witness]:
    """Return witnesses of both, no more than are needed, of several calls where there were several."""
    both = first | second
    if len(both) <= MIN_RESULTS:
        return both
    of_each_call = sorted({witness.call: witness for witness in sorted(both)}.values())[:_MIN_CALLS]
    others = sorted(both.difference(of_each_call))
    return frozenset([*of_each_call, *others][:MIN_RESULTS])


def are_enough(witnesses: AbstractSet[Witness]) -> bool:
    """Return whether a key was in enough results to be a name."""
    return len(witnesses) >= MIN_RESULTS


def are_of_several_calls(witnesses: AbstractSet[Witness]) -> bool:
    """Return whether a key was in the results of calls with different arguments."""
    return len({witness.call for witness in witnesses}) >= _MIN_CALLS
