"""Providers made of one function: `prompt_with_tools` gets a prompt and returns the model's answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Protocol, cast

from ez_ptc.errors import ProviderError
from ez_ptc.formats.json_reader import normal_stop_reason
from ez_ptc.formats.naming.resolution import Spellings
from ez_ptc.formats.ordering import check_order
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, Message, MessageRole, TextMessage, ToolCall, ToolCallMessage
from ez_ptc.schema.safe_repr import safe_repr_with_type

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Iterable
    from contextlib import AbstractAsyncContextManager

    from ez_ptc.formats.describable import Describable
    from ez_ptc.formats.prompt import Event, Prompt
    from ez_ptc.providers.provider import ProviderConnection

__all__ = ["Connectable", "PromptableProvider", "Prompting", "PromptingProvider", "answer_of", "with_tool_names"]


class Prompting(Protocol):
    """A provider with one method; it may have the attributes `name` and `model`."""

    def prompt_with_tools(self, model: str, p: Prompt, tools: list[Any], **kwargs: Any) -> Awaitable[object]:
        """Return the model's answer to a prompt: text, a `ToolCall`, a list of both, or an `Answer`.

        `tools` are the prompt's, and `kwargs` its options.
        """
        ...


class Connectable(Protocol):
    """Anything that opens connections."""

    def connect(self) -> AbstractAsyncContextManager[ProviderConnection]:
        """Open a connection for the duration of the context."""
        ...


class PromptableProvider:
    """What built-in providers have in common: their abilities, and one answer without a conversation."""

    def supports_tools(self) -> bool:
        """Return whether its models can call tools, as far as is known."""
        return True

    def supports_output_schema(self) -> bool:
        """Return whether its models support a JSON Schema for the answer, as far as is known."""
        return True

    async def prompt_with_tools(
        self: Connectable, model: str, p: Prompt, tools: Iterable[Describable], **kwargs: Any
    ) -> Answer:
        """Return the model's answer to a prompt, with these tools. Its calls do not run.

        Args:
            model: The provider's name of the model; "" for the provider's default.
            p: The conversation so far.
            tools: The tools the model may call.
            kwargs: Fields of `Prompt`, such as `max_tokens`, or any other fields of the provider's request.

        Raises:
            AuthenticationError: The key is missing or refused.
            ProviderError: The provider fails, or does not support the request.
            MissingExtraError: The provider's SDK is not installed.
        """
        settings = {field.name: kwargs.pop(field.name) for field in fields(p) if field.name in kwargs}
        options = {**p.options, **settings.pop("options", {}), **kwargs}
        prompt = replace(p, **{**settings, "model": model, "tools": tuple(tools), "options": options})
        async with self.connect() as connection:
            return await connection.answer(prompt)


class PromptingProvider:
    """Adapts an object with `prompt_with_tools` to `LLMProvider`."""

    def __init__(self, prompting: Prompting, model: str | None = None) -> None:
        self.name = str(getattr(prompting, "name", None) or type(prompting).__name__)
        self.model = str(model or getattr(prompting, "model", None) or "")
        self._prompting = prompting
        self._asked = 0

    def supports_tools(self) -> bool:
        """Return whether the object supports tools, by default yes."""
        supports = getattr(self._prompting, "supports_tools", None)
        return supports is None or bool(supports())

    def supports_output_schema(self) -> bool:
        """Return whether the object supports a JSON Schema for the answer."""
        supports = getattr(self._prompting, "supports_output_schema", None)
        return supports is not None and bool(supports())

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[PromptingProvider]:
        """Yield itself, since the object opens what it needs."""
        yield self

    async def answer(self, prompt: Prompt) -> Answer:
        """Return the object's answer to a prompt. Raises ProviderError if it is not an answer."""
        check_order(prompt.entries)
        self._asked += 1
        number = self._asked + sum(isinstance(entry, Answer) for entry in prompt.entries)
        settings = {
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
            "output_schema": prompt.output_schema,
            "tool_choice": None if prompt.tool_choice == "auto" else prompt.tool_choice,
            "strict": prompt.strict or None,
        }
        response = self._prompting.prompt_with_tools(
            prompt.model,
            prompt,
            list(prompt.tools),
            **{name: value for name, value in settings.items() if value is not None} | dict(prompt.options),
        )
        response = await response if isawaitable(response) else response
        answer = answer_of(response, provider=self.name, model=prompt.model, number=number)
        return with_tool_names(answer, prompt.tools)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """Yield the answer in one piece."""
        answer = await self.answer(prompt)
        if answer.text:
            yield TextDelta(answer.text)
        yield answer


def answer_of(said: object, *, provider: str, model: str, number: int) -> Answer:
    """Return as an answer what a provider said: text, a call or a message, several of them, or an answer.

    Calls without an id get one of `number`, which no other answer of the conversation has. Raises ProviderError for
    anything else.
    """
    if isinstance(said, Answer):
        return said
    is_single = isinstance(said, str) or not isinstance(said, Sequence)
    pieces: list[object] = [said] if is_single else list(cast("Sequence[object]", said))
    messages = tuple(_message(piece, f"call_{number}_{index}", provider) for index, piece in enumerate(pieces))
    return Answer(messages=messages, stop_reason=normal_stop_reason(messages), provider=provider, model=model)


def with_tool_names(answer: Answer, tools: Iterable[Describable]) -> Answer:
    """Return an answer with the tools' own names in its calls."""
    spellings = Spellings({tool.name: tool.name for tool in tools})
    messages: list[Message] = []
    for message in answer.messages:
        if isinstance(message, ToolCallMessage) and (name := spellings.find(message.tool_name)) is not None:
            messages.append(replace(message, tool_name=name))
        else:
            messages.append(message)
    return replace(answer, messages=tuple(messages))


def _message(part: object, identifier: str, provider: str) -> Message:
    if isinstance(part, str):
        return TextMessage(part, role=MessageRole.ASSISTANT)
    if isinstance(part, ToolCall):
        return ToolCallMessage(part.name, part.id or identifier, part.arguments)
    if isinstance(part, TextMessage | ToolCallMessage):
        return replace(part, role=MessageRole.ASSISTANT)
    message = (
        f"{provider} answered with {safe_repr_with_type(part)}: expected text, a ToolCall, a list of both, or an Answer"
    )
    raise ProviderError(message)
