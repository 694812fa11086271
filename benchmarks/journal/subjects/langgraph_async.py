"""LangGraph with its default durability: a checkpoint is written while the next step runs already."""

from benchmarks.journal.subjects.langgraph_sync import recover_with, start_with, step_costs_with
from benchmarks.journal.workload import Journey

__all__ = ["recover", "start", "step_costs"]


def start(journey: Journey) -> None:
    """Run the graph until its interrupt."""
    start_with(journey, "async")


def recover(journey: Journey) -> int:
    """Continue the graph, and approve."""
    return recover_with(journey, "async")


def step_costs(journey: Journey, steps: int) -> float:
    """Run a graph of `steps` steps, and return the seconds of CPU in this process."""
    return step_costs_with(journey, steps, "async")
