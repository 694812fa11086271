"""Arguments within a whole call are read where nothing else can be meant."""

from __future__ import annotations

import json
from typing import Any

from ez_ptc import Tool, ToolCall, ez_tool


@ez_tool
def book(city: str, nights: int = 1) -> str:
    """Book a hotel."""
    return f"{city} {nights}"


@ez_tool
def call(name: str, arguments: dict[str, Any]) -> str:
    """Call a function of another system."""
    return f"{name} {arguments}"


INNER = {"city": "Oslo", "nights": 2}
WRAPPED: list[dict[str, Any]] = [
    {"arguments": INNER},
    {"parameters": INNER},
    {"kwargs": INNER},
    {"name": "book", "arguments": INNER},
    {"type": "function", "function": "book", "parameters": INNER},
    {"type": "object", "properties": INNER},
    {"arguments": json.dumps(INNER)},
    {"name": "book", "arguments": "{'city': 'Oslo', 'nights': 2}"},
    {"args": [], "kwargs": INNER},
    {"tool_input": INNER, "input": None},
]
OTHERS: list[dict[str, Any]] = [
    {"name": "pay", "arguments": INNER},
    {"arguments": {**INNER, "guests": 2}},
    {"arguments": INNER, "city": "Rome"},
    {"arguments": INNER, "parameters": INNER},
    {"arguments": {}},
    {"arguments": [INNER]},
    {"arguments": json.dumps([INNER])},
    {"arguments": '{"city": "Oslo"'},
    {"args": ["Oslo"], "kwargs": INNER},
    {"order": INNER},
]


def test_arguments_within_a_call_are_read() -> None:
    imported = Tool.from_schema("book", "Book.", book.parameters, book.definition.function)
    for tool in (book, imported):
        for arguments in WRAPPED:
            for sent in (arguments, json.dumps(arguments)):
                result = tool.run(ToolCall("1", "book", sent))
                assert (result.output, result.success) == ("Oslo 2", True), sent
                assert any("came within" in sentence for sentence in result.repairs)


def test_other_arguments_are_never_unwrapped() -> None:
    for arguments in OTHERS:
        assert not book.run(ToolCall("1", "book", arguments)).success, arguments
    own = call.run(ToolCall("1", "call", {"name": "call", "arguments": {"name": 1}}))
    assert own.output == "call {'name': 1}"
