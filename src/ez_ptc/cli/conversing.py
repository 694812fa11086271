"""What chats and single questions share: their events as lines, and approvals on the terminal."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.cli.calls import call_text
from ez_ptc.cli.terminal import printable, printable_lines
from ez_ptc.messages import PendingCall, TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.sandbox.protocol.events import CallStarted
from ez_ptc.schema.arguments.json_text import arguments_or_text
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.prompting.effects import REPEATABLE
from ez_ptc.tools.approvals.questions import name_text, write_question

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.conversation.loop.run import StreamEvent

__all__ = ["arguments_of", "event_text", "read_approval"]

_MAX_RESULT: Final = 100
_APPROVAL_PROMPT: Final = "  ? [y/N, or a reason for refusal; ? shows everything] "
# The lines of an approval besides the question: an empty one, the prompt, and the one after the answer.
_OTHER_LINES: Final = 3


def event_text(event: StreamEvent) -> str:
    """Return a call, a result or a report as lines of the terminal, or "" for any other event."""
    if isinstance(event, ToolCallMessage):
        arguments = arguments_of(event)
        if isinstance(program := arguments.get("code"), str) and len(arguments) == 1:
            lines = [f"    {printable_lines(line)}" for line in program.strip().splitlines()]
            described = "\n".join([f"{name_text(event.call.name)}:", *lines])
        else:
            described = call_text({"name": event.call.name, "args": (), "kwargs": arguments})
        return f"\n  → {described}\n"
    if isinstance(event, ToolResultMessage):
        return f"  {'=' if event.success else '!'} {_one_line(event.result)}\n"
    if isinstance(event, TextMessage):
        return f"\n  = {_one_line(event.text)}\n"
    if isinstance(event, CallStarted):
        return f"    · {call_text({'name': event.tool, 'args': event.args, 'kwargs': event.kwargs})}\n"
    return ""


def arguments_of(event: ToolCallMessage) -> dict[str, Any]:
    """Return a call's arguments as a dict, whatever the model sent."""
    arguments = arguments_or_text(event.arguments)
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


def read_approval(call: PendingCall, ask: Callable[[str], str]) -> bool | str:
    """Ask a person about a call, below everything else they need to see, and return the decision.

    `ask` shows a question and returns the line that answers it. "?" shows all of a question that does not fit.
    """
    shown, answer = "\n", "?"
    while answer == "?":
        columns, lines = shutil.get_terminal_size()
        question = write_question(call, columns=columns, lines=lines - _OTHER_LINES)
        try:
            answer = ask(f"{shown}{question}\n{_APPROVAL_PROMPT}").strip()
        except EOFError:
            return False
        if answer == "?":
            shown = f"{write_question(call, columns=columns, lines=None)}\n\n"
    if answer.lower() in ("y", "yes"):
        return True
    if answer.lower() in ("", "n", "no"):
        return False
    return answer


def _one_line(value: object) -> str:
    text = value if isinstance(value, str) else safe_repr(value)
    if text.startswith(REPEATABLE):  # a person wants to know what went wrong
        text = text[max(text.find("ERROR: "), 0) :]
    text = printable(" ".join(text.split()))
    if len(text) <= _MAX_RESULT:
        return text
    return f"{text[: _MAX_RESULT - 1]}…"
