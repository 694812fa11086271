"""Whatever a provider sends, or somebody wrote into a saved conversation, is taken as right or refused by our error."""

import json
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.conversation.saving.serialization import entry_from_json, entry_to_json, from_json, to_json
from ez_ptc.errors import HistoryError, ProviderError
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Entry, ImageMessage, TextMessage, ToolResultMessage
from tests.formats.all_formats.provider_bodies import FORMATS, JUNK, NOT_JSON, PROMPT, Form, mutations, send_money

_MAX_MESSAGE = 2000

every_format = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
PARTS = 6
in_parts = pytest.mark.parametrize("part", range(PARTS))


def _check_message(error: Exception) -> None:
    text = str(error)
    text.encode()
    assert text.isprintable()
    assert len(text) <= _MAX_MESSAGE


def _requested(form: Form, *entries: Entry) -> None:
    """Check that a conversation makes a request that can be sent, or is refused."""
    try:
        body = form.request(Prompt(model="m", entries=entries))
    except ProviderError as error:
        _check_message(error)
        return
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def _taken(make: Callable[[], Answer], form: Form) -> bool:
    """Check that an answer is refused, or can be told, saved, loaded, and sent back with what follows it."""
    try:
        answer = make()
    except ProviderError as error:
        _check_message(error)
        return False
    for text in (answer.text, answer.id, answer.model, answer.stop_reason, *(call.id for call in answer.calls)):
        text.encode()
    assert entry_from_json(entry_to_json(answer)) == answer
    results = [ToolResultMessage(call.id, "ok", tool_name=call.name) for call in answer.calls]
    _requested(form, *PROMPT.entries, answer, *results)
    _requested(form, *PROMPT.entries, answer, *results, TextMessage("Go on."))
    return True


@every_format
def test_generated_answers_are_valid(form: Form) -> None:
    whole = form.answer(form.body, PROMPT)
    streamed, told = form.streamed(form.events)
    assert whole.text == streamed.text == told == "I pay."
    for answer in (whole, streamed):
        (call,) = answer.calls
        assert send_money.call(call.arguments) == "5 to Ada"
        assert _taken(lambda answer=answer: answer, form)


@every_format
@in_parts
@pytest.mark.sampled(every=PARTS)
def test_any_one_thing_in_an_answer_may_be_wrong(form: Form, part: int) -> None:
    bodies = [*mutations(form.body)][part::PARTS]
    taken = [_taken(lambda body=body: form.answer(body, PROMPT), form) for body in bodies]
    assert 0 < sum(taken) < len(taken)


@every_format
@in_parts
@pytest.mark.sampled(every=PARTS)
def test_any_one_thing_in_a_stream_may_be_wrong(form: Form, part: int) -> None:
    taken = [
        _taken(lambda events=events: form.streamed(events)[0], form)
        for at, event in enumerate(form.events)
        for wrong in [*mutations(event)][part::PARTS]
        for events in [[*form.events[:at], wrong, *form.events[at + 1 :]]]
    ]
    assert 0 < sum(taken) < len(taken)


@every_format
def test_a_stream_may_lose_repeat_or_swap_events(form: Form) -> None:
    events = [*form.events]
    for at in range(len(events)):
        for wrong in ([*events[:at], *events[at + 1 :]], [*events[:at], events[at], *events[at:]], events[:at]):
            _taken(lambda wrong=wrong: form.streamed(wrong)[0], form)
        for other in range(at):
            swapped = [*events]
            swapped[at], swapped[other] = events[other], events[at]
            _taken(lambda swapped=swapped: form.streamed(swapped)[0], form)


@every_format
@given(data=st.data())
def test_answer_or_stream_with_several_faults_is_handled(form: Form, data: st.DataObject) -> None:
    body: Any = form.body
    events: Any = list(form.events)
    for _ in range(data.draw(st.integers(1, 4))):
        body = _mutated(body, data)
        events = _mutated(events, data)
    _taken(lambda: form.answer(body, PROMPT), form)
    if isinstance(events, list):
        _taken(lambda: form.streamed(cast("list[Any]", events))[0], form)


