"""The workload that every subject runs, and the points at which its process is killed. Standard library only.

Six effects, each a line appended to a file; the fourth needs an approval. A process that has a kill point sends SIGKILL
to itself there, which no handler sees and nothing is flushed after.
"""

import os
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["APPROVED", "EFFECTS", "POINTS", "Journey", "Tally"]

EFFECTS: Final = ("one", "two", "three", "refund", "four", "five")
APPROVED: Final = "refund"
_MOMENTS: Final = ("before", "after", "recorded")
POINTS: Final = (*(f"{moment} {effect}" for effect in EFFECTS for moment in _MOMENTS), "paused")
"""`before` an effect, `after` it and before it is recorded, once it is `recorded`, and `paused` for the approval."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the effects: how many happened twice or more, and how many never."""

    doubled: int
    lost: int


class Journey:
    """One process of a run: its folder, and the point at which it is killed, if any."""

    def __init__(self, folder: Path, point: str = "") -> None:
        self.folder = folder
        self._point = point

    @property
    def lines(self) -> list[str]:
        """The effects so far."""
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def take_effect(self, name: str) -> str:
        """Append a line, which is the effect; be killed before or after it."""
        self.reach(f"before {name}")
        fd = os.open(self.folder / "effects", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(fd, f"{name}\n".encode())
        os.close(fd)
        self.reach(f"after {name}")
        return name

    def reach(self, point: str) -> None:
        """Be killed if this is the point."""
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)

    def tally(self) -> Tally:
        """Count the effects."""
        counts = Counter(self.lines)
        return Tally(sum(count > 1 for count in counts.values()), sum(not counts[name] for name in EFFECTS))
