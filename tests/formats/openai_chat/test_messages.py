"""Turns of a conversation in Chat Completions: what is asked, what is answered."""

import json
from typing import Any

import pytest
from hypothesis import given

from ez_ptc.errors import AuthenticationError, ConnectionFailedError, ProviderError, RateLimitError
from ez_ptc.formats.openai_chat.messages import answer, request
from ez_ptc.formats.openai_chat.stream import AnswerStream
from ez_ptc.messages import (
    Answer,
    Entry,
    ImageMessage,
    MessageRole,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    Usage,
)
from tests.formats.openai_made import ELSEWHERE, HELLO, JSON, MESSAGES, SENT_NAME, SYSTEM, WEATHER, call, prompt
from tests.formats.openai_types import check_chat
from tests.providers.openai.replies import completion


def answered(*calls: dict[str, Any], server: str = "api.openai.com", **message: Any) -> Answer:
    body = completion(message.pop("text", None), tool_calls=[*calls], **message)
    return answer(body, prompt(tools=(WEATHER,)), server=server)


def messages_of(*entries: Entry, server: str = "api.openai.com") -> list[dict[str, Any]]:
    body = request(prompt(*entries, tools=(WEATHER,)), server=server)
    check_chat(body)
    return body["messages"]


# What is asked --------------------------------------------------------------------------------------------------------


def test_nothing_is_sent_that_was_not_chosen() -> None:
    assert request(prompt()) == {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("api.openai.com", "max_completion_tokens"),
        ("eu.api.openai.com", "max_completion_tokens"),
        ("mine.openai.azure.com", "max_completion_tokens"),
        ("localhost", "max_tokens"),
        ("notopenai.com", "max_tokens"),
        ("openai.com.example.org", "max_tokens"),
    ],
)
def test_the_limit_has_the_name_that_the_server_knows(server: str, name: str) -> None:
    body = request(prompt(max_tokens=5, temperature=0), server=server)
    check_chat(body)
    assert (body[name], body["temperature"]) == (5, 0)


def test_elsewhere_the_instructions_are_one_message_and_the_first() -> None:
    kind = TextMessage("Be kind.", role=MessageRole.SYSTEM)
    assert messages_of(SYSTEM, HELLO, kind, server=ELSEWHERE) == [
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        {"role": "user", "content": "Hello"},
    ]


def test_consecutive_user_messages_merge_if_roles_alternate() -> None:
    entries = (HELLO, TextMessage("Are you there?"))
    assert [each["content"] for each in messages_of(*entries)] == ["Hello", "Are you there?"]
    assert [each["content"] for each in messages_of(*entries, server=ELSEWHERE)] == ["Hello\n\nAre you there?"]


@pytest.mark.parametrize("server", ["api.openai.com", ELSEWHERE])
def test_images_share_a_message_with_their_text(server: str) -> None:
    images = (ImageMessage(b"GIF8", media_type="image/gif"), ImageMessage(url="https://example.org/a.png"))
    [message] = messages_of(TextMessage("What is it?"), *images, server=server)
    assert message["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGOA=="}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        (WEATHER.name, {"type": "function", "function": {"name": SENT_NAME}}),
    ],
)
def test_the_tools_go_along_and_which_to_call(choice: str, sent: object) -> None:
    body = request(prompt(tools=(WEATHER,), tool_choice=choice, strict=True))
    check_chat(body)
    assert body["tools"][0]["function"]["name"] == SENT_NAME
    assert body["tools"][0]["function"]["strict"] is True
    assert body.get("tool_choice") == sent


def test_unknown_tool_choice_lists_valid_tools() -> None:
    with pytest.raises(ProviderError, match=f"unknown tool_choice 'wether'; expected .*{WEATHER.name}"):
        request(prompt(tools=(WEATHER,), tool_choice="wether"))


def test_structured_answer_is_requested() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "free": {"type": "object"}}, "required": ["n"]}
    strict = {"type": "object", "properties": {"n": {"type": "integer"}}}
    bodies = [request(prompt(output_schema=each)) for each in (schema, strict)]
    for body in bodies:
        check_chat(body)
    formats = [body["response_format"]["json_schema"] for body in bodies]
    assert [each["strict"] for each in formats] == [False, True]
    assert formats[1]["schema"]["additionalProperties"] is False


