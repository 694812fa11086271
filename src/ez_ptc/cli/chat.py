"""`ez-ptc chat`: a conversation in the terminal, with the user's tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from ez_ptc.cli.conversing import event_text, read_approval
from ez_ptc.cli.output.progress import ProgressBars
from ez_ptc.cli.questions import InOrder, TerminalQuestions
from ez_ptc.cli.run import CommandError, load_toolkit
from ez_ptc.cli.terminal import printable_lines
from ez_ptc.conversation.builder import LLMPromptBuilder
from ez_ptc.conversation.prices import PRICES_DATE
from ez_ptc.conversation.saving.history import History
from ez_ptc.errors import HistoryError, ProviderError, TurnLimitError
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, PendingCall
from ez_ptc.sandbox.protocol.events import CallEnded, CallProgress, OutputDelta

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from ez_ptc.cli.models import ModelOptions
    from ez_ptc.conversation.loop.run import StreamEvent
    from ez_ptc.messages import Usage

__all__ = ["Chat", "data_folder", "default_history", "run_chat"]

_PROMPT: Final = "you> "
_QUIT: Final = ("/quit", "/exit")
_USAGE: Final = "/usage"


def data_folder() -> Path:
    """Return the folder of our own files in the user's data folder."""
    data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data_home) / "ez-ptc"


def default_history() -> Path:
    """Return the default path of the history file."""
    return data_folder() / "history.sqlite"


def run_chat(
    tools: str | None, model: ModelOptions, *, history: Path | None, resume: str | None, mode: Literal["tool", "prompt"]
) -> int:
    """Run a conversation in the terminal until the user ends it, and return 0.

    Raises:
        CommandError: The toolkit, a key or the conversation to resume is missing, or the history cannot be opened.
        EzPtcError: The provider is not available, or the file is not a history.
    """
    builder = model.builder()
    if tools is not None:
        builder = builder.toolkit(load_toolkit(tools), mode=mode)
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
        self._bars: Final = ProgressBars()
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
            with self._bars, stream:
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
        self._bars.add(event)
        if isinstance(event, CallProgress | CallEnded | OutputDelta):
            return
        self._bars.hide()
        if isinstance(event, TextDelta):
            self._write(printable_lines(event.text))
        elif isinstance(event, Answer):
            if event.stop_reason == "length":
                self._write(" […the answer was cut off]")
        else:
            self._write(event_text(event))

    def _ask_for_approval(self, call: PendingCall) -> bool | str:
        exchange = self._exchange
        # Calls run side by side. With two questions at once, an answer could be taken for the wrong one.
        with self._questions.turn():
            if exchange != self._exchange:
                return False
            with self._bars.paused():
                return read_approval(call, self._ask)


def _usage_text(usage: Usage, cost: Decimal | None) -> str:
    cached = ""
    if usage.cached_tokens:
        cached = f" ({usage.cached_tokens:,} cached)"
    if cost is None:
        price = "unknown price"
    else:
        price = f"${cost:.4f} at list prices of {PRICES_DATE}"
    return f"{usage.input_tokens:,} input tokens{cached}, {usage.output_tokens:,} output tokens, {price}"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
