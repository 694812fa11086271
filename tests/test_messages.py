"""What travels between a model and us."""

from dataclasses import FrozenInstanceError

import pytest

from ez_ptc.messages import Answer, TextMessage, ToolCall, ToolCallMessage, ToolResult, ToolResultMessage
from ez_ptc.results.robust_repr import robust_repr

_HUGE = 10**5000


def test_call_carries_arguments_as_dict_or_text() -> None:
    assert ToolCall("1", "find", {"q": "tea"}).arguments == {"q": "tea"}
    assert ToolCall("2", "find", '{"q": "tea"}').arguments == '{"q": "tea"}'


def test_messages_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        ToolCall("1", "find", {}).name = "other"  # pyright: ignore[reportAttributeAccessIssue] - that is what is tried


def test_results_of_equal_outcome_are_equal() -> None:
    """How long it took, and which exception object it was, does not count."""
    assert ToolResult(success=True, output=3, duration_ms=1.0) == ToolResult(success=True, output=3, duration_ms=9.0)
    assert ToolResult(success=False, error="no tea", exception=ValueError("no tea")) == ToolResult(
        success=False, error="no tea"
    )
    assert ToolResult(success=True, output=3) != ToolResult(success=True, output=4)


@pytest.mark.parametrize(
    "message",
    [
        ToolCall("1", "find", {"n": _HUGE}),
        ToolResult(success=True, output=[(_HUGE,), {_HUGE: {_HUGE}}]),
        ToolResult(success=False, exception=ValueError(_HUGE)),
        ToolCallMessage("find", "1", {"n": _HUGE}),
        ToolResultMessage("1", frozenset({-_HUGE})),
        Answer(messages=(ToolCallMessage("find", "1", {"n": _HUGE}),), details={"n": _HUGE}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_message_with_any_integers_can_be_printed(message: object) -> None:
    """Python writes out no integer of more than 4,300 digits, and raises ValueError instead."""
    assert str(message) == f"{message}"
    assert "integer of" in str(message) or isinstance(message, ToolResult)
    assert type(message).__name__ in repr(message)


def test_message_repr_is_its_source() -> None:
    call = ToolCall("1", "find", {"q": "tea"})
    assert eval(repr(call)) == call
    assert repr(TextMessage("Hello")) == "TextMessage(text='Hello', role=<MessageRole.USER: 'user'>)"


class Loud:
    def __repr__(self) -> str:
        raise KeyError(self.__class__)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, _HUGE]}, "{'a': [1, <an integer of 16610 bits>]}"),
        ((_HUGE,), "(<an integer of 16610 bits>,)"),
        ([Loud(), 1], "[<Loud>, 1]"),
        ({"a": 1}, "{'a': 1}"),
    ],
    ids=["dict", "tuple", "object", "plain"],
)
def test_only_unencodable_characters_are_replaced(value: object, text: str) -> None:
    assert robust_repr(value) == text
