"""What a conversation has so far, such as its messages, its usage and the calls that wait, and its last two values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeVar

from ez_ptc._closing import ProcessBound
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.conversation.loop.pausing import pending_calls
from ez_ptc.conversation.settings import BuilderSettings
from ez_ptc.formats.anthropic.messages import request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, MessageList, Usage
from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from ez_ptc.conversation.prices import TurnUsage
    from ez_ptc.messages import Entry, Message, PendingCall
    from ez_ptc.tools.tool import Tool
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["ConversationContents", "ConversationState", "messages_of", "outcome"]

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class ConversationContents(ProcessBound, Viewable):
    """A conversation so far: `entries` are its messages and answers, `settings` everything else."""

    _elsewhere: ClassVar[str] = "save the conversation in a History, which other processes can load"

    entries: tuple[Entry, ...] = ()
    settings: BuilderSettings = field(default_factory=BuilderSettings)

    @property
    def status(self) -> Literal["paused", "done", "open"]:
        """Whether calls wait for a decision ("paused"), the model has answered ("done"), or a message is unanswered."""
        if self.pending:
            return "paused"
        return "done" if self.entries and isinstance(self.entries[-1], Answer) else "open"

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for a decision, for `resume`."""
        return pending_calls(self.entries)

    @property
    def messages(self) -> list[Message]:
        """All messages so far, including those of answers."""
        return messages_of(self.entries)

    @property
    def state(self) -> ConversationState:
        """The messages so far, in Anthropic's form and in ours, and the tools.

        Raises ProviderError if Anthropic's API has no form for a message.
        """
        return ConversationState.of(self.entries, self.settings.tools)

    @property
    def text(self) -> str:
        """The text of the last answer, or "" before the first one."""
        return answers[-1].text if (answers := self._answers()) else ""

    @property
    def stop_reason(self) -> str:
        """Why the last answer ended: "end", "length" (it was cut off), "refusal", … (see `Answer`); "" before it."""
        return answers[-1].stop_reason if (answers := self._answers()) else ""

    @property
    def usage(self) -> Usage:
        """The tokens of all answers so far."""
        return sum((answer.usage for answer in self._answers()), Usage())

    @property
    def cost(self) -> Decimal | None:
        """The cost of all answers so far in US dollars, or None if a model's price is unknown.

        Prices are those of the dated table in `conversation.prices`, and those set with `prices()`.
        """
        from ez_ptc.conversation.prices import total_cost

        return total_cost(self.entries, self.settings.limits.prices)

    @property
    def turns(self) -> list[TurnUsage]:
        """The `model`, `usage` and `cost` of each answer so far."""
        from ez_ptc.conversation.prices import turn_usages

        return turn_usages(self.entries, self.settings.limits.prices)

    def _view_parts(self) -> Iterable[ViewPart]:
        """Return the last entries, and the tokens and the cost of all answers."""
        from ez_ptc.view.objects.messages import conversation_parts, usage_text

        notes = [f"{self.status}, messages: {len(self.messages):,}"]
        if self._answers():
            cost = self.cost
            notes.append(usage_text(self.usage) + (f", ${cost:.4f}" if cost is not None else ", cost unknown"))
        return conversation_parts(self.entries, notes)

    def _answers(self) -> list[Answer]:
        return [entry for entry in self.entries if isinstance(entry, Answer)]


@explain_calls(checks="tools")
@dataclass(frozen=True, slots=True)
class ConversationState:
    """The messages of a conversation so far, and its tools.

    Attributes:
        api_messages: All messages but the instructions, in the form of Anthropic's Messages API.
        tools: The tools.
        message_history: All messages, in our own form.
    """

    api_messages: list[dict[str, Any]]
    tools: list[Tool[..., Any]]
    message_history: MessageList

    @classmethod
    def of(cls, entries: tuple[Entry, ...], tools: tuple[Tool[..., Any], ...]) -> ConversationState:
        """Return the state of a conversation. Raises ProviderError if Anthropic's API has no form for an entry."""
        body = request(Prompt(model="", entries=entries, tools=tools))
        return cls(body["messages"], list(tools), messages_of(entries))


def messages_of(entries: Iterable[Entry]) -> MessageList:
    """Return all messages of some entries, those of answers included."""
    messages: MessageList = []
    for entry in entries:
        if isinstance(entry, Answer):
            messages += entry.messages
        else:
            messages.append(entry)
    return messages


class _Outcome(Viewable, tuple[object, ...]):
    """The pair as a tuple; a wrong attribute is answered with what to write."""

    __slots__ = ()

    def _view_parts(self) -> Iterable[ViewPart]:
        """Return the parts of the conversation, which has the messages."""
        conversation: Any = self[1]
        parts: Iterable[ViewPart] = conversation._view_parts()  # noqa: SLF001 - both are shown in one way
        return parts

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError."""
        message = f"a conversation returns two values, which have no attribute {name!r}"
        if hasattr(self[1], name):
            message += f": write messages, conversation = ..., then conversation.{name}"
        raise AttributeError(message, name=name, obj=self)


def outcome(messages: list[Message], continuation: C) -> tuple[list[Message], C]:
    """Return both as a tuple."""
    return _Outcome((messages, continuation))  # pyright: ignore[reportReturnType] - to type checkers it is a plain pair