def test_options_are_sent_and_lists_and_objects_grow() -> None:
    hosted = {"type": "custom", "custom": {"name": "run"}}
    body = request(prompt(tools=(WEATHER,), temperature=1, options={"tools": [hosted], "temperature": 0, "seed": 7}))
    check_chat(body)
    assert [tool["type"] for tool in body["tools"]] == ["function", "custom"]
    assert (body["temperature"], body["seed"]) == (0, 7)


def test_half_a_character_does_not_reach_the_wire() -> None:
    body = request(prompt(TextMessage("a\ud83d!"), options={"user": "\udc00"}))
    assert json.dumps(body, ensure_ascii=False).encode()
    assert body["messages"][0]["content"].startswith("a")


def test_invalid_conversation_is_refused_before_sending() -> None:
    with pytest.raises(ProviderError, match="would refuse this conversation"):
        request(prompt(HELLO, ToolResultMessage("call_1", "x")))
    with pytest.raises(ProviderError, match="does not accept ImageMessage from the assistant"):
        request(prompt(HELLO, ImageMessage(b"GIF8", role=MessageRole.ASSISTANT)))


# What is answered -----------------------------------------------------------------------------------------------------


def test_answer_has_its_text_and_usage() -> None:
    got = answer(completion("Hi."), prompt())
    assert got.text == "Hi."
    assert (got.stop_reason, got.provider, got.model, got.id) == ("end", "openai-chat", "model-1", "chatcmpl-1")
    assert got.usage == Usage(input_tokens=12, output_tokens=3, cached_tokens=4, reasoning_tokens=1)
    assert got.content == completion("Hi.")["choices"][0]["message"]


def test_calls_have_original_tool_names_and_return_unchanged() -> None:
    got = answered(
        call(extra={"signature": "x"}), call("call_2", arguments=""), text="I look.", reasoning_content="Hm."
    )
    assert [(each.name, each.arguments) for each in got.calls] == [
        (WEATHER.name, '{"city": "Oslo"}'),
        (WEATHER.name, ""),
    ]
    assert got.stop_reason == "tool_calls"
    results = (ToolResultMessage("call_1", {"sky": "blue"}), ToolResultMessage("call_2", "no", success=False))
    _, said, *told = request(prompt(HELLO, got, *results, tools=(WEATHER,)))["messages"]
    assert said == {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "Hm.",
        "tool_calls": [call(extra={"signature": "x"}), call("call_2", arguments="{}")],
    }
    assert told == [
        {"role": "tool", "tool_call_id": "call_1", "content": '{"sky":"blue"}'},
        {"role": "tool", "tool_call_id": "call_2", "content": "no"},
    ]


def test_calls_without_id_get_one_matching_results() -> None:
    got = answered(call(None), call(""), call("a"), call("a"))
    identifiers = [each.id for each in got.calls]
    assert len(set(identifiers)) == 4
    results = [ToolResultMessage(each, "ok") for each in identifiers]
    _, said, *told = messages_of(HELLO, got, *results)
    assert [each["id"] for each in said["tool_calls"]] == [each["tool_call_id"] for each in told] == identifiers


def test_non_json_arguments_are_wrapped_before_sending() -> None:
    got = answered(call(arguments='{"city": "Os'))
    assert got.calls[0].arguments == '{"city": "Os'
    _, said, _ = messages_of(HELLO, got, ToolResultMessage("call_1", "that is no JSON", success=False))
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"not_json": '{"city": "Os'}


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ("null", {}),
        ("[]", {}),
        ('""', {}),
        ('"{\\"city\\": \\"Oslo\\"}"', {"city": "Oslo"}),
        ("[1, 2]", {"not_json": "[1, 2]"}),
        ("5", {"not_json": "5"}),
        ('"Oslo"', {"not_json": '"Oslo"'}),
        ("NaN", {"not_json": "NaN"}),
    ],
)
@pytest.mark.parametrize("is_made", [True, False])
def test_arguments_are_sent_back_as_an_object(arguments: str, sent: dict[str, Any], is_made: bool) -> None:
    got = answered(call(arguments=arguments))
    if is_made:
        got = Answer(messages=(ToolCallMessage("weather", "call_1", arguments),))
    _, said, _ = messages_of(HELLO, got, ToolResultMessage("call_1", "12 degrees"))
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == sent


