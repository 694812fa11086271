from typing import Any

import pytest

from ez_ptc import ez_tool
from ez_ptc.errors import ProviderError, SchemaError
from ez_ptc.formats.anthropic.messages import INVALID_JSON, MAX_TOKENS, answer, request
from ez_ptc.formats.describable import ToolShape
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import (
    Answer,
    Entry,
    ImageMessage,
    Message,
    MessageRole,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    Usage,
)
from tests.providers.anthropic.refusals import problems
from tests.providers.anthropic.server import message

_Json = dict[str, Any]

_SYSTEM = MessageRole.SYSTEM
_ASSISTANT = MessageRole.ASSISTANT


@ez_tool
def get_weather(location: str, unit: str = "celsius") -> str:
    """Say what the weather is like."""
    return f"sunny in {location}, in {unit}"


# As another program may describe it, which knows nothing of what Anthropic takes.
_KEYED = {"type": "object", "properties": {"order id": {"type": "string"}}, "required": ["order id"]}
_ODD = ToolShape("shop/find order", "Find an order.", _KEYED)

_THOUGHT = {"type": "thinking", "thinking": "Paris, then.", "signature": "c2ln"}
_REDACTED = {"type": "redacted_thinking", "data": "b2R0"}
_SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Paris"}}
_FOUND: _Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
_PARIS = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"location": "Paris"}}
_ORDER = {"type": "tool_use", "id": "toolu_2", "name": "shop_find_order", "input": {"order_id": "A1"}}


def _prompt(*entries: Entry, **changes: Any) -> Prompt:
    given: dict[str, Any] = {"model": "claude-sonnet-5-5", "tools": (get_weather, _ODD), **changes}
    return Prompt(entries=entries or (TextMessage("Hello"),), **given)


def _sent(*entries: Entry, **changes: Any) -> _Json:
    """Return the body of a request, which the API would take."""
    body = request(_prompt(*entries, **changes))
    assert problems(body) == []
    return body


def _text(text: str) -> _Json:
    return {"type": "text", "text": text}


def _said(*blocks: _Json | str, **others: Any) -> Answer:
    whole = message([_text(each) if isinstance(each, str) else each for each in blocks], **others)
    return answer(whole, _prompt())


def _foreign(*messages: Message) -> Answer:
    return Answer(messages=messages, provider="openai", content={"not": "Anthropic's"})


def test_request_has_model_and_token_limit() -> None:
    body = _sent(tools=())

    assert body == {
        "model": "claude-sonnet-5-5",
        "max_tokens": MAX_TOKENS,
        "messages": [{"role": "user", "content": [_text("Hello")]}],
    }
    assert _sent(max_tokens=5)["max_tokens"] == 5
    assert request(_prompt(temperature=0.5))["temperature"] == 0.5


def test_text_to_be_continued_ends_without_spaces() -> None:
    begun = TextMessage("An answer:\n ", role=_ASSISTANT)
    assert _sent(TextMessage("Hello"), begun)["messages"][1]["content"] == [_text("An answer:")]
    assert _sent(TextMessage("Hello"), begun, TextMessage("Go on."))["messages"][1]["content"] == [_text(begun.text)]


def test_thinking_budget_adds_to_output_limit() -> None:
    thinking = {"type": "enabled", "budget_tokens": 2048}

    assert _sent(options={"thinking": thinking})["max_tokens"] == MAX_TOKENS + 2048
    assert _sent(options={"thinking": thinking}, max_tokens=4000)["max_tokens"] == 4000
    assert _sent(options={"thinking": {"type": "adaptive"}})["max_tokens"] == MAX_TOKENS


def test_system_text_before_first_answer_is_outside_messages() -> None:
    one = _sent(TextMessage("Be brief.", role=_SYSTEM), TextMessage("Hello"))
    two = _sent(TextMessage("Be brief.", role=_SYSTEM), TextMessage("Hello"), TextMessage("Be kind.", role=_SYSTEM))

    assert one["system"] == "Be brief."
    assert two["system"] == [_text("Be brief."), _text("Be kind.")]
    assert two["messages"] == one["messages"]
    assert "system" not in _sent(TextMessage(" ", role=_SYSTEM), TextMessage("Hello"))


