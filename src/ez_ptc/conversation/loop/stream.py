"""Streaming: the events of a conversation, for consumers that await and consumers that block."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from ez_ptc._closing import Closable
from ez_ptc._sync import BlockingEvents
from ez_ptc.conversation.capabilities import adapt_settings
from ez_ptc.conversation.fallback import FailoverConnection
from ez_ptc.conversation.loop.continuations import Continuing
from ez_ptc.conversation.loop.conversation import Conversation
from ez_ptc.conversation.loop.goals import Goal
from ez_ptc.conversation.loop.run import collect_entries, run_turns
from ez_ptc.conversation.loop.spans import conversation_attributes
from ez_ptc.errors import TurnLimitError
from ez_ptc.messages import Answer, TextMessage, ToolResultMessage
from ez_ptc.telemetry.tracing import span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from ez_ptc.conversation.loop.pausing import Resumption
    from ez_ptc.conversation.loop.run import StreamEvent
    from ez_ptc.conversation.settings import BuilderSettings
    from ez_ptc.messages import Entry

__all__ = ["BlockingStream", "ConversationStream"]

B = TypeVar("B")


class ConversationStream(Generic[B]):
    """The events of one question, to iterate over once, asynchronously.

    Yields `TextDelta`, `ToolCallMessage`, `ToolResultMessage` and `Answer` objects, and the events of programs; each
    happens when it is asked for, except that a program goes on by itself.
    `continuation` is the builder that continues after the events so far, also if the stream was left early, was
    cancelled or has failed. Exceptions carry it, too.

    `continue_with` returns the builder with entries added. `resumption` continues a paused conversation, whose entries
    end with its last answer.
    """

    def __init__(
        self,
        entries: tuple[Entry, ...],
        settings: BuilderSettings,
        continue_with: Callable[..., B],
        *,
        streaming: bool = True,
        goal: Goal | None = None,
        resumption: Resumption | None = None,
    ) -> None:
        self._resumption = resumption
        self._entries = entries
        self._settings = settings
        self._continue_with = continue_with
        self._streaming = streaming
        self._goal = goal or Goal()
        self._conversation: Conversation | None = None
        self._past_events: list[StreamEvent] = []
        self._events = self._run()

    @property
    def continuation(self) -> B:
        """The builder with the events so far."""
        if self._conversation is None:
            return self._continue_with(*self.new_entries)
        return self._continue_with(*self.new_entries, failed=self._conversation.last_failure)

    @property
    def new_entries(self) -> tuple[Entry, ...]:
        """The entries added to the conversation."""
        entries: tuple[Entry, ...] = ()
        if self._conversation is not None:
            entries = collect_entries(self._past_events, self._conversation)
        if not entries and self._resumption is not None:
            entries = self._resumption.results
        return self._goal.entries_to_keep(entries)

    def __aiter__(self) -> AsyncGenerator[StreamEvent]:
        return self._events

    async def aclose(self) -> None:
        """Stop: no further call starts."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def _run(self) -> AsyncGenerator[StreamEvent]:
        with Continuing(lambda: self.continuation):
            providers = self._settings.providers()
            settings = adapt_settings(self._settings, providers)
            conversation = self._conversation = Conversation(self._entries, settings, self._goal, self._resumption)
            try:
                async with (
                    FailoverConnection(providers, streaming=self._streaming) as connection,
                    aclosing(self._run_recorded(conversation, connection)) as events,
                ):
                    async for event in events:
                        if isinstance(event, Answer | ToolResultMessage | TextMessage):
                            self._past_events.append(event)
                        yield event
            except TurnLimitError as error:
                error.entries = (*self._entries, *self.new_entries)
                raise

    async def _run_recorded(
        self, conversation: Conversation, connection: FailoverConnection
    ) -> AsyncGenerator[StreamEvent]:
        """Run the turns in a span of the whole conversation."""
        with span("invoke_agent", conversation_attributes(connection.provider)) as conversation.notes:
            async with aclosing(run_turns(conversation, connection, streaming=self._streaming)) as events:
                async for event in events:
                    yield event


class BlockingStream(Closable, Generic[B]):
    """Same as `ConversationStream`, but blocks: the events of one question, to iterate over once.

    Nothing happens ahead of the consumer: a call runs when the event after it is asked for.
    """

    def __init__(self, stream: ConversationStream[B]) -> None:
        self._stream = stream
        self._events = BlockingEvents(aiter(stream))

    @property
    def continuation(self) -> B:
        """The builder with the events so far."""
        return self._stream.continuation

    def __iter__(self) -> Iterator[StreamEvent]:
        return self._events

    def close(self) -> None:
        """Stop: no further call starts."""
        self._events.close()
