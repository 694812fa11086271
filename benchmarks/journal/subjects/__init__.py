"""The subjects: each has a module with `start`, which runs the workload, and `recover`, which continues it.

`start` returns at the pause, or when the workload has ended; `recover` returns when it has ended, and approves what
waits. Both do what the library documents. `recover` returns how often a person had to say what had happened.
"""

import importlib
from typing import Final, Protocol, cast

from benchmarks.journal.workload import Journey

__all__ = ["OURS", "SUBJECTS", "Subject", "load"]

OURS: Final = "ours"
SUBJECTS: Final = {
    OURS: "ez-ptc",
    "dbos_sqlite": "DBOS 3.4, SQLite",
    "langgraph_sync": "LangGraph, SQLite, durability sync",
    "langgraph_async": "LangGraph, SQLite, durability async",
}


class Subject(Protocol):
    """One library."""

    def start(self, journey: Journey) -> None:
        """Run the workload until it pauses."""
        ...

    def recover(self, journey: Journey) -> int:
        """Continue the workload to its end, and return how many questions a person has answered."""
        ...

    def step_costs(self, journey: Journey, steps: int) -> float:
        """Run a workload of `steps` small steps, and return the seconds of CPU in this process."""
        ...


def load(name: str) -> Subject:
    """Return a subject. Raises ImportError where its library is missing."""
    return cast("Subject", cast("object", importlib.import_module(f"benchmarks.journal.subjects.{name}")))
