"""What travels between a model and us."""

from dataclasses import FrozenInstanceError

import pytest

from ez_ptc.messages import ToolCall, ToolResult


def test_a_call_carries_arguments_as_a_dict_or_as_text() -> None:
    assert ToolCall("1", "find", {"q": "tea"}).arguments == {"q": "tea"}
    assert ToolCall("2", "find", '{"q": "tea"}').arguments == '{"q": "tea"}'


def test_messages_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        ToolCall("1", "find", {}).name = "other"  # pyright: ignore[reportAttributeAccessIssue] - that is what is tried


def test_results_are_equal_when_the_call_ended_alike() -> None:
    """How long it took, and which exception object it was, does not count."""
    assert ToolResult(success=True, output=3, duration_ms=1.0) == ToolResult(success=True, output=3, duration_ms=9.0)
    assert ToolResult(success=False, error="no tea", exception=ValueError("no tea")) == ToolResult(
        success=False, error="no tea"
    )
    assert ToolResult(success=True, output=3) != ToolResult(success=True, output=4)
