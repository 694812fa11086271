"""`ez-ptc ask`: one question, answered with the user's tools."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from ez_ptc.cli.conversing import arguments_of, event_text, read_approval
from ez_ptc.cli.pending import PAUSED
from ez_ptc.cli.questions import TerminalQuestions
from ez_ptc.cli.run import CommandError, json_text, load_toolkit
from ez_ptc.cli.terminal import printable_lines, write
from ez_ptc.formats.content import as_json
from ez_ptc.messages import Answer, ToolCallMessage, ToolResultMessage
from ez_ptc.sandbox.protocol.events import CallEnded, CallStarted
from ez_ptc.tools.decisions import Deny

if TYPE_CHECKING:
    from ez_ptc.cli.models import ModelOptions
    from ez_ptc.conversation.builder import LLMPromptBuilder
    from ez_ptc.conversation.loop.run import StreamEvent
    from ez_ptc.messages import PendingCall
    from ez_ptc.toolkit.toolkit import Toolkit

__all__ = ["ask_question"]

_NO_ANSWER: Final = 1
_NO_TERMINAL: Final = "there is no terminal on which a person could be asked"


def ask_question(
    question: str, tools: str, model: ModelOptions, *, mode: Literal["tool", "prompt"], as_json_text: bool = False
) -> int:
    """Print the answer to a question and, on standard error, each call when it begins and its result.

    A question "-" is read from standard input. Returns 0 for an answer, 1 for none or one that was cut off, 3 if calls
    wait for a decision.

    Raises:
        CommandError: The toolkit, the question or a key is missing.
        EzPtcError: The provider fails, or the model does not come to an end.
    """
    if question == "-":
        question = sys.stdin.read()
    if not question.strip():
        message = "expected a question, got none: write ez-ptc ask 'How many lamps are there?' --tools shop:toolkit"
        raise CommandError(message)
    calls = _Calls()
    with load_toolkit(tools) as toolkit:
        builder = _with_approver(model.builder().toolkit(toolkit, mode=mode), toolkit)
        with builder.stream(question) as stream:
            for event in stream:
                calls.add(event)
                write(sys.stderr, event_text(event))
                sys.stderr.flush()
        conversation = stream.continuation
    if as_json_text:
        usage, cost = asdict(conversation.usage), conversation.cost
        print(json_text({"answer": conversation.text, "calls": calls.records, "usage": usage, "cost": as_json(cost)}))
    else:
        write(sys.stdout, f"{conversation.text.rstrip()}\n")
    if conversation.pending:
        names = ", ".join(printable_lines(call.tool) for call in conversation.pending)
        print(f"ez-ptc: calls wait for a decision: {names}; ez-ptc chat asks for it here", file=sys.stderr)
        return PAUSED
    if calls.stop_reason == "length":
        print("ez-ptc: the answer was cut off: the model has reached its maximum of tokens", file=sys.stderr)
    return _NO_ANSWER if calls.stop_reason == "length" or not conversation.text.strip() else 0


def _with_approver(builder: LLMPromptBuilder, toolkit: Toolkit) -> LLMPromptBuilder:
    """Return a conversation in which a person approves calls, unless the user's code does."""
    if toolkit.approve is not None or any(tool.settings.approve is not None for tool in toolkit.tools):
        return builder
    questions = TerminalQuestions()

    def ask(call: PendingCall) -> bool | str | Deny:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            print(
                f"ez-ptc: {call.tool} was refused: {_NO_TERMINAL}; run it in one, or give the Toolkit an approver",
                file=sys.stderr,
            )
            return Deny(_NO_TERMINAL)
        return read_approval(call, questions.ask)

    return builder.approve(ask)


@dataclass(slots=True)
class _Calls:
    """The calls of a conversation, as JSON: those of the model, and those of its programs."""

    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    stop_reason: str = ""
    _by_id: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def add(self, event: StreamEvent) -> None:
        """Take note of an event."""
        if isinstance(event, ToolCallMessage):
            self._begin(event.tool_call_id, None, event.tool_name, kwargs=arguments_of(event))
        elif isinstance(event, CallStarted):
            self._begin(event.id, event.parent, event.tool, args=event.args, kwargs=event.kwargs)
        elif isinstance(event, ToolResultMessage):
            error = None
            if not event.success:
                error = str(event.result)
            self._end(event.tool_call_id, event.result, error)
        elif isinstance(event, CallEnded):
            self._end(event.id, event.result, event.error)
        elif isinstance(event, Answer):
            self.stop_reason = event.stop_reason

    def _begin(
        self, call_id: str, parent: str | None, name: str, *, kwargs: dict[str, Any], args: tuple[object, ...] = ()
    ) -> None:
        record = {"id": call_id, "parent": parent, "name": name, "args": as_json(args), "kwargs": as_json(kwargs)}
        self._by_id[call_id] = record
        self.records.append(record)

    def _end(self, call_id: str, result: object, error: str | None) -> None:
        if call_id in self._by_id:
            self._by_id[call_id].update(result=None if error is not None else as_json(result), error=error)
