"""This library, where the model calls the one tool that a toolkit shows."""

from collections.abc import Callable, Sequence

from benchmarks.model.subject import Subject
from benchmarks.model.subjects.ours import Ours
from ez_ptc import ez_tool

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Subject:
    """Return a toolkit over the functions."""
    return Ours([ez_tool(function) for function in functions], called=True)
