"""Where the figures come from, and what else went on there: timings on a busy machine are no promise."""

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Machine", "busy_share"]

_STAT = Path("/proc/stat")
_CPU_INFO = Path("/proc/cpuinfo")
_IDLE, _WAITING = 3, 4


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine and its interpreter."""

    processor: str
    cores: int
    system: str
    python: str

    @classmethod
    def here(cls) -> "Machine":
        """Return the machine that this runs on."""
        return cls(
            _processor(), os.cpu_count() or 1, f"{platform.system()} {platform.release()}", platform.python_version()
        )


def busy_share(seconds: float) -> float | None:
    """Return how much of the machine is used in the next ``seconds``, from 0 to 1, while the caller does nothing."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    if before is None or after is None or after[1] == before[1]:
        return None
    return 1 - (after[0] - before[0]) / (after[1] - before[1])


def _ticks() -> tuple[int, int] | None:
    """Return the idle and all ticks since boot."""
    try:
        fields = [int(field) for field in _STAT.read_text().splitlines()[0].split()[1:9]]
    except OSError:
        return None
    return fields[_IDLE] + fields[_WAITING], sum(fields)


def _processor() -> str:
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
