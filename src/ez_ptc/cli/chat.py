"""`ez-ptc chat`: a conversation in the terminal, with somebody's tools."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from ez_ptc.cli.calls import argument_lines, ascii_name, call_text, full_text
from ez_ptc.cli.run import CommandError, load_toolkit
from ez_ptc.cli.terminal import drop_typed_ahead, harmless, printable
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.conversation.prices import PRICES_DATE
from ez_ptc.conversation.saving.history import History
from ez_ptc.errors import HistoryError, ProviderError, TurnLimitError
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import TextMessage, ToolCall, ToolCallMessage, ToolResultMessage
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from ez_ptc.conversation.loop.run import StreamEvent
    from ez_ptc.messages import Usage

__all__ = ["Chat", "default_history", "run_chat"]

_PROMPT: Final = "you> "
_GOODBYE: Final = ("/quit", "/exit")
_USAGE: Final = "/usage"
_WIDTH: Final = 100


def default_history() -> Path:
    """Return where conversations are kept: in the user's folder for data."""
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "ez-ptc" / "history.sqlite"


def run_chat(
    tools: str | None, model: str | None, *, history: Path | None, resume: str | None, mode: Literal["tool", "prompt"]
) -> int:
    """Talk with a model until the person ends it, and return 0.

    Raises:
        CommandError: The toolkit or the conversation to go on with is not there, or no file to keep it in.
        EzPtcError: Nobody can answer, or the file is no history.
    """
    builder = llm() if model is None else llm().model(model)
    if tools is not None:
        builder = builder.toolkit(load_toolkit(tools), mode=mode)
    builder.settings.providers()  # says at once where nobody can answer
    path = history or default_history()
    with History(path) as kept:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            kept.list(1)
        except OSError as error:
            message = f"conversations cannot be kept in {path}: {error}; give another file with --history"
            raise CommandError(message) from error
        return Chat(builder, kept, read=input, write=_write, forget=drop_typed_ahead).run(resume)


class Chat:
    """A conversation of a person, who is asked by `read` and told by `write`, with a model.

    `forget` drops what the person has typed before a question was asked. Each exchange is saved to the history as soon
    as it has ended.
    """

    def __init__(
        self,
        builder: LLMPromptBuilder,
        history: History,
        *,
        read: Callable[[str], str],
        write: Callable[[str], None],
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        self._history: Final = history
        self._read: Final = read
        self._write: Final = write
        self._forget: Final = forget
        self._builder = builder.approve(self._approved)
        self._id: str | None = None
        self._is_asking = False
        self._one_question: Final = threading.Lock()
        self._exchange = 0

    def run(self, resume: str | None = None) -> int:
        """Read what the person says and answer it, until they end it; go on with the conversation `resume`."""
        if resume is not None:
            self._resume(resume)
        self._write("Ask away; /usage shows what it took so far, /quit or end of input ends it.\n")
        while True:
            try:
                said = self._read(_PROMPT).strip()
            except EOFError:
                said = _GOODBYE[0]
            if said in _GOODBYE:
                break
            if said == _USAGE:
                self._write(_usage(self._builder))
            elif said:
                self._answer(said)
        self._write(f"\nKept as {self._id}: --resume {self._id} goes on with it.\n" if self._id else "\n")
        return 0

    def _resume(self, known: str) -> None:
        try:
            entries = self._history.load(known)
        except KeyError as error:
            message = str(error.args[0])
            raise CommandError(message) from error
        self._builder = self._builder.continued(*entries)
        self._id = known

    def _answer(self, said: str) -> None:
        stream = self._builder.stream(said)
        try:
            with stream:
                for told in stream:
                    self._tell(told)
            self._builder = stream.continuation
        except KeyboardInterrupt:
            self._write("\n! stopped; what was done so far is part of the conversation\n")
            # Nobody can take a question back that waits for its line in another thread.
            self._write("  press Enter to leave the question\n" if self._is_asking else "")
            self._builder = stream.continuation
        except (ProviderError, TurnLimitError) as error:
            self._write(f"\n! {harmless(str(error))}\n")
            if not self._grow(error.continuation):
                return
        finally:
            self._exchange += 1
        self._write("\n")
        try:
            self._id = self._history.save(self._builder, id=self._id)
        except (HistoryError, OSError) as error:
            self._write(f"! this is not kept: {harmless(str(error))}\n")

    def _grow(self, continuation: object) -> bool:
        """Go on with what was said before an error, if that is more than the question: it is asked anew."""
        if not isinstance(continuation, LLMPromptBuilder):
            return False
        if len(continuation.entries) <= len(self._builder.entries) + 1:
            return False
        self._builder = continuation
        return True

    def _tell(self, told: StreamEvent) -> None:
        if isinstance(told, TextDelta):
            self._write(harmless(told.text))
        elif isinstance(told, ToolCallMessage):
            self._write(f"\n  → {_call(told.call)}\n")
        elif isinstance(told, ToolResultMessage):
            self._write(f"  {'=' if told.success else '!'} {_line(told.result)}\n")
        elif isinstance(told, TextMessage):
            self._write(f"\n  = {_line(told.text)}\n")
        elif told.stop_reason == "length":
            self._write(" […the answer was cut off]")

    def _approved(self, call: ToolCall) -> bool | str:
        exchange = self._exchange
        # Calls run side by side: of two questions at once, the answer to one could be taken for the other's.
        with self._one_question:
            if exchange != self._exchange:
                return False
            self._is_asking = True
            try:
                answer = self._answer_to(call)
            finally:
                self._is_asking = False
        if answer.lower() in ("y", "yes"):
            return True
        return answer if answer.lower() not in ("", "n", "no") else False

    def _answer_to(self, call: ToolCall) -> str:
        """Ask whether a call may run: its arguments first, and what is asked last, on a line of its own."""
        arguments = _arguments(call)
        lines = ["", "  The model wants to call a tool; ? shows all of this:", *argument_lines(arguments)]
        while True:
            self._forget()
            lines.append(f"  ? Allow {ascii_name(call.name)}? [y/N or the reason why not] ")
            try:
                answer = self._read("\n".join(lines)).strip()
            except EOFError:
                return ""
            if answer != "?":
                return answer
            lines = [*full_text(arguments)]


def _usage(builder: LLMPromptBuilder) -> str:
    """Return what each answer has taken, and all of them together."""
    lines = [
        f"  {number}. {harmless(turn.model)}: {_taken(turn.usage, turn.cost)}\n"
        for number, turn in enumerate(builder.turns, start=1)
    ]
    return "".join([*lines, f"  in all: {_taken(builder.usage, builder.cost)}\n"])


def _taken(usage: Usage, cost: Decimal | None) -> str:
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    price = "price not known" if cost is None else f"${cost:.4f} by the list of {PRICES_DATE}"
    return f"{usage.input_tokens:,} tokens read{cached}, {usage.output_tokens:,} written, {price}"


def _call(call: ToolCall) -> str:
    arguments = _arguments(call)
    if isinstance(program := arguments.get("code"), str) and len(arguments) == 1:
        return f"{ascii_name(call.name)}:\n{_indented(program)}"
    return call_text({"name": call.name, "args": (), "kwargs": arguments})


def _arguments(call: ToolCall) -> dict[str, object]:
    return call.arguments if isinstance(call.arguments, dict) else {"arguments": call.arguments}


def _indented(program: str) -> str:
    return "\n".join(f"    {harmless(line)}" for line in program.strip().splitlines())


def _line(value: object) -> str:
    text = printable(" ".join((value if isinstance(value, str) else safe_repr(value)).split()))
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
