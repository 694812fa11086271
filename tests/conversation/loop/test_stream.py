"""A stream goes on when its consumer asks for more, and not before."""

import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio
import pytest

from ez_ptc import ScriptedProvider, ToolCall, llm
from ez_ptc.conversation.builder import LLMPromptBuilder
from ez_ptc.conversation.loop.stream import BlockingStream
from ez_ptc.messages import Answer, ToolResultMessage

Stream = BlockingStream[LLMPromptBuilder]


class Notes:
    """What a tool was called with."""

    def __init__(self) -> None:
        self.noted: list[int] = []

    def note(self, number: int) -> int:
        """Note a number."""
        self.noted.append(number)
        return number

    def stream(self) -> Stream:
        """Return a conversation that notes 1, then 2."""
        provider = ScriptedProvider(*(ToolCall("", "note", {"number": number}) for number in (1, 2)), "Done.")
        return llm().tool(self.note).provider(provider).stream("Go.")

    def is_before_the_second_call(self, told: object) -> bool:
        """Whether the answer that asks for it was told."""
        return isinstance(told, Answer) and self.noted == [1]


def _results(continuation: LLMPromptBuilder) -> list[tuple[object, bool]]:
    return [(each.result, each.success) for each in continuation.messages if isinstance(each, ToolResultMessage)]


def _break(stream: Stream, notes: Notes) -> None:
    for told in stream:
        if notes.is_before_the_second_call(told):
            break


def _close(stream: Stream, notes: Notes) -> None:
    _break(stream, notes)
    stream.close()
    assert list(stream) == []


def _raise(stream: Stream, notes: Notes) -> None:
    with suppress(LookupError), stream:
        for told in stream:
            if notes.is_before_the_second_call(told):
                raise LookupError


async def _called(function: Callable[[], object]) -> None:
    function()


@pytest.fixture(params=["nothing", "asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], object]], object]:
    """Call a function where no event loop runs, or in the thread of one."""
    if request.param == "nothing":
        return lambda function: function()
    return lambda function: anyio.run(_called, function, backend=request.param)


def test_call_runs_on_request_of_next_event(run: Callable[[Callable[[], object]], object]) -> None:
    notes = Notes()
    stream = notes.stream()

    def read() -> None:
        assert notes.noted == []
        for _ in stream:
            done = [result for result, success in _results(stream.continuation) if success]
            assert notes.noted[: len(done)] == done
            assert len(notes.noted) <= len(stream.continuation.entries) // 2

    run(read)
    assert notes.noted == [1, 2]


@pytest.mark.parametrize("leave", [_break, _close, _raise])
@pytest.mark.sampled(every=4)
def test_call_left_in_stream_never_runs(
    leave: Callable[[Stream, Notes], None], run: Callable[[Callable[[], object]], object]
) -> None:
    notes = Notes()
    stream = notes.stream()
    run(partial(leave, stream, notes))
    continuation = stream.continuation
    del stream
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "ez-ptc-coroutine":
            thread.join(20)
            assert not thread.is_alive()
    assert _results(continuation) == [
        (1, True),
        ("not run: the conversation was stopped before this call started", False),
    ]
    assert continuation.provider(ScriptedProvider("All right.")).prompt("Leave it.") == "All right."
    assert notes.noted == [1]


def test_unread_stream_sends_no_request() -> None:
    provider = ScriptedProvider("Hello.")
    with llm().provider(provider).stream("Go.") as stream:
        pass
    assert provider.prompts == []
    assert [str(each) for each in stream.continuation.messages] == ["Go."]
