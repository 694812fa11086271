"""Turns of a conversation in Responses: what is asked, what is answered, whole and in pieces."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ConnectionFailedError, ProviderError, RateLimitError
from ez_ptc.formats.describable import ToolShape
from ez_ptc.formats.openai_responses.messages import answer, request
from ez_ptc.formats.openai_responses.stream import AnswerStream
from ez_ptc.formats.prompt import Prompt, TextDelta
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
from tests.formats.openai_types import check_responses
from tests.providers.openai.replies import response, response_events

WEATHER = ToolShape(
    "météo du jour",
    "Tell the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
SENT_NAME = "meteo_du_jour"
OPENAI = "api.openai.com"
ELSEWHERE = "127.0.0.1"
HELLO = TextMessage("Hello")
SYSTEM = TextMessage("Be brief.", role=MessageRole.SYSTEM)
ENCRYPTED = "reasoning.encrypted_content"

Json = dict[str, Any]


def prompt(*entries: Entry, **fields: Any) -> Prompt:
    given: dict[str, Any] = {"model": "gpt-5.5", **fields}
    return Prompt(entries=entries or (HELLO,), **given)


def call(identifier: str = "call_1", arguments: str = '{"city": "Oslo"}', **fields: Any) -> Json:
    made = {"type": "function_call", "id": f"fc_{identifier}", "call_id": identifier, "status": "completed"}
    return {**made, "name": SENT_NAME, "arguments": arguments, **fields}


def reasoning(encrypted: str | None = "gAAA") -> Json:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted}


def answered(*items: Json | str, server: str = OPENAI, **fields: Any) -> Answer:
    return answer(response(*items, **fields), prompt(tools=(WEATHER,)), server=server)


def input_of(*entries: Entry, server: str = OPENAI) -> list[Json]:
    body = request(prompt(*entries, tools=(WEATHER,)), server=server)
    check_responses(body)
    return body["input"]


# What is asked --------------------------------------------------------------------------------------------------------


def test_nothing_is_stored_and_reasoning_is_encrypted() -> None:
    body = request(prompt())
    assert body == {
        "model": "gpt-5.5",
        "input": [{"role": "user", "content": "Hello"}],
        "store": False,
        "include": [ENCRYPTED],
    }


@pytest.mark.parametrize(
    ("model", "reasons"),
    [
        ("gpt-5.5", True),
        ("gpt-6.2-sol", True),
        ("gpt-10", True),
        ("o4-mini", True),
        ("codex-mini-latest", True),
        ("gpt-4o", False),
        ("gpt-4.1", False),
        ("ft:gpt-4o:mine", False),
        ("gpt-5.2-chat-latest", False),
        ("llama", False),
    ],
)
def test_only_models_that_reason_are_asked_for_their_reasoning(model: str, reasons: bool) -> None:
    assert ("include" in request(prompt(model=model))) is reasons


def test_storing_can_be_requested() -> None:
    body = request(prompt(options={"store": True}))
    assert body["store"] is True
    assert "include" not in body
    more = request(prompt(options={"include": ["file_search_call.results", ENCRYPTED]}))
    assert more["include"] == [ENCRYPTED, "file_search_call.results"]


def test_first_system_text_is_instruction_later_stays_in_place() -> None:
    late = TextMessage("In French.", role=MessageRole.SYSTEM)
    said = TextMessage("Yes?", role=MessageRole.ASSISTANT)
    body = request(prompt(SYSTEM, SYSTEM, HELLO, said, late, TextMessage("Bye")))
    check_responses(body)
    assert body["instructions"] == "Be brief.\n\nBe brief."
    assert [item["role"] for item in body["input"]] == ["user", "assistant", "system", "user"]


def test_images_share_a_message_with_their_text() -> None:
    images = (ImageMessage(b"GIF8", media_type="image/gif"), ImageMessage(url="https://example.org/a.png"))
    [message] = input_of(TextMessage("What is it?"), *images)
    assert message["content"] == [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": "data:image/gif;base64,R0lGOA==", "detail": "auto"},
        {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        (WEATHER.name, {"type": "function", "name": SENT_NAME}),
    ],
)
def test_the_tools_go_along_and_which_to_call(choice: str, sent: object) -> None:
    hosted = {"type": "web_search"}
    asked = prompt(tools=(WEATHER,), tool_choice=choice, strict=True, options={"tools": [hosted]})
    body = request(asked)
    check_responses(body)
    assert body["tools"][0]["name"] == SENT_NAME
    assert body["tools"][0]["strict"] is True
    assert body["tools"][1] == hosted
    assert body.get("tool_choice") == sent


def test_limits_and_the_form_of_the_answer_go_along() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    asked = prompt(max_tokens=50, temperature=0, output_schema=schema, options={"text": {"verbosity": "low"}})
    body = request(asked)
    check_responses(body)
    assert (body["max_output_tokens"], body["temperature"]) == (50, 0)
    assert body["text"]["verbosity"] == "low"
    assert body["text"]["format"]["type"] == "json_schema"
    assert body["text"]["format"]["strict"] is True
    assert body["text"]["format"]["schema"]["required"] == ["n"]


def test_invalid_conversation_is_refused_before_sending() -> None:
    with pytest.raises(ProviderError, match="would refuse this conversation"):
        request(prompt(HELLO, ToolResultMessage("call_1", "x")))
    with pytest.raises(ProviderError, match="does not accept ImageMessage from the assistant"):
        request(prompt(HELLO, ImageMessage(b"GIF8", role=MessageRole.ASSISTANT)))


# What is answered -----------------------------------------------------------------------------------------------------


def test_answer_has_its_text_and_usage() -> None:
    got = answered("Hi.")
    assert (got.text, got.stop_reason, got.provider, got.model, got.id) == ("Hi.", "end", "openai", "model-1", "resp_1")
    assert got.usage == Usage(input_tokens=12, output_tokens=3, cached_tokens=4, reasoning_tokens=1)


def test_all_items_return_unchanged_before_their_results() -> None:
    items: list[Json] = [
        reasoning(),
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        call(),
        call("call_2", arguments=""),
    ]
    got = answered(*items)
    assert [type(each) for each in got.messages] == [TextMessage, ToolCallMessage, ToolCallMessage]
    assert [each.name for each in got.calls] == [WEATHER.name] * 2
    results = (ToolResultMessage("call_1", {"sky": "blue"}), ToolResultMessage("call_2", "no", success=False))
    _, *sent = input_of(HELLO, got, *results)
    assert sent == [
        *items[:4],
        call("call_2", arguments="{}"),
        {"type": "function_call_output", "call_id": "call_1", "output": '{"sky":"blue"}'},
        {"type": "function_call_output", "call_id": "call_2", "output": "no"},
    ]


def test_call_from_provider_program_is_answered_to_it() -> None:
    caller = {"type": "program", "caller_id": "prog_1"}
    program = {"type": "program", "id": "p_1", "call_id": "prog_1", "code": "…", "fingerprint": "f"}
    got = answered(program, call(caller=caller))
    *_, output = input_of(HELLO, got, ToolResultMessage("call_1", "sunny"))
    assert output["caller"] == caller
    assert [each.name for each in got.calls] == [WEATHER.name]


def test_lost_reasoning_is_not_sent_nor_dependent_ids() -> None:
    result = ToolResultMessage("call_1", "sunny")
    lost = answered(reasoning(None), call())
    _, sent, _ = input_of(HELLO, lost, result)
    assert sent == {key: value for key, value in call().items() if key != "id"}
    kept = answered(reasoning(None), call(), store=True)
    assert [item.get("id") for item in input_of(HELLO, kept, result)] == [None, "rs_1", "fc_call_1", None]
    local = answered(reasoning(None), call(), server=ELSEWHERE)
    assert input_of(HELLO, local, result, server=ELSEWHERE)[1] == reasoning(None)


def test_reasoning_that_nothing_came_of_is_not_sent_back() -> None:
    cut: Json = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert input_of(HELLO, answered(reasoning(), **cut), HELLO) == input_of(HELLO, HELLO)
    result = ToolResultMessage("call_1", "sunny")
    sent = input_of(HELLO, answered(reasoning(), call(), reasoning(), **cut), result)
    assert [item.get("type") for item in sent] == [None, "reasoning", "function_call", "function_call_output"]
    local = answered(reasoning(), server=ELSEWHERE)
    assert reasoning() in input_of(HELLO, local, HELLO, server=ELSEWHERE)


def test_message_with_lost_reasoning_is_sent_as_text() -> None:
    parts: list[Json] = [{"type": "output_text", "text": "I look. "}, {"type": "refusal", "refusal": "No."}]
    said: Json = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": parts}
    commented = {**said, "phase": "commentary"}
    _, one, two = input_of(HELLO, answered(reasoning(None), said, commented))
    assert one == {"role": "assistant", "content": "I look. No."}
    assert two == {**one, "phase": "commentary"}


def test_answer_of_another_provider_or_server_is_rebuilt() -> None:
    said = (
        TextMessage("I look.", role=MessageRole.ASSISTANT),
        ToolCallMessage(WEATHER.name, "toolu_" + "x" * 80, {"city": "Ålesund"}),
    )
    foreign = Answer(messages=said, provider="anthropic", content=[{"type": "thinking"}])
    _, text, made, told = input_of(HELLO, foreign, ToolResultMessage("toolu_" + "x" * 80, "sunny"))
    assert text == {"role": "assistant", "content": "I look."}
    assert made["call_id"] == told["call_id"]
    assert len(made["call_id"]) <= 64
    assert json.loads(made["arguments"]) == {"city": "Ålesund"}
    local = answered(reasoning(), "Hi", server=ELSEWHERE)
    assert input_of(HELLO, local, HELLO)[1] == {"role": "assistant", "content": "Hi"}


REFUSED: Json = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}


@pytest.mark.parametrize(
    ("items", "fields", "reason"),
    [
        (["Hi"], {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        (["Hi"], {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refusal"),
        (["Hi"], {"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "steered"),
        (["Hi"], {"status": "incomplete"}, "incomplete"),
        (["Hi"], {"status": None}, "end"),
        ([REFUSED], {}, "refusal"),
        ([reasoning(), call()], {}, "tool_calls"),
    ],
)
def test_why_it_stopped_has_one_word_for_all_providers(items: list[Any], fields: Json, reason: str) -> None:
    assert answered(*items, **fields).stop_reason == reason


def test_a_refusal_can_be_read() -> None:
    assert answered(REFUSED).text == "No."


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({}, "no output"),
        ({"output": None}, "no output"),
        ({"output": "x"}, "no output"),
        ({"output": [3]}, r"answer.output\[0\]"),
        (response({"type": "message", "content": [3]}), r"content\[0\]"),
        (response(status="queued"), "not finished, its status is 'queued'"),
        (response(status="failed", error={"code": "server_error", "message": "broke down"}), "broke down"),
    ],
)
def test_invalid_answer_names_the_problem(body: Json, complaint: str) -> None:
    with pytest.raises(ProviderError, match=complaint):
        answer(body, prompt())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "text", "reason", "x"]), inner),
    max_leaves=8,
)
KINDS = st.sampled_from(["message", "function_call", "reasoning", "refusal", "output_text", "response.completed"])
FIELDS = dict.fromkeys(("content", "call_id", "name", "arguments", "id", "caller", "encrypted_content"), JSON)
ITEMS = st.fixed_dictionaries({}, optional={"type": KINDS | JSON, **FIELDS})


@given(items=st.lists(ITEMS, max_size=3), status=JSON, details=JSON)
def test_any_response_is_answer_or_providers_error(items: list[Json], status: object, details: object) -> None:
    body: Json = {"output": items, "status": status, "incomplete_details": details, "usage": details, "id": status}
    try:
        got = answer(body, prompt())
        results = [ToolResultMessage(each.id, "ok") for each in got.calls]
        sent = request(prompt(HELLO, got, *results, HELLO))
    except ProviderError:
        return
    assert sent["input"][-1] == {"role": "user", "content": "Hello"}


def test_calls_with_equal_ids_are_distinguished() -> None:
    got = answered(call(), call())
    results = [ToolResultMessage(each.id, str(number)) for number, each in enumerate(got.calls)]
    sent = request(prompt(HELLO, got, *results))["input"]
    asked = [item["call_id"] for item in sent if item.get("type") == "function_call"]
    given = {item["call_id"]: item["output"] for item in sent if item.get("type") == "function_call_output"}
    assert [given[each] for each in asked] == ["0", "1"]


# In pieces ------------------------------------------------------------------------------------------------------------


def streamed(events: list[Any]) -> tuple[Answer, str]:
    stream = AnswerStream(prompt(tools=(WEATHER,)))
    said = [delta.text for event in events for delta in stream.feed(event)]
    return stream.answer(), "".join(said)


def test_deltas_make_the_whole_answer() -> None:
    items: list[Json | str] = [reasoning(), "I look at it.", call()]
    got, said = streamed(response_events(*items))
    assert got == answered(*items)
    assert said == got.text == "I look at it."


def test_truncated_answer_is_reported() -> None:
    got, _ = streamed(response_events("I", status="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert got.stop_reason == "length"


def test_final_event_without_earlier_items_is_understood() -> None:
    events = response_events(reasoning(), "Hi", call())
    events[-1] = {"type": "response.completed", "response": response()}
    assert streamed(events)[0] == answered(reasoning(), "Hi", call())


def test_refusal_is_streamed() -> None:
    deltas = [{"type": "response.refusal.delta", "delta": "No"}, {"type": "response.refusal.delta", "delta": "."}]
    got, said = streamed([*deltas, {"type": "response.completed", "response": response(REFUSED)}])
    assert got.text == said == "No."


def test_errors_in_a_stream_are_errors() -> None:
    with pytest.raises(RateLimitError, match="slow down"):
        streamed([{"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}])
    failed = response(status="failed", error={"code": "server_error", "message": "broke down"})
    with pytest.raises(ProviderError, match="broke down"):
        streamed([{"type": "response.failed", "response": failed}])


def test_stream_without_its_end_is_an_error() -> None:
    stream = AnswerStream(prompt())
    assert stream.feed({"type": "response.output_text.delta", "delta": "Hi"}) == [TextDelta("Hi")]
    with pytest.raises(ConnectionFailedError, match="ended before the answer was complete"):
        stream.answer()


EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["response.output_item.done", "response.completed", "response.output_text.delta", "x"])},
    optional={"item": ITEMS | JSON, "output_index": JSON, "delta": JSON, "response": JSON},
)


@given(events=st.lists(EVENTS, max_size=5))
def test_any_chunks_are_answer_or_provider_error(events: list[Json]) -> None:
    try:
        got, _ = streamed(events)
    except ProviderError:
        return
    assert got.provider == "openai"