def test_consecutive_messages_of_one_role_are_merged() -> None:
    picture = ImageMessage(data=b"\x89PNG")
    body = _sent(
        TextMessage("Look:"),
        picture,
        TextMessage(""),
        _said("I see."),
        TextMessage("And?"),
        _said(),
        TextMessage("Well?"),
    )

    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in body["messages"][0]["content"]] == ["text", "image"]
    assert body["messages"][2]["content"] == [_text("And?"), _text("Well?")]


def test_an_image_is_its_bytes_or_its_address() -> None:
    images = [
        ImageMessage(data=b"\xff\xd8\xff", media_type="image/jpeg"),
        ImageMessage(url="https://example.org/cat.png"),
        ImageMessage(url="data:image/gif;base64,R0lG"),
    ]
    body = _sent(*images)

    assert [block["source"] for block in body["messages"][0]["content"]] == [
        {"type": "base64", "media_type": "image/jpeg", "data": "/9j/"},
        {"type": "url", "url": "https://example.org/cat.png"},
        {"type": "base64", "media_type": "image/gif", "data": "R0lG"},
    ]


def test_own_answer_returns_unchanged() -> None:
    blocks: list[_Json] = [_THOUGHT, _REDACTED, _SEARCH, _FOUND, _text("Let me look."), _PARIS]
    body = _sent(TextMessage("Hello"), _said(*blocks), ToolResultMessage("toolu_1", "sunny"))

    assert body["messages"][1] == {"role": "assistant", "content": blocks}


def test_fields_refused_as_input_are_not_sent_back() -> None:
    cited = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    block = {"type": "text", "text": "So it is.", "citations": [{**cited, "document_title": None, "file_id": None}]}
    said = _said(_text(""), block)
    body = _sent(TextMessage("Is it?"), said, TextMessage("Sure?"))

    assert body["messages"][1]["content"] == [{**block, "citations": [{**cited, "document_title": None}]}]
    assert said.content == [_text(""), block]


def test_all_results_of_a_turn_precede_text() -> None:
    body = _sent(
        TextMessage("Hello"),
        _said(_PARIS, _ORDER),
        ToolResultMessage("toolu_1", {"degrees": 20}),
        ToolResultMessage("toolu_2", "there is no such order", success=False),
        TextMessage("Hurry up."),
    )

    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": '{"degrees":20}', "is_error": False},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "there is no such order", "is_error": True},
        _text("Hurry up."),
    ]


def test_another_providers_answer_is_made_of_its_messages() -> None:
    calls = [
        ToolCallMessage("get_weather", "call|1", '{"location": "Paris"}'),
        ToolCallMessage("shop/find order", "call|2", {"order id": "A1"}),
        ToolCallMessage("get_weather", "fine-3", '{"location": '),
    ]
    results = [ToolResultMessage(each.tool_call_id, "x") for each in calls]
    body = _sent(TextMessage("Hello"), _foreign(TextMessage("I look.", role=_ASSISTANT), *calls), *results)

    text, *made = body["messages"][1]["content"]
    assert text == _text("I look.")
    assert [(each["name"], each["input"]) for each in made] == [
        ("get_weather", {"location": "Paris"}),
        ("shop_find_order", {"order_id": "A1"}),
        ("get_weather", {INVALID_JSON: '{"location": '}),
    ]
    assert made[2]["id"] == "fine-3"
    assert [each["tool_use_id"] for each in body["messages"][2]["content"]] == [each["id"] for each in made]


def test_equal_call_ids_of_different_turns_are_distinguished() -> None:
    turn = [_foreign(ToolCallMessage("get_weather", "call_0", {})), ToolResultMessage("call_0", "x")]
    own = [_said({**_PARIS, "id": "call_9"}), ToolResultMessage("call_9", "x")]
    body = _sent(TextMessage("Hello"), *turn, *own, *turn, *turn)

    ids = [block["id"] for each in body["messages"] for block in each["content"] if block["type"] == "tool_use"]
    assert len(set(ids)) == 4
    assert ids[:2] == ["call_0", "call_9"]


