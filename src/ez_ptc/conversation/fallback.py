"""Provider failover: the first provider, and others that take over if it fails."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from ez_ptc.errors import AuthenticationError, ProviderError
from ez_ptc.formats.json_reader import with_unique_calls
from ez_ptc.messages import Answer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.providers.provider import LLMProvider, ProviderConnection

__all__ = ["FailoverConnection"]


class FailoverConnection:
    """A connection to the first of some providers. If it fails, the next one takes over for good.

    A provider is replaced only before any event of an answer has arrived, and not for a missing or refused key: the
    developer has to correct that. With `streaming`, answers arrive in pieces.
    """

    def __init__(self, providers: Sequence[LLMProvider], *, streaming: bool) -> None:
        self._providers = tuple(providers)
        self._streaming = streaming
        self._index = 0
        self._connection: ProviderConnection | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def provider(self) -> LLMProvider:
        """The current provider."""
        return self._providers[self._index]

    async def events(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Yield the events of an answer. Raises what the last provider raises."""
        has_events = False
        while True:
            try:
                async with aclosing(self._events(prompt)) as events:
                    async for event in events:
                        has_events = True
                        yield with_unique_calls(event, prompt.entries) if isinstance(event, Answer) else event
                return
            except AuthenticationError:
                raise
            except ProviderError:
                if has_events or self._index + 1 >= len(self._providers):
                    raise
                self._index += 1
                self._connection = None

    async def _events(self, prompt: Prompt) -> AsyncGenerator[Event]:
        if self._connection is None:
            self._connection = await self._stack.enter_async_context(self.provider.connect())
        request = replace(prompt, model=self.provider.model)
        if not self._streaming:
            yield await self._connection.answer(request)
            return
        async with aclosing(self._connection.stream(request)) as events:
            async for event in events:
                yield event
