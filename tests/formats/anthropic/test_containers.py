"""What goes back to Anthropic with the next question: a living container, and no unsigned thinking."""

from typing import Any

import pytest

from ez_ptc.formats.anthropic.messages import answer, request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Entry, TextMessage, ToolResultMessage

EXECUTION = {"type": "code_execution_20260120", "name": "code_execution"}


def said(*blocks: dict[str, Any], **fields: object) -> Answer:
    return answer({"content": [*blocks], "stop_reason": "end_turn", **fields}, Prompt(model="m", entries=()))


def sent(*entries: Entry, **options: object) -> dict[str, Any]:
    return request(Prompt(model="m", entries=entries, options=options))


@pytest.mark.parametrize(
    ("expires_at", "tools", "container"),
    [
        ("9999-01-01T00:00:00Z", [EXECUTION], "c"),
        ("9999-01-01T00:00:00+00:00", [EXECUTION], "c"),
        ("2026-01-01T00:00:00Z", [EXECUTION], None),
        ("9999-01-01T00:00:00", [EXECUTION], None),
        ("soon", [EXECUTION], None),
        (None, [EXECUTION], None),
        ("9999-01-01T00:00:00Z", [], None),
    ],
)
def test_next_question_goes_to_a_container_that_lives(expires_at: object, tools: list[Any], container: object) -> None:
    done = said({"type": "text", "text": "Done."}, container={"id": "c", "expires_at": expires_at})
    entries = (TextMessage("Hello"), done, TextMessage("And?"))
    assert sent(*entries, tools=tools).get("container") == container
    entries = (*entries, said({"type": "text", "text": "Well."}), TextMessage("And now?"))
    assert sent(*entries, tools=tools).get("container") == container
    if container is not None:
        skills = {"skills": [{"type": "anthropic", "skill_id": "xlsx"}]}
        assert sent(*entries, tools=tools, container=skills)["container"] == {"id": "c", **skills}
        assert sent(*entries, tools=tools, container="other")["container"] == "other"


def test_unsigned_thinking_is_not_sent_back() -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    thoughts = [{"type": "thinking", "thinking": "Hm.", "signature": signature} for signature in ("", None, "s")]
    asked = (TextMessage("Hello"), said({"type": "thinking", "thinking": "Hm."}, *thoughts, call))
    assert sent(*asked, ToolResultMessage("a", "ok"))["messages"][1]["content"] == [thoughts[2], call]
