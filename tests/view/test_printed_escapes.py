"""What `print` writes of results and messages moves no cursor, and opens no link."""

from __future__ import annotations

from ez_ptc import ExecutionResult, ToolCall, ToolResult, ToolResultMessage

HOSTILE = "\x1b]8;;http://evil\x07click\x1b]8;;\x07 \x1b[2J\x9b1A\rx\n\ty"


def test_printed_objects_show_terminal_escapes_as_text() -> None:
    for value in (
        ExecutionResult(output=HOSTILE, success=True),
        ExecutionResult(success=False, error=HOSTILE, error_output=HOSTILE),
        ToolCall("1", HOSTILE, {HOSTILE: HOSTILE}),
        ToolResult(success=True, output=HOSTILE),
        ToolResultMessage("1", HOSTILE, tool_name=HOSTILE),
    ):
        assert not set("\x1b\x07\x9b\r") & set(str(value)), value
        assert "http://evil" in str(value)