def _mutated(value: object, data: st.DataObject) -> object:
    """Return a value with junk somewhere in it."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        fields = cast("dict[str, object]", value)
        key = data.draw(st.sampled_from([*fields]))
        return {**fields, key: _mutated(fields[key], data)}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        items = [*cast("list[object]", value)]
        at = data.draw(st.integers(0, len(items) - 1))
        items[at] = _mutated(items[at], data)
        return items
    return data.draw(st.sampled_from((*JUNK, *NOT_JSON)))


_TEXT_EVENTS: dict[str, Callable[[str], Any]] = {
    "anthropic": lambda text: {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    },
    "openai-chat": lambda text: {"choices": [{"index": 0, "delta": {"content": text}}]},
    "mistral": lambda text: {"choices": [{"index": 0, "delta": {"content": text}}]},
    "openai-responses": lambda text: {"type": "response.output_text.delta", "delta": text},
    "gemini": lambda text: {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]},
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("halves", "whole"),
    [
        (("\ud83d", "\ude00"), "\U0001f600"),
        (("\ud83d", "", "\ude00"), "\U0001f600"),
        (("\ud83d",), "\N{REPLACEMENT CHARACTER}"),
        (("\ude00", "\ud83d"), "\N{REPLACEMENT CHARACTER}" * 2),
    ],
)
def test_a_character_that_is_split_over_deltas_is_whole(name: str, halves: tuple[str, ...], whole: str) -> None:
    form = FORMATS[name]
    at = next(number for number, event in enumerate(form.events) if "pay." in json.dumps(event))
    if name == "anthropic":
        at += 1  # after the piece that it follows
    events = [*form.events[:at], *map(_TEXT_EVENTS[name], halves), *form.events[at:]]
    answer, told = form.streamed(events)
    told.encode()
    assert whole in told
    if name != "openai-responses":  # its last event has the whole text again
        assert whole in answer.text
    assert _taken(lambda: answer, form)


# Saved conversations --------------------------------------------------------------------------------------------------


def _conversation(form: Form) -> list[Entry]:
    answer = form.answer(form.body, PROMPT)
    results = [ToolResultMessage(call.id, {"paid": 5}, tool_name=call.name) for call in answer.calls]
    return [*PROMPT.entries, ImageMessage(b"GIF8"), answer, *results]


def _written(value: object) -> str | None:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):  # what Python has no text for, a file may have all the same
        return None


@every_format
@in_parts
@pytest.mark.sampled(every=PARTS)
def test_saved_conversation_with_one_fault_is_handled(form: Form, part: int) -> None:
    saved = json.loads(to_json(_conversation(form)))
    loaded = 0
    for wrong in [*mutations(saved, JUNK)][part::PARTS]:
        text = _written(wrong)
        if text is None:
            continue
        try:
            entries = from_json(text)
        except HistoryError as error:
            _check_message(error)
            continue
        loaded += 1
        _requested(form, *entries)
        _requested(form, *entries, TextMessage("Go on."))
    assert loaded


@every_format
def test_a_saved_conversation_of_one_provider_may_be_anothers(form: Form) -> None:
    saved = json.loads(to_json(_conversation(form)))
    for other in FORMATS.values():
        for provider in ("anthropic", "openai", "openai-chat", "gemini", "mistral", ""):
            saved["entries"][2]["provider"] = provider
            try:
                entries = from_json(json.dumps(saved))
            except HistoryError:
                continue
            _requested(other, *entries, TextMessage("Go on."))


@pytest.mark.parametrize(
    "junk",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "[" * 300 + "]" * 300,
        "1" * 5000,
        "-" + "1" * 5000,
        "NaN",
        "-Infinity",
        "1e999",
    ],
)
@pytest.mark.parametrize("key", ["content", "details", "usage", "messages", "id"])
def test_unwritable_python_values_in_files_are_handled(junk: str, key: str) -> None:
    answer = json.loads(entry_to_json(Answer(messages=(), provider="anthropic")))
    text = json.dumps({**answer, key: "HOLE"}).replace('"HOLE"', junk)
    with pytest.raises(HistoryError) as caught:
        entry_from_json(text)
    _check_message(caught.value)
    with pytest.raises(HistoryError):
        from_json(f'{{"version":1,"entries":[{text}]}}')


@pytest.mark.parametrize(
    ("provider", "content", "complaint"),
    [
        ("anthropic", ["x"], r"the entry\.content\[0\] to be an object, got str 'x'"),
        ("anthropic", {"a": 1}, r"the entry\.content to be a list, got dict"),
        ("openai", [None], r"the entry\.content\[0\] to be an object, got None"),
        ("openai-chat", [], r"the entry\.content to be an object, got list"),
        ("gemini", "x", r"the entry\.content to be an object, got str 'x'"),
    ],
)
def test_content_of_unknown_shape_is_not_loaded(provider: str, content: object, complaint: str) -> None:
    text = entry_to_json(Answer(messages=(), provider=provider, content=content))
    with pytest.raises(HistoryError, match=complaint):
        entry_from_json(text)


def test_unloadable_content_is_not_saved() -> None:
    for junk in (*JUNK, {1: 2}, object()):
        answer = Answer(messages=(), content=junk)
        try:
            text = entry_to_json(answer)
        except HistoryError as error:
            _check_message(error)
            continue
        assert entry_from_json(text) == answer


def test_long_integers_are_saved_up_to_10_000_bits() -> None:
    answer = Answer(messages=(), content={"a": (1 << 10_000) - 1})
    assert entry_from_json(entry_to_json(answer)) == answer
    with pytest.raises(HistoryError, match="10001 bits"):
        entry_to_json(Answer(messages=(), content={"a": 1 << 10_000}))


def test_a_lowered_limit_of_digits_is_a_history_error() -> None:
    answer = Answer(messages=(), content={"a": 1 << 9_000})
    saved = entry_to_json(answer)
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        with pytest.raises(HistoryError, match="640 digits"):
            entry_to_json(answer)
        with pytest.raises(HistoryError, match="640 digits"):
            entry_from_json(saved)
    finally:
        sys.set_int_max_str_digits(before)


# Answers that somebody made -------------------------------------------------------------------------------------------


@every_format
def test_an_answer_made_by_hand_may_have_any_content(form: Form) -> None:
    said = form.answer(form.body, PROMPT)
    results = [ToolResultMessage(call.id, "ok", tool_name=call.name) for call in said.calls]
    for content in [
        content
        for junk in JUNK
        for content in (junk, [junk], {"parts": junk, "tool_calls": junk, "content": junk, "function_call": junk})
    ]:
        made = Answer(messages=said.messages, provider=said.provider, content=content, details=said.details)
        _requested(form, *PROMPT.entries, made, *results, TextMessage("Go on."))


@every_format
def test_calls_that_were_edited_away_are_not_sent_back(form: Form) -> None:
    """A call that stands in the provider's own JSON only has no result, and would be refused."""
    said = form.answer(form.body, PROMPT)
    text = tuple(message for message in said.messages if isinstance(message, TextMessage))
    edited = Answer(messages=text, provider=said.provider, content=said.content, details=said.details)
    body = form.request(Prompt(model="m", entries=(*PROMPT.entries, edited, TextMessage("Go on."))))
    assert "send_money" not in json.dumps(body)
    assert "I pay." in json.dumps(body)
