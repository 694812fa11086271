"""`ez-ptc chat`: a conversation in the terminal, with the user's tools."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ez_ptc.cli.calls import call_text
from ez_ptc.cli.demo.sources import server_model
from ez_ptc.cli.questions import InOrder, TerminalQuestions
from ez_ptc.cli.run import CommandError, load_toolkit
from ez_ptc.cli.terminal import printable, printable_lines
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.conversation.prices import PRICES_DATE
from ez_ptc.conversation.saving.history import History
from ez_ptc.errors import AuthenticationError, HistoryError, ProviderError, TurnLimitError
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, PendingCall, TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.providers.lookup import KEYS
from ez_ptc.sandbox.events import CallStarted
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.approvals.questions import name_text, write_question

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from ez_ptc.conversation.loop.run import StreamEvent
    from ez_ptc.messages import Usage

__all__ = ["Chat", "default_history", "run_chat"]

_PROMPT: Final = "you> "
_QUIT: Final = ("/quit", "/exit")
_USAGE: Final = "/usage"
_MAX_RESULT: Final = 100
_NO_KEY: Final = (
    f"there is no key for a provider: set one of {', '.join(chain.from_iterable(KEYS.values()))}, or pass --base-url "
    "http://localhost:11434/v1 for a server of your own"
)
_APPROVAL_PROMPT: Final = "  ? [y/N, or a reason for refusal; ? shows everything] "
# The lines of an approval besides the question: an empty one, the prompt, and the one after the answer.
_OTHER_LINES: Final = 3


def default_history() -> Path:
    """Return the default path of the history file, in the user's data folder."""
    data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data_home) / "ez-ptc" / "history.sqlite"


def run_chat(
    tools: str | None,
    model: str | None,
    *,
    base_url: str | None = None,
    history: Path | None,
    resume: str | None,
    mode: Literal["tool", "prompt"],
) -> int:
    """Run a conversation in the terminal until the user ends it, and return 0.

    Raises:
        CommandError: The toolkit or the conversation to resume is missing, or the history file cannot be opened.
        EzPtcError: No provider is available, or the file is not a history.
    """
    builder = llm()
    if base_url is not None:
        builder = builder.provider(server_model(base_url, model))
    elif model is not None:
        builder = builder.model(model)
    if tools is not None:
        builder = builder.toolkit(load_toolkit(tools), mode=mode)
    try:
        builder.settings.providers()  # raises at once if no provider is available
    except AuthenticationError as error:
        if base_url is not None or model is not None:
            raise
        raise CommandError(_NO_KEY) from error
    path = history or default_history()
    with History(path) as saved:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            saved.list(1)
        except OSError as error:
            message = f"cannot save conversations in {path}: {error}; choose another file with --history"
            raise CommandError(message) from error
        questions = TerminalQuestions()
        chat = Chat(builder, saved, read=input, write=_write, ask=questions.ask, interrupt=questions.interrupt)
        return chat.run(resume)