def test_repaired_arguments_are_sent_back_as_json() -> None:
    got = answered(call(arguments="{'city': 'Oslo',}"))
    _, said, _ = messages_of(HELLO, got, ToolResultMessage("call_1", "12 degrees"))
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"city": "Oslo"}


def test_legacy_function_calls_are_answered_in_kind() -> None:
    body = completion(function_call={"name": SENT_NAME, "arguments": "{}"}, finish_reason="function_call")
    got = answer(body, prompt(tools=(WEATHER,)))
    assert got.stop_reason == "tool_calls"
    result = ToolResultMessage(got.calls[0].id, "sunny", tool_name=WEATHER.name)
    assert messages_of(HELLO, got, result)[2] == {"role": "function", "name": SENT_NAME, "content": "sunny"}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"text": "Hi", "finish_reason": "length"}, "length"),
        ({"text": "Hi", "finish_reason": "content_filter"}, "refusal"),
        ({"refusal": "No.", "finish_reason": "stop"}, "refusal"),
        ({"text": "Hi", "finish_reason": "eos"}, "end"),
        ({"text": "Hi", "finish_reason": "STOP"}, "end"),
        ({"text": "Hi", "finish_reason": ""}, "end"),
        ({"text": "Hi", "finish_reason": "tool_calls"}, "end"),
        ({"text": "Hi", "finish_reason": "max_tokens"}, "length"),
        ({"text": "Hi", "finish_reason": "odd"}, "odd"),
        ({"text": "Hi", "finish_reason": None}, "end"),
        ({"tool_calls": [call()], "finish_reason": "stop"}, "tool_calls"),
    ],
)
def test_why_it_stopped_has_one_word_for_all_providers(message: dict[str, Any], reason: str) -> None:
    assert answer(completion(message.pop("text", None), **message), prompt()).stop_reason == reason


def test_a_refusal_is_read_and_goes_back() -> None:
    got = answer(completion(refusal="I will not."), prompt())
    assert got.text == "I will not."
    assert messages_of(HELLO, got, HELLO)[1] == {"role": "assistant", "content": None, "refusal": "I will not."}


def test_the_first_of_several_choices_is_the_answer() -> None:
    body = completion("first")
    body["choices"].append({"index": 1, "message": {"role": "assistant", "content": "second"}, "finish_reason": "stop"})
    assert answer(body, prompt()).text == "first"


def test_content_may_consist_of_parts() -> None:
    parts = [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Hi"}, {"type": "text", "text": "."}, 3]
    body = completion()
    body["choices"][0]["message"]["content"] = parts
    assert answer(body, prompt()).text == "Hi."


def test_filtered_answer_is_refusal_with_nothing_to_send() -> None:
    got = answer({"choices": [{"finish_reason": "content_filter", "index": 0}]}, prompt())
    assert (got.messages, got.stop_reason) == ((), "refusal")
    assert [each["content"] for each in messages_of(HELLO, got, TextMessage("Well?"))] == ["Hello", "Well?"]


def test_empty_answer_can_be_sent_back() -> None:
    assert messages_of(HELLO, answer(completion(), prompt()), HELLO)[1] == {"role": "assistant", "content": ""}


def test_answer_of_another_provider_or_server_is_rebuilt() -> None:
    said = (
        TextMessage("I look.", role=MessageRole.ASSISTANT),
        ToolCallMessage(WEATHER.name, "toolu_" + "x" * 60, {"city": "Ålesund"}),
    )
    foreign = Answer(messages=said, provider="anthropic", content=[{"type": "thinking"}])
    _, made, told = messages_of(HELLO, foreign, ToolResultMessage("toolu_" + "x" * 60, "sunny"))
    assert made["content"] == "I look."
    assert json.loads(made["tool_calls"][0]["function"]["arguments"]) == {"city": "Ålesund"}
    assert made["tool_calls"][0]["id"] == told["tool_call_id"]
    assert len(told["tool_call_id"]) <= 40
    local = answered(call(), server=ELSEWHERE, reasoning_content="Hm.")
    result = ToolResultMessage("call_1", "sunny")
    assert "reasoning_content" in messages_of(HELLO, local, result, server=ELSEWHERE)[1]
    assert "reasoning_content" not in messages_of(HELLO, local, result)[1]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "no choices"),
    ({"choices": []}, "no choices"),
    ({"choices": {}}, "choices"),
    ({"choices": [{"index": 0}]}, r"no message at answer.choices\[0\]"),
    ({"choices": [{"message": "Hi"}]}, r"answer.choices\[0\].message"),
    ({"choices": [{"message": {"tool_calls": [{"id": "1", "function": {}}]}}]}, "name"),
    ({"choices": [{"message": {"tool_calls": "x"}}]}, "tool_calls"),
    ({"error": {"message": "overloaded", "code": "server_error"}}, r"overloaded \(server_error\)"),
    ({"error": True}, "no reason given"),
]


