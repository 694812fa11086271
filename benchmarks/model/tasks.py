"""The tasks: what is asked, and what is right."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["FOREIGN_TASKS", "HALVES", "KINDS", "TASKS", "Task"]

HALVES: Final = ("made-up", "tuned", "held")
"""What tasks are for: our texts may be improved by reading what a model does with them, unless they are held back."""


@dataclass(frozen=True, slots=True)
class Task:
    """One question over the tools of a world. What `program` prints and changes is right.

    `kin` is a program that prints all names of the kind of those wanted.
    """

    world: str
    question: str
    program: str
    half: str = "made-up"
    kin: str = ""


_FOLDER: Final = Path(__file__).parent
_made_up: Final = tomllib.loads((_FOLDER / "tasks.toml").read_text(encoding="utf-8"))
_foreign: Final = tomllib.loads((_FOLDER / "foreign.toml").read_text(encoding="utf-8"))
TASKS: Final = tuple(Task(**task) for task in _made_up["tasks"])
FOREIGN_TASKS: Final = tuple(Task(**task) for task in _foreign["tasks"])
KINDS: Final = tuple(tuple(names) for names in _made_up["kinds"])
"""Names of the same kind: where some are wanted, the others are wrong."""
