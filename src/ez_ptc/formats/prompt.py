"""What a model is sent, before it is any provider's JSON; and what comes back piece by piece."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ez_ptc.formats.describable import Describable
from ez_ptc.messages import Answer, Entry

__all__ = ["Event", "Prompt", "TextDelta"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A request for one answer.

    Attributes:
        model: The model's name, as the provider has it.
        entries: The conversation so far. What the system says before the model speaks are its instructions; later it
            has its place.
        tools: What the model may call.
        tool_choice: "auto", "none", "required", or the name of the one tool to call. A conversation asks once for a
            call that must be made, and then leaves it to the model.
        strict: Have the provider hold its model to the tools' schemas, but of those that say otherwise themselves.
        max_tokens: How much the model may write at most, or None for the provider's own limit.
        temperature: How freely it chooses, or None for the provider's own.
        output_schema: The JSON Schema of an object that the answer's text has to be, or None for free text.
        cache_tools: Have the provider keep the tools' descriptions, as `Message.cache` says.
        options: Further fields of the provider's request, sent as they are.
    """

    model: str
    entries: tuple[Entry, ...]
    tools: tuple[Describable, ...] = ()
    tool_choice: str = "auto"
    strict: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    output_schema: dict[str, Any] | None = None
    cache_tools: bool | str = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the text that a model is writing."""

    text: str


Event = TextDelta | Answer
"""What a stream gives: pieces of text as they come, then the whole answer once."""
