"""What a provider of models is: something that answers a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.messages import Answer

__all__ = ["Connection", "LLMProvider"]


class Connection(Protocol):
    """An open way to a provider, good for one event loop."""

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the model's answer to a prompt.

        Raises:
            AuthenticationError: The key is missing or refused.
            RateLimitError: There were too many requests.
            ConnectionFailedError: The provider cannot be reached, or took too long.
            ProviderError: It answered with another error, or with something that is no answer.
        """
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Give the model's answer as it is written: its text in pieces, then the whole answer. Raises as `answer`."""
        ...


class LLMProvider(Protocol):
    """Where a model's answers come from. It opens no connection before it is asked to.

    A class with `prompt_with_tools` in place of `connect` will do where a provider is given: it needs no other method.
    """

    if TYPE_CHECKING:  # a subclass may have plain attributes of these names

        @property
        def name(self) -> str:
            """What the provider is called in `"provider:model"`, as "anthropic"."""
            ...

        @property
        def model(self) -> str:
            """The name of the model that answers where a prompt does not say which."""
            ...

    def supports_tools(self) -> bool:
        """Whether its models can call tools."""
        ...

    def supports_output_schema(self) -> bool:
        """Whether its models can be held to a JSON Schema of the text that they answer."""
        ...

    def connect(self) -> AbstractAsyncContextManager[Connection]:
        """Open a way to the provider, for as long as the context lasts."""
        ...
