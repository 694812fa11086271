"""The order of a conversation that every provider requires: each call is answered at once, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, TypeGuard

from ez_ptc.errors import ProviderError
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ez_ptc.messages import Entry

__all__ = [
    "PREVIOUS",
    "check_order",
    "is_system_text",
    "refuse_late_instructions",
    "refuse_previous_response",
    "refuse_tool_choice",
    "split_instructions",
]

# The option for OpenAI's Responses to continue from a stored answer.
PREVIOUS: Final = "previous_response_id"


def check_order(entries: Iterable[Entry]) -> None:
    """Check that providers accept the order of a conversation. Raises ProviderError with the problem and its position.

    Anthropic documents it for Messages: all results of a turn are in the message directly after it, before any text,
    and each names a call of that turn. OpenAI and Gemini require the same.
    """
    waiting: dict[str, str] = {}
    is_asked = False
    # Each request has the whole conversation, so nothing is made for an entry that is in order.
    for number, entry in enumerate(entries):
        if isinstance(entry, ToolResultMessage):
            if waiting.pop(entry.tool_call_id, None) is None:
                called = safe_repr(entry.tool_call_id)
                _refuse(f"entry {number} is the result of a call {called} that the answer before does not ask for")
            continue
        if waiting:
            _refuse(f"entry {number} comes before the results of {_list_calls(waiting)}")
        if isinstance(entry, Answer):
            waiting = _calls_by_id(entry, number)
        elif isinstance(entry, ToolCallMessage):
            advice = "continue with the entries of a conversation, not its messages, or put it into an Answer"
            _refuse(f"entry {number} is a call by itself: {advice}")
        elif not is_asked:
            is_asked = entry.role is MessageRole.USER
    if waiting:
        _refuse(f"it ends before the results of {_list_calls(waiting)}")
    if not is_asked:
        _refuse("it has no user message: add one, as in .prompt_conversation('...')")


def _calls_by_id(answer: Answer, number: int) -> dict[str, str]:
    """Return the names of an answer's tools by the ids of its calls. Raises ProviderError for two calls of one id."""
    calls = [message for message in answer.messages if isinstance(message, ToolCallMessage)]
    names = {call.tool_call_id: call.tool_name for call in calls}
    if len(names) < len(calls):
        _refuse(f"entry {number} has two calls of one id")
    return names


def is_system_text(entry: Entry) -> TypeGuard[TextMessage]:
    """Return whether an entry is a system text."""
    return isinstance(entry, TextMessage) and entry.role is MessageRole.SYSTEM


def split_instructions(entries: Sequence[Entry]) -> tuple[list[TextMessage], list[Entry]]:
    """Return the system texts before the model's first answer, and all other entries in order.

    These are the instructions, which most providers take outside the conversation. A later system text has its position
    in the conversation, on which its meaning depends; empty texts are dropped.
    """
    instructions: list[TextMessage] = []
    rest: list[Entry] = []
    has_spoken = False
    for entry in entries:
        has_spoken = has_spoken or isinstance(entry, Answer) or entry.role is MessageRole.ASSISTANT
        if is_system_text(entry):
            if not has_spoken:
                instructions.append(entry)
            elif entry.text.strip():
                rest.append(entry)
        else:
            rest.append(entry)
    return instructions, rest


def refuse_late_instructions(provider: str) -> NoReturn:
    """Raise ProviderError for a system text after the model's first answer, which the provider does not accept."""
    message = (
        f"{provider} does not take a system message after its model has spoken: say it with .request(...), or choose "
        f"another provider"
    )
    raise ProviderError(message)


def refuse_tool_choice(choice: str, tools: Iterable[str]) -> NoReturn:
    """Raise ProviderError for a `tool_choice` that is neither a mode nor one of the tools."""
    expected = ", ".join(("'auto'", "'none'", "'required'", *map(safe_repr, tools)))
    message = f"unknown tool_choice {safe_repr(choice)}; expected one of {expected}"
    raise ProviderError(message)


def refuse_previous_response(provider: str, options: Mapping[str, object]) -> None:
    """Raise ProviderError if options name a stored answer to continue, for a provider that stores none."""
    if options.get(PREVIOUS):
        message = (
            f"{provider} does not take {PREVIOUS}, for it stores no answers: leave it out, and each request has the "
            f"whole conversation, or choose the provider 'openai'"
        )
        raise ProviderError(message)


def _list_calls(waiting: dict[str, str]) -> str:
    return ", ".join(map(safe_repr, waiting.values()))


def _refuse(problem: str) -> NoReturn:
    message = f"a provider would refuse this conversation: {problem}"
    raise ProviderError(message)
