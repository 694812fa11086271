"""How much one sandbox may hold."""

from __future__ import annotations

import threading
from dataclasses import dataclass

__all__ = ["Capacity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """How much one sandbox may hold.

    Attributes:
        ready: Workers that are kept waiting at the least.
        running: Programs that run at a time.
        waiting: Callers that may wait for their turn.
        seconds: How long one may wait.
    """

    ready: int
    running: int
    waiting: int
    seconds: float

    def __post_init__(self) -> None:
        """Refuse capacity for nothing, and a time without end."""
        least = {"ready": 0, "running": 1, "waiting": 0}
        for name, number in least.items():
            given: object = getattr(self, name)
            if type(given) is not int or given < number:
                message = f"ProcessSandbox({name}=…) takes a whole number from {number} on, not {given!r}"
                raise ValueError(message)
        if not 0 <= self.seconds <= threading.TIMEOUT_MAX:
            message = f"ProcessSandbox(patience=…) takes a number of seconds from 0 on, not {self.seconds!r}"
            raise ValueError(message)
