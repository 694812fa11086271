"""A conversation as it happens."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar, cast

from ez_ptc._sync import iterated
from ez_ptc.conversation.drive import entries_of, tell
from ez_ptc.conversation.line import Line
from ez_ptc.errors import ProviderError, TurnLimitError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from ez_ptc.conversation.drive import Told
    from ez_ptc.conversation.settings import Settings
    from ez_ptc.messages import Entry, ToolResult

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

    Gives `TextDelta`, `ToolCallMessage`, `ToolResultMessage` and `Answer` objects. `continuation` is the builder that
    goes on with what has happened so far, also where the stream was left early, was cancelled or has failed.
    """

    def __init__(self, asked: B, *, streaming: bool = True) -> None:
        self._asked = asked
        self._streaming = streaming
        self._told: list[Told] = []
        self._finished: Mapping[str, ToolResult] = {}
        self._events = self._tell()

    @property
    def continuation(self) -> B:
        """The conversation with what has happened in it."""
        return self._asked.continued(*entries_of(self._told, self._finished))

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
        settings = self._asked.settings
        prompt, host = settings.prompt(self._asked.entries), settings.host()
        self._finished = host.finished
        try:
            async with (
                Line(settings.providers(), streaming=self._streaming) as line,
                aclosing(tell(prompt, line, host)) as telling,
            ):
                async for told in telling:
                    self._told.append(told)
                    yield told
        except TurnLimitError as error:
            grown = cast("tuple[Entry, ...]", error.entries[len(prompt.entries) :])
            error.continuation = self._asked.continued(*grown)
            raise
        except ProviderError as error:
            error.continuation = self.continuation
            raise


class BlockingStream(Generic[B]):
    """The same for a caller that blocks: what happens in a conversation, to iterate over once."""

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
