"""The tasks: what is asked, and what is right."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["KINDS", "TASKS", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """One question over the tools of a world. What `program` prints and changes is right."""

    world: str
    question: str
    program: str


_read: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TASKS: Final = tuple(Task(**each) for each in _read["tasks"])
KINDS: Final = tuple(tuple(names) for names in _read["kinds"])
"""Names of the same kind: where some are wanted, the others are wrong."""
