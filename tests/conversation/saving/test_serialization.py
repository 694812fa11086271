import json
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.conversation.saving.serialization import entry_from_json, entry_to_json, from_json, to_json
from ez_ptc.messages import (
    CACHE_LIFETIMES,
    Answer,
    AudioMessage,
    DocumentMessage,
    Entry,
    ImageMessage,
    Message,
    MessageRole,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    Usage,
    VideoMessage,
)

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_objects = st.dictionaries(st.text(max_size=5), _json, max_size=3)
_roles = st.sampled_from(MessageRole)
_any_text = st.text(st.characters())  # half a surrogate pair among them
_media = [
    st.builds(kind, st.none() | st.binary(), st.none() | st.text(), st.text(), role=_roles)
    for kind in (ImageMessage, AudioMessage, VideoMessage, DocumentMessage)
]
_documents = st.builds(DocumentMessage, st.binary(), name=_any_text)
_parts = st.tuples(st.builds(TextMessage, _any_text), *_media, _documents)
_messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(TextMessage, _any_text, role=_roles, cache=st.sampled_from([False, True, *CACHE_LIFETIMES])),
    *_media,
    _documents,
    st.builds(ToolCallMessage, st.text(), st.text(), _objects | _any_text, role=_roles),
    st.builds(ToolResultMessage, st.text(), _json | _parts, tool_name=st.text(), success=st.booleans(), role=_roles),
)
_counts = st.integers(min_value=0)
_entries: st.SearchStrategy[list[Entry]] = st.lists(
    _messages
    | st.builds(
        Answer,
        messages=st.lists(_messages, max_size=3).map(tuple),
        stop_reason=st.text(),
        usage=st.builds(Usage, _counts, _counts, _counts, _counts),
        provider=st.text(),
        model=st.text(),
        content=_json,
        id=st.text(),
        details=_objects,
    ),
    max_size=5,
)

_ANSWER = Answer(
    messages=(TextMessage("Hello", role=MessageRole.ASSISTANT),), provider="anthropic", content=[{"type": "text"}]
)


@given(_entries)
def test_loaded_conversation_equals_saved_one(entries: list[Entry]) -> None:
    text = to_json(entries)
    assert from_json(text) == tuple(entries)
    assert text.isascii()
    assert to_json(from_json(text)) == text
    assert [entry_from_json(entry_to_json(entry)) for entry in entries] == entries


def test_it_is_json_with_a_version() -> None:
    assert json.loads(to_json([TextMessage("Hello")])) == {
        "version": 1,
        "entries": [{"type": "text", "role": "user", "text": "Hello"}],
    }


@dataclass
class _Weather:
    day: date
    temperatures: tuple[float, ...]


def test_tool_result_is_saved_as_json() -> None:
    result = ToolResultMessage("1", [_Weather(date(2026, 1, 2), (1.5, float("nan"))), b"\x00", {3: {4}}])
    (loaded,) = from_json(to_json([result]))
    assert isinstance(loaded, ToolResultMessage)
    assert loaded.result == [{"day": "2026-01-02", "temperatures": [1.5, "NaN"]}, "AA==", {"3": [4]}]
    assert from_json(to_json([loaded])) == (loaded,)


@dataclass(frozen=True)
class _Shout(Message):
    text: str
    role: MessageRole = MessageRole.USER  # pyright: ignore[reportIncompatibleMethodOverride] - a field


def test_unsavable_entry_names_reason() -> None:
    with pytest.raises(ValueError, match="cannot save a _Shout"):
        to_json([_Shout("!")])
    with pytest.raises(ValueError, match="cannot save a conversation's answer: it contains a value that JSON"):
        to_json([replace(_ANSWER, content={"a": object()})])
    with pytest.raises(ValueError, match="cannot save a conversation's tool_call: it contains a value"):
        to_json([ToolCallMessage("f", "1", {"x": float("nan")})])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected JSON, got Expecting value"),
        ("[" * 100_000, "expected JSON, got text nested more than 200 levels deep"),
        ("[]", "expected the text to be an object, got list of 0"),
        ("{}", "expected version 1, got None"),
        ('{"version": 2, "entries": []}', "expected version 1, got 2"),
        ('{"version": true, "entries": []}', "expected version 1, got True"),
        ('{"version": 1}', "expected the text.entries to be a list, got None"),
        ('{"version": 1, "entries": [5]}', r"expected the text.entries\[0\] to be an object, got int 5"),
        ('{"version": 1, "entries": [{"type": "song"}]}', "one of text, image, document.*, got str 'song'"),
    ],
)
def test_invalid_conversation_text_names_reason(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        from_json(text)


_CALL = ToolCallMessage("f", "1", {})


@pytest.mark.parametrize(
    ("entry", "key", "value"),
    [
        (TextMessage("a"), "text", 5),
        (TextMessage("a"), "text", None),
        (TextMessage("a"), "role", "king"),
        (TextMessage("a"), "cache", 1),
        (TextMessage("a", cache="1h"), "cache", "1 h"),
        (TextMessage("a", cache=True), "cache", []),
        (ImageMessage(b"a"), "data", "?"),
        (ImageMessage(b"a"), "data", "é"),
        (ImageMessage(b"a"), "url", 5),
        (DocumentMessage(b"a"), "name", None),
        (VideoMessage(b"a"), "media_type", 5),
        (AudioMessage(b"a"), "data", "?"),
        (ToolResultMessage("1", (ImageMessage(b"a"),)), "parts", {}),
        (ToolResultMessage("1", (ImageMessage(b"a"),)), "parts", [{"type": "image", "data": "?"}]),
        (
            ToolResultMessage("1", (ImageMessage(b"a"),)),
            "parts",
            [json.loads(entry_to_json(ToolResultMessage("1", 2)))],
        ),
        (_CALL, "arguments", []),
        (_CALL, "tool_call_id", 1),
        (ToolResultMessage("1", 2), "success", 1),
        (_ANSWER, "messages", {}),
        (_ANSWER, "messages", [{"type": "answer"}]),
        (_ANSWER, "usage", {"input_tokens": 1}),
        (_ANSWER, "usage", None),
        (_ANSWER, "details", []),
        (_ANSWER, "model", None),
    ],
)
def test_field_of_wrong_type_is_named(entry: Entry, key: str, value: object) -> None:
    body = cast("dict[str, Any]", json.loads(to_json([entry])))
    body["entries"][0][key] = value
    with pytest.raises(ValueError, match=rf"expected the text.entries\[0\].{key}.* to be .*, got "):
        from_json(json.dumps(body))
