"""Checking what a model sends takes time and memory that its size justifies, whatever the types are."""

import gc
import os
import random
import resource
from collections.abc import Callable, Iterator
from time import thread_time
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Discriminator, Tag

from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.tools.tool import Tool
from tests.schema.arguments.hostile_values import made_value
from tests.schema.arguments.made_types import made_type
from tests.schema.arguments.schema_samples import sample

SECONDS = 0.25
MEGABYTES = 64
LONGEST = 5_000
SEEDS = range(int(os.environ.get("EZ_PTC_COST_SEEDS", "3")))
TYPES = 20
VALUES = 4


@pytest.fixture(autouse=True, scope="module")
def frozen_memory() -> Iterator[None]:
    """Keep the collector from looking through all that other tests have left, in the time that a test measures."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


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
@pytest.mark.sampled(every=3)
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
@pytest.mark.sampled(every=3)
def test_samples_of_a_schema_bind(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(TYPES):
        tool = tool_of(made_type(chance))
        if tool is None:
            continue
        for _ in range(VALUES):
            value = sample(tool.parameters, chance)
            assert refusal(tool, value.get("it", None)) == "", (tool.signature, tool.parameters, value)


IT = {"$ref": "#/$defs/It"}
CONSTANTS = [*({"const": [number]} for number in range(200)), True]


def referring(schema: dict[str, Any]) -> dict[str, Any]:
    return {"$ref": "#/$defs/It", "$defs": {"It": schema}}


def objects(many: int) -> list[dict[str, Any]]:
    keys = [f"key_{number}" for number in range(many)]
    return [{"required": [key], "properties": {key: {"type": "integer"}}} for key in keys]


def levels(keyword: str, depth: int) -> dict[str, Any]:
    """Return a schema that at each of so many levels compares a value with many, and goes on inside a keyword."""
    schema: dict[str, Any] = {"anyOf": CONSTANTS}
    for _ in range(depth):
        schema = {"anyOf": CONSTANTS, "if": False, keyword: schema}
    return schema


def references(many: int) -> dict[str, Any]:
    """Return a schema with so many references to one of so many properties."""
    names = ["of", *map(str, range(many))]
    inner = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    return {"type": "object", "properties": dict.fromkeys(names, IT), "$defs": {"It": inner}}


def nested(depth: int, leaf: object) -> object:
    for _ in range(depth):
        leaf = {"of": leaf}
    return leaf


def kind_of(value: object) -> str:
    return "item" if isinstance(value, dict) else "items" if isinstance(value, list) else "text"


class Item(BaseModel):
    of: """Annotated[
        Annotated[Item, Tag("item")] | Annotated[list[Item], Tag("items")] | Annotated[str, Tag("text")],
        Discriminator(kind_of),
    ]"""


def test_deeply_nested_problem_is_found_in_bounded_time() -> None:
    tool = tool_of(Item)
    assert tool is not None
    value = nested(24, None)
    seconds, _ = cost_of(lambda: refusal(tool, value))
    assert seconds <= SECONDS
    assert "must be str, got None" in refusal(tool, value)


PATTERNS = dict.fromkeys(("^o", "f$", ".", "of", "^(a+)+$"), IT)
WORDS = [f"word_{number}" for number in range(5_000)]
GIVEN: tuple[dict[str, Any], ...] = (
    {"type": "array", "items": {"enum": WORDS}},
    {"type": "array", "items": {"enum": list(range(5_000))}},
    {"type": "array", "items": {"anyOf": [{"const": word} for word in WORDS[:3_000]]}},
    {"type": "array", "items": {"oneOf": [{"const": number} for number in range(300)]}},
    {"type": "array", "items": {"oneOf": [{"const": number} for number in range(1_000)]}},
    {"type": "array", "items": {"enum": [{"of": number} for number in range(3_000)]}},
    {"type": "array", "items": {"anyOf": [{"anyOf": [{"const": [n]} for n in range(100)]}] * 100}},
    {"type": "array", "items": {"anyOf": [{"items": {"anyOf": objects(100)}}] * 30}},
    {"type": "array", "items": {"anyOf": objects(300)}},
    *(
        {"type": "array", "items": {"properties": {name: {"enum": [{"of": number} for number in range(3_000)]}}}}
        for name in ("default", "enum", "const", "examples")
    ),
    *({"type": "array", "items": levels(keyword, 15)} for keyword in ("not", "else")),
    {"type": "array", "items": {"dependentSchemas": {"of": levels("not", 15)}}},
    {"type": "array", "items": {"patternProperties": {f"^o{'f' * n}?": levels("not", 1) for n in range(50)}}},
    references(1_000),
    referring({"type": ["object", "string"], "patternProperties": PATTERNS}),
    referring({"type": ["object", "string"], "patternProperties": PATTERNS, "additionalProperties": IT}),
    referring(
        {"allOf": [{"anyOf": [{"properties": {"of": IT}, "type": ["object", "array"]}, {"type": "string"}]}] * 2}
    ),
    {"type": ["string", "array"], "pattern": "(?=a)(a+)+$", "items": {"pattern": "(?!b)(a+)+$"}},
)
MANY: tuple[list[Any], ...] = (
    ["a"] * 12_000,
    [{}] * 16_000,
    [[]] * 16_000,
    [None] * 10_000,
    [{"of": "a"}] * 4_500,
    [{"of": 2_999}] * 4_500,
    *([{name: {"of": 2_999}}] * 2_500 for name in ("default", "enum", "const", "examples")),
    [*range(10_000)],
    WORDS[:4_000],
)
DEEP: tuple[object, ...] = (
    *(nested(12, 1), nested(30, None), nested(90, []), nested(90, "a"), "a" * 60_000 + "!"),
    {"of": {str(number): {"of": number} for number in range(3_000)}},
)


@pytest.mark.parametrize("schema", GIVEN)
@pytest.mark.sampled(every=0)
def test_given_schema_is_checked_in_bounded_time_and_memory(schema: dict[str, Any]) -> None:
    definitions = schema.get("$defs", {})
    it = {key: value for key, value in schema.items() if key != "$defs"}
    whole = {"type": "object", "properties": {"it": it}, "required": ["it"], "$defs": definitions}
    tool = Tool.from_schema("take", "Take it.", whole, dict)
    for value in (*MANY, *DEEP):
        seconds, megabytes = cost_of(lambda value=value: refusal(tool, value))
        assert seconds <= SECONDS, (schema, value)
        assert megabytes <= MEGABYTES, (schema, value)
        assert len(refusal(tool, value)) < LONGEST
