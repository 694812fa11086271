"""Streamed answers of Responses whose servers leave parts out."""

from typing import Any

import pytest

from ez_ptc.formats.openai_responses.stream import AnswerStream
from tests.formats.openai_made import prompt

Event = dict[str, Any]


def calls_of(*events: Event) -> list[tuple[str, Any]]:
    """Return the name and the arguments of each call in a stream of these events."""
    stream = AnswerStream(prompt())
    for event in events:
        stream.feed(event)
    stream.feed({"type": "response.completed", "response": {"status": "completed", "output": []}})
    return [(call.name, call.arguments) for call in stream.answer().calls]


def arguments(text: str, *, is_done: bool, **fields: Any) -> Event:
    if is_done:
        return {"type": "response.function_call_arguments.done", **fields, "arguments": text}
    return {"type": "response.function_call_arguments.delta", **fields, "delta": text}


def done(number: int, arguments: str | None = None) -> Event:
    call = {
        "type": "function_call",
        "id": f"fc{number}",
        "call_id": f"c{number}",
        "name": "add",
        "arguments": arguments,
    }
    return {"type": "response.output_item.done", "output_index": number, "item": call}


@pytest.mark.parametrize("place", [{"item_id": "fc0"}, {"output_index": 0}, {"item_id": "fc0", "output_index": 0}])
def test_arguments_missing_in_an_item_come_from_their_events(place: Event) -> None:
    pieces = [arguments(piece, is_done=False, **place) for piece in ('{"a"', ": 1}")]
    assert calls_of(*pieces, done(0)) == [("add", '{"a": 1}')]
    assert calls_of(*pieces, arguments('{"a": 1}', is_done=True, **place), done(0, "")) == [("add", '{"a": 1}')]
    assert calls_of(*pieces, done(0, '{"a": 2}')) == [("add", '{"a": 2}')]


def test_arguments_of_two_calls_stay_apart() -> None:
    pieces = [arguments(f'{{"a": {number}}}', is_done=False, item_id=f"fc{number}") for number in (0, 1)]
    assert calls_of(*pieces, done(1), done(0)) == [("add", '{"a": 0}'), ("add", '{"a": 1}')]
    assert calls_of(pieces[0], done(0), done(1)) == [("add", '{"a": 0}'), ("add", "")]


def test_text_without_any_item_is_the_answer() -> None:
    outputs: tuple[Any, ...] = ([], None)
    for output in outputs:
        stream = AnswerStream(prompt())
        for piece in ("I ", "pay."):
            stream.feed({"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": piece})
        stream.feed({"type": "response.completed", "response": {"status": "completed", "output": output}})
        assert (stream.answer().text, stream.answer().stop_reason) == ("I pay.", "end")


@pytest.mark.parametrize("place", [{"item_id": "fc0"}, {"output_index": 0}, {"item_id": "fc0", "output_index": 0}])
@pytest.mark.parametrize("output", [[], None, [{"type": "message", "role": "assistant", "content": []}]])
def test_call_is_complete_with_its_arguments(place: Event, output: object) -> None:
    item = {"type": "function_call", "id": "fc0", "call_id": "c0", "name": "add", "arguments": ""}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *(arguments(piece, is_done=False, **place) for piece in ('{"a"', ": 1}")),
        arguments('{"a": 1}', is_done=True, **place),
    ]
    end = {"type": "response.completed", "response": {"status": "completed", "output": output}}
    for further in ([], [done(0, '{"a": 1}')]):
        stream = AnswerStream(prompt())
        for event in (*events, *further, end):
            stream.feed(event)
        assert [(call.id, call.name, call.arguments) for call in stream.answer().calls] == [("c0", "add", '{"a": 1}')]
