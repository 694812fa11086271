"""The tasks' right programs, run once: their calls, results and output."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from benchmarks.model.tasks import FOREIGN_TASKS, Task
from benchmarks.model.worlds import world
from ez_ptc import Toolkit, ez_tool
from ez_ptc.formats.content import as_text

__all__ = ["Call", "Trace", "batches", "read_traces"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a model writes it, and its result as a model would read it."""

    name: str
    arguments: dict[str, Any]
    result: str

    @property
    def text(self) -> str:
        """The call's name and arguments."""
        return f"{self.name} {json.dumps(self.arguments, default=str)}"


@dataclass(frozen=True, slots=True)
class Trace:
    """A task with its calls, and the output of its program, which is the answer."""

    task: Task
    calls: tuple[Call, ...]
    printed: str

    @property
    def names(self) -> list[str]:
        """The names of the tools that it needs."""
        return list(dict.fromkeys(call.name for call in self.calls))


def read_traces(only: int | None = None) -> list[Trace]:
    """Run the right program of each task, or of some, over a fresh world. Raises ImportError without the packages."""
    return [*_run(FOREIGN_TASKS if only is None else FOREIGN_TASKS[:: max(len(FOREIGN_TASKS) // only, 1)])]


def _run(tasks: Sequence[Task]) -> Iterator[Trace]:
    for task in tasks:
        place = world(task.world)
        with Toolkit([ez_tool(function) for function in place.TOOLS]) as toolkit:
            result = toolkit.execute(task.program)
            result.raise_for_error()
            calls = [
                Call(
                    record["name"],
                    {
                        **dict(zip(toolkit.get_tool(record["name"]).positional_names, record["args"], strict=False)),
                        **record["kwargs"],
                    },
                    as_text(record["result"]),
                )
                for record in result.tool_calls
            ]
        yield Trace(task, tuple(calls), result.output)


def batches(trace: Trace) -> list[list[Call]]:
    """Return the calls in groups that a model can make at once: no argument comes from a result of the same group.

    An argument comes from a result if the question does not have it, and the result does.
    """
    groups: list[list[Call]] = []
    levels: list[int] = []
    for call in trace.calls:
        level = 0
        values = [str(value) for value in _leaves(call.arguments) if str(value) not in trace.task.question]
        for before, earlier in zip(levels, trace.calls, strict=False):
            if any(value in earlier.result for value in values):
                level = max(level, before + 1)
        levels.append(level)
        while len(groups) <= level:
            groups.append([])
        groups[level].append(call)
    return groups


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[object]", value):
            yield from _leaves(item)
    else:
        yield value
