"""Checking what a model sends takes time and memory that its size justifies, whatever the types are."""

import os
import random
import resource
from collections.abc import Callable
from time import thread_time
from typing import Any

import pytest

from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.tools.tool import Tool
from tests.schema.hostile_values import made_value
from tests.schema.made_types import made_type
from tests.schema.schema_samples import sample

SECONDS = 0.25
MEGABYTES = 64
LONGEST = 5_000
SEEDS = range(int(os.environ.get("EZ_PTC_COST_SEEDS", "3")))
TYPES = 20
VALUES = 4


def tool_of(annotation: object) -> Tool[..., Any] | None:
    """Return a tool with one parameter of a type, or None where it can have none."""

    def take(it: Any) -> None:  # noqa: ANN401 - any value may come
        """Take it."""

    take.__annotations__ = {"it": annotation}
    try:
        return Tool.from_function(take)
    except SchemaError:
        return None


def cost_of(run: Callable[[], object]) -> tuple[float, int]:
    """Return the CPU seconds that something takes, and by how many megabytes the most memory that was held grows."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = thread_time()
    run()
    seconds = thread_time() - started
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10


@pytest.mark.parametrize("seed", SEEDS)
def test_binding_hostile_values_takes_bounded_time_and_memory(seed: int) -> None:
    chance = random.Random(seed)
    tools = [tool for _ in range(TYPES) if (tool := tool_of(made_type(chance))) is not None]
    assert len(tools) > TYPES // 2
    for tool in tools:
        for _ in range(VALUES):
            value = made_value(chance)
            seconds, megabytes = cost_of(lambda value=value, tool=tool: refusal(tool, value))
            assert seconds <= SECONDS, (tool.signature, value)
            assert megabytes <= MEGABYTES, (tool.signature, value)
            assert len(refusal(tool, value)) < LONGEST


def refusal(tool: Tool[..., Any], value: object) -> str:
    try:
        tool.bind((), {"it": value})
    except ArgumentsError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_of_a_schema_bind(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(TYPES):
        tool = tool_of(made_type(chance))
        for _ in range(VALUES if tool is not None else 0):
            value = sample(tool.parameters, chance)
            assert refusal(tool, value.get("it", None)) == "", (tool.signature, tool.parameters, value)
