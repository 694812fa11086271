"""The capacity of a sandbox."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["Capacity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The capacity of a sandbox.

    Attributes:
        ready: The minimum number of ready workers.
        running: Programs that may run at a time.
        waiting: Callers that may wait.
        seconds: The maximum time to wait.
    """

    ready: int
    running: int
    waiting: int
    seconds: float

    def __post_init__(self) -> None:
        """Validate the numbers. Raises ValueError."""
        least = {"ready": 0, "running": 1, "waiting": 0}
        for name, number in least.items():
            value: object = getattr(self, name)
            if type(value) is not int or value < number:
                message = f"ProcessSandbox({name}=…): expected an int >= {number}, got {safe_repr(value)}"
                raise ValueError(message)
        if not 0 <= self.seconds <= threading.TIMEOUT_MAX:
            message = f"ProcessSandbox(patience=…): expected seconds >= 0, got {safe_repr(self.seconds)}"
            raise ValueError(message)