class Chat:
    """A conversation between a user, by `read` and `write`, and a model.

    `ask` shows the question of an approval and returns the answer, and `interrupt` ends a waiting one. Each exchange is
    saved to the history when it ends.
    """

    def __init__(
        self,
        builder: LLMPromptBuilder,
        history: History,
        *,
        read: Callable[[str], str],
        write: Callable[[str], None],
        ask: Callable[[str], str],
        interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self._history: Final = history
        self._read: Final = read
        self._write: Final = write
        self._ask: Final = ask
        self._interrupt: Final = interrupt
        self._builder = builder.approve(self._ask_for_approval)
        self._id: str | None = None
        self._questions: Final = InOrder()
        self._exchange = 0

    def run(self, resume: str | None = None) -> int:
        """Read and answer questions until the user ends it, after resuming the conversation `resume`, if given."""
        if resume is not None:
            try:
                entries = self._history.load(resume)
            except HistoryError as error:
                raise CommandError(str(error)) from error
            self._builder = self._builder.continued(*entries)
            self._id = resume
        self._write("Ask a question. /usage shows tokens and cost, /quit or end of input ends the chat.\n")
        while True:
            try:
                text = self._read(_PROMPT).strip()
            except EOFError:
                text = _QUIT[0]
            if text in _QUIT:
                break
            if text == _USAGE:
                for number, turn in enumerate(self._builder.turns, start=1):
                    self._write(f"  {number}. {printable_lines(turn.model)}: {_usage_text(turn.usage, turn.cost)}\n")
                self._write(f"  in all: {_usage_text(self._builder.usage, self._builder.cost)}\n")
            elif text:
                self._answer(text)
        self._write("\n")
        if self._id is not None:
            self._write(f"Saved as {self._id}. Continue with --resume {self._id}.\n")
        return 0

    def _answer(self, question: str) -> None:
        stream = self._builder.stream(question)
        try:
            with stream:
                for event in stream:
                    self._show(event)
            self._builder = stream.continuation
        except KeyboardInterrupt:
            # A pending approval reads its line in another thread.
            self._interrupt()
            self._write("\n! stopped; the conversation keeps everything so far\n")
            self._builder = stream.continuation
        except (ProviderError, TurnLimitError) as error:
            self._write(f"\n! {printable_lines(str(error))}\n")
            continuation = error.continuation
            # If only the question would be added, the user asks it again.
            if not isinstance(continuation, LLMPromptBuilder) or (
                len(continuation.entries) <= len(self._builder.entries) + 1
            ):
                return
            self._builder = continuation
        finally:
            self._exchange += 1
        self._write("\n")
        try:
            self._id = self._history.save(self._builder, id=self._id)
        except (HistoryError, OSError) as error:
            self._write(f"! not saved: {printable_lines(str(error))}\n")

    def _show(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta):
            self._write(printable_lines(event.text))
        elif isinstance(event, ToolCallMessage):
            arguments = _arguments(event.arguments)
            if isinstance(program := arguments.get("code"), str) and len(arguments) == 1:
                lines = [f"    {printable_lines(line)}" for line in program.strip().splitlines()]
                described = "\n".join([f"{name_text(event.call.name)}:", *lines])
            else:
                described = call_text({"name": event.call.name, "args": (), "kwargs": arguments})
            self._write(f"\n  → {described}\n")
        elif isinstance(event, ToolResultMessage):
            self._write(f"  {'=' if event.success else '!'} {_one_line(event.result)}\n")
        elif isinstance(event, TextMessage):
            self._write(f"\n  = {_one_line(event.text)}\n")
        elif isinstance(event, CallStarted):
            self._write(f"    · {call_text({'name': event.tool, 'args': event.args, 'kwargs': event.kwargs})}\n")
        elif isinstance(event, Answer) and event.stop_reason == "length":
            self._write(" […the answer was cut off]")

    def _ask_for_approval(self, call: PendingCall) -> bool | str:
        exchange = self._exchange
        # Calls run side by side. With two questions at once, an answer could be taken for the wrong one.
        with self._questions.turn():
            if exchange != self._exchange:
                return False
            answer = self._read_answer(call)
        if answer.lower() in ("y", "yes"):
            return True
        if answer.lower() in ("", "n", "no"):
            return False
        return answer

    def _read_answer(self, call: PendingCall) -> str:
        """Show the question about a call, below everything else that it needs, and return the user's answer."""
        question = "\n"
        while True:
            columns, lines = shutil.get_terminal_size()
            question += f"{write_question(call, columns=columns, lines=lines - _OTHER_LINES)}\n{_APPROVAL_PROMPT}"
            try:
                answer = self._ask(question).strip()
            except EOFError:
                return ""
            if answer != "?":
                return answer
            question = f"{write_question(call, columns=columns, lines=None)}\n\n"


def _usage_text(usage: Usage, cost: Decimal | None) -> str:
    cached = ""
    if usage.cached_tokens:
        cached = f" ({usage.cached_tokens:,} cached)"
    if cost is None:
        price = "unknown price"
    else:
        price = f"${cost:.4f} at list prices of {PRICES_DATE}"
    return f"{usage.input_tokens:,} input tokens{cached}, {usage.output_tokens:,} output tokens, {price}"


def _arguments(arguments: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    return {"arguments": arguments}


def _one_line(value: object) -> str:
    text = value if isinstance(value, str) else safe_repr(value)
    text = printable(" ".join(text.split()))
    if len(text) <= _MAX_RESULT:
        return text
    return f"{text[: _MAX_RESULT - 1]}…"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
