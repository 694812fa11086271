"""What servers send that speak a provider's format nearly: objects for texts, nulls, and fields that are left out."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.conversation.saving.serialization import from_json, to_json
from ez_ptc.formats.json_reader import unique_ids
from ez_ptc.formats.openai_chat import messages as chat_messages
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, TextMessage, ToolCallMessage, ToolResultMessage
from tests.formats.all_formats.provider_bodies import FORMATS, PROMPT, Form, send_money

ARGUMENTS = {"to": "Ada", "amount": 5}
SPELLINGS: list[tuple[object, object]] = [
    (ARGUMENTS, ARGUMENTS),
    ('{"to": "Ada", "amount": 5}', ARGUMENTS),
    ("{'to': 'Ada', 'amount': 5,}", ARGUMENTS),
    (None, {}),
    ([], {}),
    ({}, {}),
    ("", {}),
    ("null", {}),
]


def chat(message: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {"choices": [{"message": message, **fields}]}


def body_of(name: str, arguments: object) -> dict[str, Any]:
    """Return the least answer with one call."""
    match name:
        case "anthropic":
            return {"content": [{"type": "tool_use", "id": "a", "name": "send_money", "input": arguments}]}
        case "gemini":
            call = {"functionCall": {"name": "send_money", "args": arguments}}
            return {"candidates": [{"content": {"parts": [call]}}]}
        case "openai-responses":
            call = {"type": "function_call", "call_id": "a", "name": "send_money", "arguments": arguments}
            return {"output": [call]}
        case _:
            return chat({"content": None, "tool_calls": [{"function": {"name": "send_money", "arguments": arguments}}]})


def sent_arguments(name: str, body: dict[str, Any]) -> object:
    """Return the arguments of the one call in a request."""
    match name:
        case "anthropic":
            return body["messages"][1]["content"][0]["input"]
        case "gemini":
            return body["contents"][1]["parts"][0]["functionCall"]["args"]
        case "openai-responses":
            return body["input"][1]["arguments"]
        case _:
            return body["messages"][1]["tool_calls"][0]["function"]["arguments"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("arguments", "expected"), SPELLINGS)
def test_arguments_of_any_type_are_read_and_sent_back(name: str, arguments: object, expected: object) -> None:
    form = FORMATS[name]
    answer = form.answer(body_of(name, arguments), PROMPT)
    (call,) = answer.calls
    assert answer.stop_reason == "tool_calls"
    assert send_money.definition.read(call.arguments)[0] == expected

    result = ToolResultMessage(call.id, "ok", tool_name=call.name)
    entries = from_json(to_json((*PROMPT.entries, answer, result)))
    sent = sent_arguments(name, form.request(Prompt(model="m", entries=entries, tools=(send_money,))))
    if name in ("anthropic", "gemini"):
        assert (sent or {}) == expected
    else:
        assert isinstance(sent, str)
        assert send_money.definition.read(sent)[0] == expected


CONTENTS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"content": []},
        {"content": None},
        {"content": "", "stop_reason": "end_turn"},
        {"content": [{"type": "text", "text": " \n"}], "stop_reason": "tool_use"},
        {"content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}], "stop_reason": "end_turn"},
    ],
    "gemini": [
        {"candidates": [{}]},
        {"candidates": [{"finishReason": "STOP", "content": None}]},
        {"candidates": [{"finishReason": "STOP", "content": {"role": "model"}}]},
        {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": ""}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}]}}]},
    ],
    "openai-responses": [
        {"output": []},
        {"output": [{"type": "reasoning", "id": "r", "summary": []}]},
        {"output": [{"type": "message", "content": None}]},
        {"output": [{"type": "message", "content": ""}], "status": "completed"},
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": ""}]}]},
    ],
    "openai-chat": [
        chat({}),
        chat({"content": None}, finish_reason="stop"),
        chat({"content": ""}, finish_reason="tool_calls"),
        chat({"content": [], "tool_calls": []}, finish_reason="stop"),
        chat({"content": [{"type": "text", "text": "\n"}], "tool_calls": None}, finish_reason=""),
        chat({"content": "", "reasoning_content": "Hm."}, finish_reason="stop"),
    ],
}


@pytest.mark.parametrize(("name", "body"), [(name, body) for name, bodies in CONTENTS.items() for body in bodies])
def test_empty_answer_has_a_stop_reason_that_says_so(name: str, body: dict[str, Any]) -> None:
    answer = FORMATS[name].answer(body, PROMPT)
    assert (answer.text.strip(), answer.calls, answer.stop_reason) == ("", (), "empty")
    assert FORMATS[name].request(Prompt(model="m", entries=(*PROMPT.entries, answer, TextMessage("Well?"))))


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("anthropic", {"content": "Hi.", "stop_reason": None}),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "Hi."}]}}]}),
        ("openai-responses", {"output": [{"type": "message", "role": "assistant", "content": "Hi."}]}),
        ("openai-chat", chat({"content": [{"type": "text", "text": "Hi."}]})),
    ],
)
def test_answer_with_its_text_only_is_complete(name: str, body: dict[str, Any]) -> None:
    answer: Answer = FORMATS[name].answer(body, PROMPT)
    assert (answer.text, answer.stop_reason, answer.usage.output_tokens) == ("Hi.", "end", 0)
    assert FORMATS[name].request(Prompt(model="m", entries=(*PROMPT.entries, answer, TextMessage("Well?"))))


EMPTY_STREAMS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"type": "message_start", "message": {"role": "assistant"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ],
    "gemini": [{"candidates": [{"finishReason": "STOP"}]}],
    "openai-responses": [{"type": "response.completed", "response": {"output": []}}],
    "openai-chat": [{"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]}],
}


@pytest.mark.parametrize("name", EMPTY_STREAMS)
def test_empty_stream_says_so_too(name: str) -> None:
    answer, text = FORMATS[name].streamed(EMPTY_STREAMS[name])
    assert (text, answer.stop_reason) == ("", "empty")


def test_null_as_text_beside_a_call_loses_no_call() -> None:
    form = FORMATS["anthropic"]
    call = {"type": "tool_use", "id": "a", "name": "send_money", "input": ARGUMENTS}
    answer = form.answer({"content": [{"type": "text", "text": None}, call]}, PROMPT)
    entries = (*PROMPT.entries, answer, ToolResultMessage("a", "ok", tool_name="send_money"))
    sent = form.request(Prompt(model="m", entries=entries, tools=(send_money,)))
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["tool_use"]


CALL = {"id": "a", "type": "function", "function": {"name": "send_money", "arguments": "{}"}}
SPOKEN: list[tuple[dict[str, Any], object]] = [
    ({}, None),
    ({"content": None}, None),
    ({"content": []}, None),
    ({"content": ""}, None),
    ({"content": {}}, None),
    ({"content": [None]}, None),
    ({"content": [{"type": "text"}]}, None),
    ({"content": [{"type": "text", "text": None}]}, None),
    ({"content": [{"type": "text", "text": ""}]}, None),
    ({"content": "Hi."}, "Hi."),
    ({"content": ["Hi.", ""]}, [{"type": "text", "text": "Hi."}]),
    ({"content": [{"type": "text", "text": "Hi."}, None]}, [{"type": "text", "text": "Hi."}]),
]


@pytest.mark.parametrize("calls", [[CALL], [], None, "missing"])
@pytest.mark.parametrize(("fields", "content"), SPOKEN)
@pytest.mark.parametrize("server", ["api.openai.com", "api.mistral.ai", "localhost"])
def test_chat_content_of_any_type_is_sent_back_as_servers_accept_it(
    server: str, fields: dict[str, Any], content: object, calls: object
) -> None:
    message = fields if calls == "missing" else {**fields, "tool_calls": calls}
    answer = chat_messages.answer(chat(message), PROMPT, server=server)
    assert answer.text == ("Hi." if content else "")

    entries = (*PROMPT.entries, answer, *(ToolResultMessage("a", "ok", tool_name="send_money") for _ in answer.calls))
    if not answer.calls:
        entries = (*entries, TextMessage("Go on."))
    sent = chat_messages.request(Prompt(model="m", entries=entries, tools=(send_money,)), server=server)["messages"]
    spoken = [message for message in sent if message["role"] == "assistant"]
    if answer.calls:
        assert [[call["id"] for call in message["tool_calls"]] for message in spoken] == [["a"]]
        assert spoken[0].get("content") == content
    elif content or server == "api.openai.com":
        assert spoken == [{"role": "assistant", "content": content or ""}]
    else:
        assert (spoken, len(sent)) == ([], 1 + len(PROMPT.entries))


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_call_with_the_id_of_an_earlier_one_gets_its_own(form: Form, *, is_streamed: bool) -> None:
    entries = PROMPT.entries
    ids: set[str] = set()
    for _ in range(3):
        prompt = replace(PROMPT, entries=entries)
        answer = form.answer(form.body, prompt)
        if is_streamed:
            stream = form.stream(prompt)
            for event in form.events:
                stream.feed(event)
            answer = stream.answer()
        (call,) = answer.calls
        assert call.id not in ids
        ids.add(call.id)
        entries = (*entries, answer, ToolResultMessage(call.id, f"result {len(ids)}", tool_name=call.name))
    sent = json.dumps(form.request(replace(PROMPT, entries=entries)))
    assert [f"result {number}" in sent for number in (1, 2, 3)] == [True] * 3


_IDS = st.sampled_from(["", "a", "b", "id 0", "id 1", "id 2", "id 3", "id 4"])


@given(earlier=st.lists(_IDS), ids=st.lists(_IDS))
def test_ids_of_an_answer_are_unique_in_its_conversation(earlier: list[str], ids: list[str]) -> None:
    answers = [Answer(messages=(ToolCallMessage("brew", identifier, {}),)) for identifier in earlier]
    unique = list(unique_ids(dict(enumerate(ids)), answers, lambda number: f"id {number}").values())

    assert len({*unique}) == len(ids)
    assert not {*unique} & {"", *earlier}
    for position, (before, after) in enumerate(zip(ids, unique, strict=True)):
        assert before == after or not before or before in {*earlier, *ids[:position]}
