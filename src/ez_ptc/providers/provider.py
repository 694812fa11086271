"""The interface of a provider of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.messages import Answer

__all__ = ["LLMProvider", "ProviderConnection"]


class ProviderConnection(Protocol):
    """A connection to a provider, bound to one event loop."""

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the model's answer to a prompt.

        Raises:
            AuthenticationError: The key is missing or refused.
            RateLimitError: There were too many requests.
            ConnectionFailedError: The provider cannot be reached, or took too long.
            ProviderError: It answered with another error, or with an invalid answer.
        """
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Yield the model's answer as it is written: pieces of text, then the whole answer. Raises as `answer` does."""
        ...


@runtime_checkable
class LLMProvider(Protocol):
    """A provider of models. It opens no connection before `connect`.

    An object with only `prompt_with_tools` is accepted wherever a provider is.
    """

    if TYPE_CHECKING:  # a subclass may have plain attributes with these names

        @property
        def name(self) -> str:
            """The provider's name in `"provider:model"`, such as "anthropic"."""
            ...

        @property
        def model(self) -> str:
            """The default model."""
            ...

    def supports_tools(self) -> bool:
        """Return whether its models can call tools."""
        ...

    def supports_output_schema(self) -> bool:
        """Return whether its models support a JSON Schema for the answer's text."""
        ...

    def connect(self) -> AbstractAsyncContextManager[ProviderConnection]:
        """Open a connection for the duration of the context."""
        ...
