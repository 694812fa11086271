"""What a provider of models is: something that answers a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Answer", "LLMProvider", "Message"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation: who said it, and what."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model answered.

    Attributes:
        text: What it wrote.
        stop_reason: Why it stopped, in the provider's own word: `"stop"`, `"length"`; None where it does not say.
        input_tokens: How many tokens it read, where the provider counts them.
        output_tokens: How many tokens it wrote, where the provider counts them.
    """

    text: str
    stop_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class LLMProvider(Protocol):
    """Where a model's answers come from."""

    @property
    def model(self) -> str:
        """The name of the model that answers."""
        ...

    def answer(
        self, messages: Sequence[Message], *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Answer:
        """Send a conversation to the model and return its answer; what is left as None is the provider's to choose.

        Raises:
            AuthenticationError: The key is missing or refused.
            RateLimitError: There were too many requests.
            ConnectionFailedError: The provider cannot be reached, or took too long.
            ProviderError: It answered with another error, or with something that is no answer.
        """
        ...
