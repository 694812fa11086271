"""This library, where the model writes programs into its text and the tools say which of them change nothing."""

from collections.abc import Callable, Sequence

from benchmarks.model.subject import Subject
from benchmarks.model.subjects.ours import Ours
from benchmarks.model.worlds import reads
from ez_ptc import ez_tool

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Subject:
    """Return a toolkit over the functions."""
    tools = [ez_tool(function, read_only=reads(function.__name__) or None) for function in functions]
    return Ours(tools, called=False)
