"""A conversation as it happens."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from ez_ptc._sync import iterated
from ez_ptc.conversation.fallback import Line
from ez_ptc.conversation.loop.continuations import Continuing
from ez_ptc.conversation.loop.goals import Goal
from ez_ptc.conversation.loop.run import entries_of, tell
from ez_ptc.errors import TurnLimitError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from ez_ptc.conversation.loop.run import Host, Told
    from ez_ptc.conversation.loop.settings import Settings
    from ez_ptc.messages import Entry

__all__ = ["Asked", "BlockingStream", "ConversationStream"]


class Asked(Protocol):
    """A conversation as the modules below the builder know it: `LLMPromptBuilder` is one."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was said so far."""
        ...

    @property
    def settings(self) -> Settings:
        """Everything else."""
        ...

    def continued(self, *entries: Entry) -> Self:
        """Return the conversation with more entries."""
        ...

    def changed(self, *, entries: tuple[Entry, ...] | None = None, settings: Settings | None = None) -> Self:
        """Return the conversation with other entries or settings."""
        ...


B = TypeVar("B", bound=Asked)


class ConversationStream(Generic[B]):
    """What happens in a conversation, to iterate over once, asynchronously.

    Gives `TextDelta`, `ToolCallMessage`, `ToolResultMessage` and `Answer` objects; each happens when it is asked for.
    `continuation` is the builder that goes on with what has happened so far, also where the stream was left early, was
    cancelled or has failed. What is raised has it too.
    """

    def __init__(self, asked: B, *, streaming: bool = True, goal: Goal | None = None) -> None:
        self._asked = asked
        self._streaming = streaming
        self._goal = Goal() if goal is None else goal
        self._host: Host | None = None
        self._told: list[Told] = []
        self._events = self._tell()

    @property
    def continuation(self) -> B:
        """The conversation with what has happened in it."""
        grown = () if self._host is None else entries_of(self._told, self._host)
        return self._asked.continued(*self._goal.kept(grown))

    def __aiter__(self) -> AsyncGenerator[Told]:
        return self._events

    async def aclose(self) -> None:
        """Stop: what has not happened yet will not."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def _tell(self) -> AsyncGenerator[Told]:
        with Continuing(lambda: self.continuation):
            providers = self._asked.settings.providers()
            settings = self._asked.settings.usable_by(providers)
            host = self._host = settings.host(self._goal)
            prompt = settings.prompt(self._asked.entries, host)
            try:
                async with (
                    Line(providers, streaming=self._streaming) as line,
                    aclosing(tell(prompt, line, host)) as telling,
                ):
                    async for told in telling:
                        self._told.append(told)
                        yield told
            except TurnLimitError as error:
                error.entries = self.continuation.entries
                raise


class BlockingStream(Generic[B]):
    """The same for a caller that blocks: what happens in a conversation, to iterate over once.

    Nothing happens ahead of the caller: a call runs when the event after it is asked for.
    """

    def __init__(self, stream: ConversationStream[B]) -> None:
        self._stream = stream
        self._events = iterated(aiter(stream))

    @property
    def continuation(self) -> B:
        """The conversation with what has happened in it."""
        return self._stream.continuation

    def __iter__(self) -> Iterator[Told]:
        return self._events

    def close(self) -> None:
        """Stop: what has not happened yet will not."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
