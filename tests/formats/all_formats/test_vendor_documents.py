"""Whether requests fit what Anthropic and OpenAI say in their own documents that a request is."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ez_ptc import SchemaError, ez_tool
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.describable import ToolShape
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import (
    Answer,
    DocumentMessage,
    Entry,
    ImageMessage,
    MessageRole,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
)
from tests.formats.all_formats.made import MANY_UNIONS, tools
from tests.formats.all_formats.vendor_documents import problems_of

_Json = dict[str, Any]

_REQUESTS = {
    "anthropic": anthropic_turns.request,
    "openai-chat": openai_turns.request,
    "openai": responses_turns.request,
}
_HELLO = TextMessage("Hello")
_ASSISTANT = MessageRole.ASSISTANT
_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@ez_tool
def get_weather(location: str, unit: str = "celsius") -> str:
    """Say what the weather is like."""
    return f"sunny in {location}, in {unit}"


def _prompt(*entries: Entry, **changes: Any) -> Prompt:
    given: dict[str, Any] = {"model": "m", "tools": (get_weather,), **changes}
    return Prompt(entries=entries or (_HELLO,), **given)


# What any of them may be asked ----------------------------------------------------------------------------------------

_FOREIGN = Answer(
    messages=(
        TextMessage("I look.", role=_ASSISTANT),
        ToolCallMessage("get_weather", "call 1", {"location": "Rome"}),
        ToolCallMessage("get_weather", "call 2", "{'no': JSON"),
    )
)
_RESULTS = (
    ToolResultMessage("call 1", {"temp": 22.5}, tool_name="get_weather"),
    ToolResultMessage("call 2", "no JSON", tool_name="get_weather", success=False),
)
_ENTRIES: dict[str, tuple[Entry, ...]] = {
    "a question": (_HELLO,),
    "everything": (
        TextMessage("Be short.", role=MessageRole.SYSTEM),
        ImageMessage(b"\x89PNG"),
        ImageMessage(url="https://example.org/dog.jpg"),
        TextMessage("What is it?"),
        TextMessage("A dog.", role=_ASSISTANT),
        TextMessage("And the weather?"),
        TextMessage("Be shorter.", role=MessageRole.SYSTEM),
        _FOREIGN,
        *_RESULTS,
        TextMessage("And?"),
    ),
    "documents, and a result of parts": (
        DocumentMessage(b"%PDF-1.7", name="plan.pdf"),
        _HELLO,
        _FOREIGN,
        replace(_RESULTS[0], result=("Here:", ImageMessage(b"\x89PNG"), DocumentMessage(b"%PDF-1.7"))),
        _RESULTS[1],
        TextMessage("In French.", role=MessageRole.SYSTEM),
    ),
    "the assistant first": (TextMessage("Yes?", role=_ASSISTANT), _HELLO),
    "results at the end": (_HELLO, _FOREIGN, *_RESULTS),
    "an answer of nothing": (_HELLO, Answer(messages=()), TextMessage("And?")),
    "halves of characters": (TextMessage("\ud83d"), Answer(messages=(TextMessage("\udc00", role=_ASSISTANT),)), _HELLO),
}
_CHANGES: dict[str, _Json] = {
    "as it is": {},
    "without tools": {"tools": ()},
    "a tool must be called": {"tool_choice": "required"},
    "no tool may be called": {"tool_choice": "none"},
    "one tool must be called": {"tool_choice": "get_weather"},
    "strict": {"strict": True},
    "limited": {"max_tokens": 50, "temperature": 0.5},
    "held to a schema": {"output_schema": _SCHEMA},
    "all at once": {"strict": True, "max_tokens": 50, "temperature": 0, "output_schema": _SCHEMA},
    "a model that reasons": {"model": "gpt-5.5"},
}


@pytest.mark.parametrize("changes", _CHANGES.values(), ids=_CHANGES)
@pytest.mark.parametrize("entries", _ENTRIES.values(), ids=_ENTRIES)
@pytest.mark.parametrize("name", _REQUESTS)
@pytest.mark.sampled(every=3)
def test_request_fits_vendor_document(name: str, entries: tuple[Entry, ...], changes: _Json) -> None:
    assert problems_of(name, _REQUESTS[name](_prompt(*entries, **changes))) == []


@pytest.mark.parametrize("name", _REQUESTS)
@given(tool=tools(), strict=st.booleans())
@example(tool=MANY_UNIONS, strict=True)
def test_any_tool_fits_vendor_document(name: str, tool: tuple[_Json, _Json], strict: bool) -> None:
    schema, arguments = tool
    asked = Answer(messages=(ToolCallMessage("shop/find it", "c 1", arguments),))
    entries = (_HELLO, asked, ToolResultMessage("c 1", arguments, tool_name="shop/find it"))
    described = ToolShape("shop/find it", "Find something.", schema)
    prompt = _prompt(*entries, tools=(described,), strict=strict, output_schema=schema)
    try:
        body = _REQUESTS[name](prompt)
    except SchemaError as error:
        assert "strict mode takes at most" in str(error)  # noqa: PT017 - either ending is right, and each is checked
    else:
        assert problems_of(name, body) == []


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2048}, "metadata": {"user_id": "u1"}}),
        ("anthropic", {"tools": [{"type": "web_search_20250305", "name": "web_search"}], "stop_sequences": ["."]}),
        ("openai-chat", {"reasoning_effort": "low", "parallel_tool_calls": False, "stream": True}),
        ("openai-chat", {"stream": True, "stream_options": {"include_usage": True}}),
        ("openai", {"reasoning": {"effort": "low"}, "store": True, "text": {"verbosity": "low"}, "stream": True}),
        ("openai", {"tools": [{"type": "web_search"}], "parallel_tool_calls": True}),
    ],
)
def test_request_with_options_fits_vendor_document(name: str, options: _Json) -> None:
    body = _REQUESTS[name](_prompt(*_ENTRIES["everything"], options=options))
    assert body.keys() >= options.keys()
    assert problems_of(name, body) == []


# What goes back of an answer ------------------------------------------------------------------------------------------

_ANTHROPIC: list[_Json] = [
    {"type": "thinking", "thinking": "Rome, then.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "b2R0"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Rome"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"location": "Rome"}},
]
_CHAT: _Json = {
    "role": "assistant",
    "content": "I look.",
    "refusal": None,
    "annotations": [],
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"location": "Rome"}'}}
    ],
}
_RESPONSES: list[_Json] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "Rome"}},
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "get_weather",
        "arguments": '{"location": "Rome"}',
        "status": "completed",
    },
]
_LOST: list[_Json] = [{**_RESPONSES[0], "encrypted_content": None}, *_RESPONSES[2:]]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("anthropic", anthropic_turns.answer({"content": _ANTHROPIC, "id": "m"}, _prompt())),
        ("openai-chat", openai_turns.answer({"choices": [{"message": _CHAT}]}, _prompt())),
        ("openai", responses_turns.answer({"output": _RESPONSES}, _prompt())),
        ("openai", responses_turns.answer({"output": _LOST}, _prompt())),
    ],
    ids=["anthropic", "openai-chat", "openai", "openai without its reasoning"],
)
def test_returned_answer_fits_vendor_document(name: str, said: Answer) -> None:
    result = ToolResultMessage("call_1", {"temp": 22}, tool_name="get_weather")
    body = _REQUESTS[name](_prompt(_HELLO, said, result, TextMessage("And?")))
    assert "I look." in str(body)
    assert problems_of(name, body) == []


# The documents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("anthropic", {"max_token": 5}),
        ("anthropic", {"messages": [{"role": "user", "content": [{"type": "text", "txt": "Hello"}]}]}),
        ("anthropic", {"messages": [{"role": "tool", "content": "Hello"}]}),
        ("openai-chat", {"max_token": 5}),
        ("openai-chat", {"messages": [{"role": "tool", "content": "no call's id"}]}),
        ("openai-chat", {"messages": [{"role": "user", "content": "Hello", "said": 1}]}),
        ("openai", {"max_tokens": 50}),
        ("openai", {"input": [{"type": "function_call_output", "output": "no call's id"}]}),
        ("openai", {"input": [{"role": "user", "content": "Hello", "said": 1}]}),
    ],
)
def test_field_unknown_to_vendor_is_found(name: str, change: _Json) -> None:
    body = _REQUESTS[name](_prompt())
    assert problems_of(name, body) == []
    assert problems_of(name, {**body, **change}) != []
