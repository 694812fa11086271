"""`to_json` of events and messages: JSON's own types, whatever they carry."""

import datetime as dt
import json
from typing import Any

import pytest

from ez_ptc import (
    Answer,
    ApprovalNeeded,
    CallEnded,
    CallProgress,
    CallStarted,
    ExecutionResult,
    ImageMessage,
    OutputDelta,
    PendingCall,
    ProgramEnded,
    TextDelta,
    TextMessage,
    ToolCall,
    ToolCallMessage,
    ToolResultMessage,
    Usage,
)
from ez_ptc.messages import Printable

DAY = dt.date(2026, 1, 2)
CALL = PendingCall("1", "pay", {"on": DAY, "to": {"Ada"}}, "3")
EVENTS: list[tuple[Printable, dict[str, Any]]] = [
    (TextDelta("Hé\ud800"), {"text": "Hé\ufffd"}),
    (OutputDelta("x\n", "error", "p"), {"text": "x\n", "stream": "error", "parent": "p"}),
    (CallStarted("1", "p", "pay", (DAY, b"a"), {"to": float("nan")}, "3"), {"args": ["2026-01-02", "YQ=="]}),
    (CallProgress("1", "p", "pay", 0.5), {"done": 0.5, "total": None, "message": None}),
    (CallEnded("1", "p", "pay", (1, (2,)), None, 0.5), {"result": [1, [2]], "error": None, "duration_ms": 0.5}),
    (ApprovalNeeded(CALL, "p"), {"pending": {**CALL.to_json(), "arguments": {"on": "2026-01-02", "to": ["Ada"]}}}),
    (ToolCallMessage("pay", "1", {"to": "Ada"}), {"tool_name": "pay", "arguments": {"to": "Ada"}, "role": "assistant"}),
    (ToolResultMessage("1", {"at": DAY}), {"result": {"at": "2026-01-02"}, "success": True, "role": "user"}),
    (ToolCall("1", "pay", "{"), {"arguments": "{"}),
]


@pytest.mark.parametrize(("event", "expected"), EVENTS)
def test_event_is_written_as_json(event: Printable, expected: dict[str, Any]) -> None:
    written = event.to_json()
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert next(iter(written)) == "type"
    assert written["type"] == type(event).__name__
    assert {name: written[name] for name in expected} == expected


def test_messages_within_messages_are_written_too() -> None:
    image = ImageMessage(b"\x89PNG")
    result = ToolResultMessage("1", (TextMessage("A lamp."), image)).to_json()["result"]
    assert [part["type"] for part in result] == ["TextMessage", "ImageMessage"]
    assert result[1]["media_type"] == "image/png"
    answer = Answer(messages=(TextMessage("Hi."),), usage=Usage(1, 2), model="m").to_json()
    assert answer["messages"][0]["text"] == "Hi."
    assert answer["usage"] == {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 0, "reasoning_tokens": 0}


def test_end_of_a_program_has_its_result() -> None:
    result = ExecutionResult(output="x", return_value={1: DAY}, pending=(CALL,), images=[ImageMessage(b"a")])
    written = ProgramEnded("p", "", result).to_json()["result"]
    assert (written["type"], written["output"], written["return_value"]) == (
        "ExecutionResult",
        "x",
        {"1": "2026-01-02"},
    )
    assert written["pending"][0]["tool"] == "pay"
    assert {"keeper", "progress", "max_text"}.isdisjoint(written)


def test_value_without_json_is_described() -> None:
    class Odd:
        """Nothing that JSON has."""

    loop: list[object] = []
    loop.append(loop)
    for value in (Odd(), loop, [0] * 600_000):
        written = CallEnded("1", "p", "pay", value, None, 0.0).to_json()
        json.dumps(written)