@pytest.mark.parametrize(("body", "complaint"), WRONG)
def test_invalid_answer_names_the_problem(body: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ProviderError, match=complaint):
        answer(body, prompt())


@pytest.mark.parametrize(
    ("code", "kind"), [("invalid_api_key", AuthenticationError), (429, RateLimitError), ("x", ProviderError)]
)
def test_errors_in_answers_have_their_types(code: object, kind: type[ProviderError]) -> None:
    with pytest.raises(kind, match="oh no"):
        answer({"error": {"message": "oh no", "code": code}}, prompt())
    for key in ("object", "type"):
        body = {key: "error", "message": "oh no", "code": code}
        with pytest.raises(kind, match="oh no"):
            answer(body, prompt())
        with pytest.raises(kind, match="oh no"):
            AnswerStream(prompt()).feed(body)


@pytest.mark.parametrize(
    "reason", ["error", "abort", "ABORT", "cancelled", "network_error", "insufficient_system_resource"]
)
@pytest.mark.parametrize("fields", [{"text": "```python\npay(1)"}, {"tool_calls": [call()]}, {"text": ""}])
def test_answer_that_the_server_broke_off_is_an_error(reason: str, fields: dict[str, Any]) -> None:
    text = fields.get("text")
    others = {key: value for key, value in fields.items() if key != "text"}
    with pytest.raises(ConnectionFailedError, match="broke off its answer"):
        answer(completion(text, **others, finish_reason=reason), prompt())
    stream = AnswerStream(prompt())
    delta = {"content": text, **others}
    stream.feed({"choices": [{"delta": delta, "finish_reason": reason}]})
    with pytest.raises(ConnectionFailedError, match="broke off its answer"):
        stream.answer()


def test_error_of_a_choice_is_raised() -> None:
    error = {"message": "oh no", "code": 502}
    with pytest.raises(ProviderError, match="oh no"):
        answer({"choices": [{"message": {"content": ""}, "finish_reason": "stop", "error": error}]}, prompt())
    for index in ({}, {"index": 0}):
        choice = {**index, "delta": {"content": ""}, "error": error}
        with pytest.raises(ProviderError, match="oh no"):
            AnswerStream(prompt()).feed({"choices": [choice]})
    for nothing in (None, ""):
        body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop", "error": nothing}]}
        assert answer(body, prompt()).text == "Hi"


@given(message=MESSAGES, usage=JSON, reason=JSON, name=JSON)
def test_any_response_is_answer_or_providers_error(
    message: dict[str, Any], usage: object, reason: object, name: object
) -> None:
    body = {"id": name, "model": name, "choices": [{"message": message, "finish_reason": reason}], "usage": usage}
    try:
        got = answer(body, prompt())
    except ProviderError:
        return
    results = [ToolResultMessage(each.id, "ok") for each in got.calls]
    assert request(prompt(HELLO, got, *results, HELLO))


@pytest.mark.parametrize("function", [{}, {"name": "", "arguments": ""}, {"name": None, "arguments": None}, ""])
def test_empty_function_call_is_ignored(function: object) -> None:
    got = answer(completion("Hi.", function_call=function), prompt())
    assert (got.text, got.calls, got.stop_reason) == ("Hi.", (), "end")
    assert request(prompt(HELLO, got, HELLO))["messages"][1] == {"role": "assistant", "content": "Hi."}


@pytest.mark.parametrize("name", [{}, {"name": None}, {"name": 5}])
def test_function_call_without_name_is_refused(name: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match=r"expected text at .*name"):
        answer(completion("Hi.", function_call={**name, "arguments": "{}"}), prompt())
