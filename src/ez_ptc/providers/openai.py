"""Any server that speaks OpenAI's Chat Completions, through the official SDK."""

from __future__ import annotations

from contextlib import contextmanager
from json import JSONDecodeError
from typing import TYPE_CHECKING, Final, Self

from ez_ptc._extras import import_extra
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, ProviderError, RateLimitError
from ez_ptc.providers.provider import Answer

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import TracebackType

    from openai import APIStatusError
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.chat.chat_completion import Choice

    from ez_ptc.providers.provider import Message

__all__ = ["OpenAIProvider", "list_models"]

_OPENAI: Final = "https://api.openai.com/v1"
# What a server that asks for no key is sent, since the SDK insists on one.
_NO_KEY: Final = "none"
_TIMEOUT: Final = 600.0


class OpenAIProvider:
    """A model behind OpenAI's API, or behind any server that speaks its Chat Completions.

    `base_url` is OpenAI's own address when it is None, and then `api_key` is needed; other servers may do without.
    `timeout` is in seconds, for one answer. Use it as a context manager, or call `close()`, to end its connections.
    """

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, timeout: float = _TIMEOUT
    ) -> None:
        import_extra("openai", extra="openai")
        from openai import OpenAI

        self.model = model
        self.address: Final = base_url or _OPENAI
        self._client: Final = OpenAI(
            base_url=self.address, api_key=_key(self.address, api_key), timeout=timeout, max_retries=1
        )

    def answer(
        self, messages: Sequence[Message], *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Answer:
        """Send a conversation to the model and return its answer, as `LLMProvider` says."""
        from openai import omit

        with _errors_of(self.address):
            completion = self._client.chat.completions.create(
                model=self.model,
                messages=[_as_parameter(message) for message in messages],
                temperature=omit if temperature is None else temperature,
                max_tokens=omit if max_tokens is None else max_tokens,
            )
        choice, usage = _first_choice(completion, self.address), completion.usage
        return Answer(
            text=choice.message.content or "",
            stop_reason=choice.finish_reason,
            input_tokens=usage.prompt_tokens if usage else None,
            output_tokens=usage.completion_tokens if usage else None,
        )

    def close(self) -> None:
        """End the connections to the server."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def list_models(*, base_url: str | None = None, api_key: str | None = None) -> list[str]:
    """Return the names of the models that a server offers. Raises what `LLMProvider.answer` raises."""
    import_extra("openai", extra="openai")
    from openai import OpenAI

    address = base_url or _OPENAI
    with (
        OpenAI(base_url=address, api_key=_key(address, api_key), timeout=_TIMEOUT, max_retries=1) as client,
        _errors_of(address),
    ):
        return [model.id for model in client.models.list()]


def _key(address: str, api_key: str | None) -> str:
    if not api_key and address == _OPENAI:
        message = f"{address} wants a key: set OPENAI_API_KEY, or give the address of a server that wants none"
        raise AuthenticationError(message)
    return api_key or _NO_KEY


def _first_choice(completion: object, address: str) -> Choice:
    """Return the choice of a completion, which the SDK does not check: it hands over what the server sent."""
    from openai.types.chat import ChatCompletion

    if not isinstance(completion, ChatCompletion) or not completion.choices:
        message = f"{address} answered with something that is no chat completion: is it the address of its API?"
        raise ProviderError(message)
    return completion.choices[0]


def _as_parameter(message: Message) -> ChatCompletionMessageParam:
    if message.role == "system":
        return {"role": "system", "content": message.text}
    if message.role == "user":
        return {"role": "user", "content": message.text}
    return {"role": "assistant", "content": message.text}


@contextmanager
def _errors_of(address: str) -> Generator[None]:
    """Turn the SDK's errors into ours; the only place that does."""
    import openai

    try:
        yield
    except openai.APIConnectionError as error:
        reason = "took too long to answer" if isinstance(error, openai.APITimeoutError) else "cannot be reached"
        message = f"{address} {reason}: {error.__cause__ or error}"
        raise ConnectionFailedError(message) from error
    except openai.APIStatusError as error:
        raise _of_status(address, error) from error
    except (openai.OpenAIError, JSONDecodeError) as error:  # the SDK lets the decoder's error through
        message = f"{address} gave no usable answer: {error}"
        raise ProviderError(message) from error


def _of_status(address: str, error: APIStatusError) -> ProviderError:
    message = f"{address} answered {error.status_code}: {error.message}"
    if error.status_code in {401, 403}:
        return AuthenticationError(f"{message}; is OPENAI_API_KEY right?")
    if error.status_code == 429:  # noqa: PLR2004 - the status code for too many requests
        return RateLimitError(message, retry_after=_seconds(error.response.headers.get("retry-after")))
    return ProviderError(message)


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:  # a date, which no server of models sends
        return None
