"""What an instance learns of the world: the time and random numbers, real or those of a repeatable run.

The worker pins what programs usually read. This is below it: for what reads the clock or draws numbers in C.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import time
from typing import Protocol

from ez_ptc.sandbox.protocol.both_ends.repeatable_clock import EPOCH_NS, STEP_NS

__all__ = ["REAL", "PinnedWorld", "RealWorld", "World"]


class World(Protocol):
    """A clock and a source of random numbers."""

    def wall_ns(self) -> int:
        """Return the time in nanoseconds since 1970."""
        ...

    def draw(self, size: int) -> bytes:
        """Return random bytes."""
        ...


class RealWorld:
    """That of the host."""

    def wall_ns(self) -> int:
        """Return the time in nanoseconds since 1970."""
        return time.time_ns()

    def draw(self, size: int) -> bytes:
        """Return random bytes."""
        return os.urandom(size)


class PinnedWorld:
    """Depends on a seed and on the time at which its clock starts."""

    def __init__(self, seed: int, epoch_ns: int | None) -> None:
        self._seed = seed
        self._times = itertools.count(EPOCH_NS if epoch_ns is None else epoch_ns, STEP_NS)
        self._drawn = itertools.count()

    def wall_ns(self) -> int:
        """Return the time in nanoseconds since 1970, and advance the clock."""
        return next(self._times)

    def draw(self, size: int) -> bytes:
        """Return the next bytes of the seed."""
        return hashlib.shake_128(b"host %d %d" % (self._seed, next(self._drawn))).digest(size)


REAL: World = RealWorld()