def test_results_of_own_calls_keep_their_ids() -> None:
    turn = [_foreign(ToolCallMessage("get_weather", "call_0", {})), ToolResultMessage("call_0", "x")]
    own = [_said({**_PARIS, "id": "call_0"}), ToolResultMessage("call_0", "x")]
    body = request(_prompt(TextMessage("Hello"), *turn, *turn, *own))

    assert body["messages"][-1]["content"][0]["tool_use_id"] == "call_0"


def test_handmade_answer_is_sent_as_its_messages() -> None:
    made = Answer(messages=(TextMessage("Yes.", role=_ASSISTANT),), provider="anthropic")

    assert _sent(TextMessage("Hello"), made, TextMessage("Sure?"))["messages"][1]["content"] == [_text("Yes.")]


def test_paused_answer_is_sent_back_to_continue() -> None:
    paused = _said(_SEARCH, stop_reason="pause_turn")
    rest = _said(_FOUND, _text("There."))

    assert _sent(TextMessage("Hello"), paused)["messages"][1]["content"] == [_SEARCH]
    assert len(_sent(TextMessage("Hello"), paused, rest, TextMessage("Thanks"))["messages"][1]["content"]) == 3


def test_program_waiting_for_calls_continues_in_its_container() -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_9"}
    box = {"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"}
    said = _said({**_PARIS, "caller": caller}, container=box)
    asked = (TextMessage("Hello"), said, ToolResultMessage("toolu_1", "sunny"))
    skills = {"skills": [{"type": "anthropic", "skill_id": "xlsx"}]}

    assert _sent(*asked)["container"] == "container_1"
    assert _sent(*asked, options={"container": skills})["container"] == {"id": "container_1", **skills}
    assert _sent(TextMessage("Hello"), _said(_SEARCH, stop_reason="pause_turn", container=box))["container"]
    # Nothing waits in it any more, and it is gone by now.
    assert "container" not in _sent(*asked, _said("Done."), TextMessage("And?"))
    assert "container" not in _sent(TextMessage("Hello"), _said("Done.", container=box), TextMessage("And?"))


def test_tools_are_described_with_the_names_that_anthropic_takes() -> None:
    weather, order = _sent()["tools"]

    assert weather["name"] == "get_weather"
    assert order["name"] == "shop_find_order"
    assert [*order["input_schema"]["properties"]] == ["order_id"]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("shop/find order", {"type": "tool", "name": "shop_find_order"}),
    ],
)
def test_tool_choice_uses_anthropic_terms(choice: str, sent: object) -> None:
    assert _sent(tool_choice=choice).get("tool_choice") == sent


def test_choice_of_unknown_tool_is_an_error() -> None:
    with pytest.raises(ProviderError, match="unknown tool_choice 'sell'"):
        request(_prompt(tool_choice="sell"))


def test_strict_binds_the_model_to_every_tools_schema() -> None:
    assert all(tool["strict"] for tool in _sent(strict=True)["tools"])
    with pytest.raises(SchemaError, match="shape"):
        request(_prompt(strict=True, tools=(ToolShape("shape", "Anything.", {"type": "object"} | _ANYTHING),)))


_ANYTHING: _Json = {"properties": {"value": {}}}


def test_structured_answer_is_requested_with_strict_schema() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "required": ["name"]}
    sent = _sent(output_schema=schema, options={"output_config": {"effort": "low"}})["output_config"]

    assert sent["effort"] == "low"
    assert sent["format"]["type"] == "json_schema"
    assert sent["format"]["schema"]["additionalProperties"] is False
    assert "maxLength" not in sent["format"]["schema"]["properties"]["name"]


