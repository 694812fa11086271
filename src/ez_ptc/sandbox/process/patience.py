"""How long who waits for a frame may look for it before it sleeps."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ez_ptc.sandbox.converse import Exchange

__all__ = ["Patience"]

_SECONDS = 50e-6
"""About what it costs to wake a core up: who looks for that long has lost no more than once as much."""


class Patience:
    """Gives patience to a program that runs alone, where there is a second core.

    Between two processes that both sleep while they wait, half of the time of a tool call is waking up. Where several
    programs run, whoever waits leaves the cores to the others.
    """

    def __init__(self) -> None:
        self._cores = len(os.sched_getaffinity(0))
        # A set, because adding to it and taking from it needs no lock.
        self._running: set[int] = set()

    def begin(self, exchange: Exchange) -> None:
        """Count ``exchange`` as running, and give it what it may have."""
        self._running.add(id(exchange))
        if self._cores > 1 and len(self._running) == 1:
            exchange.patience = _SECONDS

    def end(self, exchange: Exchange) -> None:
        """Count it no more."""
        self._running.discard(id(exchange))
