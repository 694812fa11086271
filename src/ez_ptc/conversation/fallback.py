"""Whom to ask: the first provider that answers, with others to fall back on."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from ez_ptc.errors import AuthenticationError, ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from types import TracebackType

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.providers.provider import Connection, LLMProvider

__all__ = ["Line"]


class Line:
    """An open way to the first of some providers; the next one takes over for good where it fails.

    It does so only before anything of an answer has come. A missing key is no reason to go on to the next: that is the
    developer's to mend. With `streaming`, answers come in pieces.
    """

    def __init__(self, providers: Sequence[LLMProvider], *, streaming: bool) -> None:
        self._providers = tuple(providers)
        self._streaming = streaming
        self._at = 0
        self._connection: Connection | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def provider(self) -> LLMProvider:
        """Who is asked now."""
        return self._providers[self._at]

    async def events(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Give the events of an answer. Raises what the last provider raises."""
        said = False
        while True:
            try:
                async with aclosing(self._events(prompt)) as events:
                    async for event in events:
                        said = True
                        yield event
                return
            except AuthenticationError:
                raise
            except ProviderError:
                if said or self._at + 1 >= len(self._providers):
                    raise
                self._at += 1
                self._connection = None

    async def _events(self, prompt: Prompt) -> AsyncGenerator[Event]:
        if self._connection is None:
            self._connection = await self._stack.enter_async_context(self.provider.connect())
        asked = replace(prompt, model=self.provider.model)
        if not self._streaming:
            yield await self._connection.answer(asked)
            return
        async with aclosing(self._connection.stream(asked)) as events:
            async for event in events:
                yield event