def test_options_are_request_fields_and_their_tools_are_added() -> None:
    search = {"type": "web_search_20260209", "name": "web_search"}
    weather = {**_sent()["tools"][0], "allowed_callers": ["code_execution_20260120"]}
    body = _sent(options={"tools": [search, weather], "metadata": {"user_id": "u"}, "stop_sequences": ["END"]})

    assert [tool["name"] for tool in body["tools"]] == ["shop_find_order", "web_search", "get_weather"]
    assert body["tools"][2] == weather
    assert body["metadata"] == {"user_id": "u"}
    assert body["stop_sequences"] == ["END"]
    assert _sent(tools=(), options={"tools": [search]})["tools"] == [search]


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ((TextMessage("   "),), "expects at least one non-empty message"),
        ((TextMessage("Hello"), ToolResultMessage("toolu_1", 1)), "the result of a call 'toolu_1'"),
        ((TextMessage("Hello"), _said(_PARIS), TextMessage("Well?")), "before the results of 'get_weather'"),
        ((TextMessage("Hello"), type("Note", (Message,), {"role": MessageRole.USER})()), "no block for a Note"),
    ],
)
def test_a_conversation_that_would_be_refused_is_not_sent(entries: tuple[Entry, ...], complaint: str) -> None:
    with pytest.raises(ProviderError, match=complaint):
        request(_prompt(*entries))


def test_answer_has_its_messages_and_usage() -> None:
    whole = message([_THOUGHT, _text("I look."), _SEARCH, _FOUND, _PARIS, _ORDER])
    whole["usage"] = {
        "input_tokens": 10,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 2,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 3},
    }
    said = answer(whole, _prompt())

    assert said.messages == (
        TextMessage("I look.", role=_ASSISTANT),
        ToolCallMessage("get_weather", "toolu_1", {"location": "Paris"}),
        ToolCallMessage("shop/find order", "toolu_2", {"order id": "A1"}),
    )
    assert said.content == whole["content"]
    assert said.usage == Usage(input_tokens=16, output_tokens=9, cached_tokens=4, reasoning_tokens=3)
    assert (said.provider, said.model, said.id) == ("anthropic", "claude-sonnet-5-5-20260801", "msg_01")
    assert said.details == {"stop_reason": "tool_use", "stop_sequence": None, "usage": whole["usage"]}


@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("tool_use", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("compaction", "compaction"),
        (None, "end"),
    ],
)
def test_every_reason_to_stop_has_its_word(reason: str | None, ours: str) -> None:
    assert _said("Hm.", stop_reason=reason).stop_reason == ours


def test_calls_imply_stop_reason_if_none_given() -> None:
    assert _said(_PARIS, stop_reason=None).stop_reason == "tool_calls"


def test_unknown_blocks_are_kept_and_skipped() -> None:
    news = {"type": "hologram", "depth": 3}
    said = _said(news, "Look!", surprise={"much": True}, stop_reason="astonished")

    assert said.messages == (TextMessage("Look!", role=_ASSISTANT),)
    assert said.content[0] == news
    assert said.details["surprise"] == {"much": True}
    assert said.stop_reason == "astonished"


def test_non_json_arguments_are_reported_verbatim() -> None:
    (call,) = _said({**_PARIS, "input": {INVALID_JSON: '{"location": "Par'}}).calls

    assert call.arguments == '{"location": "Par'


_BROKEN: list[tuple[Any, str]] = [
    ([], r"expected an object at answer, got list of 0 \[\]"),
    ({"hello": 1}, "expected a message"),
    ({"type": "error", "error": {"type": "api_error", "message": "Too warm"}}, "returned an error: 'Too warm'"),
    ({"content": 3}, r"expected a list at answer.content, got int 3"),
    ({"content": [3]}, r"expected an object at answer.content\[0\], got int 3"),
    ({"content": [{"type": "text"}]}, r"expected text at answer.content\[0\].text, got None"),
    ({"content": [{**_PARIS, "input": 3}]}, r"at answer.content\[0\].input, got int 3"),
    ({"content": [], "usage": 3}, "expected an object at answer.usage, got int 3"),
    (
        {"content": [], "usage": {"input_tokens": "many"}},
        "expected a number of tokens at answer.usage.input_tokens, got str 'many'",
    ),
    ({"content": [], "usage": {"output_tokens": -1}}, "at answer.usage.output_tokens, got int -1"),
    ({"content": [], "stop_reason": 3}, "expected text at answer.stop_reason, got int 3"),
    ({"content": [], "model": []}, r"at answer.model, got list of 0 \[\]"),
]


@pytest.mark.parametrize(("body", "complaint"), _BROKEN)
def test_malformed_answer_is_error_naming_the_position(body: _Json, complaint: str) -> None:
    with pytest.raises(ProviderError, match=complaint):
        answer(body, _prompt())
