"""Results that are too large, or slow to write out: what it costs, and what is said."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, computed_field

from ez_ptc import Limits, ScriptedProvider, ToolCall, Toolkit, llm
from ez_ptc.formats import mcp
from ez_ptc.formats.anthropic import tools as anthropic
from ez_ptc.formats.content import as_text
from ez_ptc.formats.encoding import MAX_DEPTH, MAX_ELEMENTS, plain_value
from ez_ptc.formats.gemini import tools as gemini
from ez_ptc.formats.openai_chat import tools as openai
from ez_ptc.formats.openai_responses import tools as responses
from ez_ptc.messages import ToolResult, ToolResultMessage
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.sandbox.protocol.replies import encode_result
from ez_ptc.sandbox.protocol.values import codec as values
from tests.sandbox.giving import TO_GIVE, Spot, from_a_conversation, give


@pytest.fixture(scope="module")
def giving(sandbox: ProcessSandbox) -> Toolkit:
    return Toolkit([give], sandbox=sandbox)


class Node(BaseModel):
    children: list[Node] = []
    name: str = ""


@dataclasses.dataclass
class Branch:
    children: list[Any] = dataclasses.field(default_factory=list[Any])


def unfolding(around: Callable[[list[Any]], object], levels: int = 9) -> object:
    """Return few objects that are many once they are written out, as a file of YAML with anchors has them."""
    value: object = around([])
    for _ in range(levels):
        value = around([value] * 9)
    return value


def looping() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


def looping_model() -> Node:
    node = Node()
    node.children.append(node)
    return node


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


class Endless(collections.UserList[int]):
    """A sequence that never comes to an end."""

    def __iter__(self) -> Any:  # noqa: ANN401 - of a foreign class
        while True:
            yield 1


TOO_MUCH: dict[str, tuple[Callable[[], object], str]] = {
    "lists": (lambda: unfolding(list), "500,000 elements"),
    "models": (lambda: unfolding(lambda items: Node.model_construct(children=items)), "500,000 elements"),
    "dataclasses": (lambda: unfolding(Branch), "500,000 elements"),
    "one long text": (lambda: ["x" * 1_000_000] * 100, "characters"),
    "one long key": (lambda: [{"x" * 1_000_000: 1}] * 100, "characters"),
    "one long number": (lambda: [10**3_000] * 100_000, "characters"),
    "a loop": (looping, "refers to itself or is nested deeper than 100 levels"),
    "a model in a loop": (looping_model, "refers to itself or is nested deeper than 100 levels"),
    "many levels": (lambda: nested(1_000), "nested deeper than 100 levels"),
    "a sequence without end": (Endless, "500,000 elements"),
}


@pytest.mark.parametrize(("make", "says"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
@pytest.mark.sampled(every=0)
def test_oversized_result_error_says_the_tool_ran(giving: Toolkit, make: Callable[[], object], says: str) -> None:
    TO_GIVE[0] = make()
    program = giving.execute("give()").error or ""
    provider = ScriptedProvider(ToolCall("1", "give", {}), "Sorry.")
    messages, continuation = llm().tool(give).provider(provider).converse("Give.")
    [message] = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert continuation.entries
    texts = [program]
    if message.success:  # a single call shows a sketch of what is only too large
        assert message.result.startswith("(ez-ptc: ")
        assert len(message.result) <= 30_000
    else:
        texts.append(str(message.result))
    assert message.success is ("refers to itself" not in says and "nested" not in says)
    for text in texts:
        assert says in text
        assert "'give' has run, but what it returned cannot be passed on: " in text
        assert "do not call it again for the result" in text


LONG: dict[str, object] = {
    "texts": ["x" * 100] * 20,
    "keys": [{"x" * 100: 1}] * 20,
    "keys in many rows": [{"x" * 100: 1, "y": 2}] * 40,
    "keys of another kind": [{Spot(10**100): 1}] * 20,
    "bytes": [b"x" * 100] * 20,
    "numbers": [10**100] * 20,
    "numbers one by one": [[10**100]] * 20,
    "decimals": [Decimal("1" * 100)] * 20,
    "texts of paths": [pathlib.PurePosixPath("x" * 100)] * 20,
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG.keys())
def test_all_that_is_long_counts(value: object) -> None:
    """A value of few objects may be long without taking memory, as long as nobody writes it out."""
    assert encode_result("give", value, 100).problem is not None
    with pytest.raises(values.CannotCrossError, match="characters and bytes"):
        values.encode(value, plain_value, most_text=1_000, plain_members=lambda items: {as_text(*items): 1})


def test_both_ways_have_the_same_budget() -> None:
    assert (MAX_DEPTH, MAX_ELEMENTS) == (values.MAX_DEPTH, values.MAX_NODES)


@pytest.mark.parametrize("format_", [anthropic, gemini, mcp, openai, responses], ids=lambda each: each.__name__)
def test_every_format_reports_unpassable_results(format_: Any) -> None:  # noqa: ANN401 - modules alike
    [sent] = format_.results([(ToolCall("1", "give", {}), ToolResult(success=True, output=looping()))])
    assert "'give' has run" in str(sent)


# What a model reads ---------------------------------------------------------------------------------------------------


def test_long_call_result_is_cut_and_marked() -> None:
    TO_GIVE[0] = ["word " * 10] * 100_000
    read = str(from_a_conversation(TO_GIVE[0]))
    assert len(read) <= 30_000
    assert read.startswith(
        '(ez-ptc: list of 100,000 items, shortened to 30,000 characters; the whole is kept as results["r1"])\n'
    )


def test_toolkit_text_limit_applies_to_single_calls(sandbox: ProcessSandbox) -> None:
    TO_GIVE[0] = "x" * 100_000
    toolkit = Toolkit([give], sandbox=sandbox, limits=Limits(text=2_000))
    provider = ScriptedProvider(ToolCall("1", "give", {}), "Thanks.")
    messages, _ = llm().toolkit(toolkit).tool(give).provider(provider).converse("Give.")
    [message] = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert len(message.result) <= 2_000
    assert 'the whole is kept as results["r1"]' in message.result


def test_later_changes_by_tool_do_not_change_records() -> None:
    kept: list[int] = [1]
    said = from_a_conversation(kept)
    kept.append(2)
    assert said == [1]


# Time -----------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Wait:
    """What became of one attempt to write a result out."""

    threads: list[threading.Thread] = dataclasses.field(default_factory=list[threading.Thread])
    released: threading.Event = dataclasses.field(default_factory=threading.Event)
    has_ended: bool = False


WAITS: list[Wait] = []


class Slow(BaseModel):
    """A model that is written out only once it may be."""

    @computed_field
    @property
    def late(self) -> bool:
        wait = WAITS[-1]
        wait.threads.append(threading.current_thread())
        wait.released.wait(30)
        wait.has_ended = True
        return True


def test_slow_serialization_does_not_block_its_caller(execute: Callable[..., ExecutionResult], giving: Toolkit) -> None:
    TO_GIVE[0] = Slow()
    WAITS.append(wait := Wait())
    try:
        result = execute(giving, "give()", 0.3)
        assert result.error == "TimeoutError: the program timed out after 0.3 s"
        assert wait.threads
        assert threading.main_thread() not in wait.threads
        assert not wait.has_ended
    finally:
        wait.released.set()
