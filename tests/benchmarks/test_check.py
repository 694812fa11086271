"""The benchmark of the check: its programs and its tools can be checked."""

from __future__ import annotations

from benchmarks.check.__main__ import cost_of, described
from benchmarks.model.tasks import TASKS
from ez_ptc.sandbox.check.signatures import Shapes


def test_cost_of_each_task_is_measured() -> None:
    tools = described(16)
    assert all(cost_of(task.program, tools, rounds=1) > 0 for task in TASKS)


def test_every_tool_of_the_benchmark_has_types() -> None:
    tools = described(40)
    assert len(Shapes(tools)) == len(tools) == 40
