"""A request to a model, independent of the provider, and the events of a streamed answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.formats.describable import Describable
from ez_ptc.messages import Answer, Entry, Printable

__all__ = ["Event", "Prompt", "TextDelta"]


@explain_calls(checks="__init__()")
@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A request for one answer.

    Attributes:
        model: The provider's name of the model.
        entries: The conversation so far. System texts before the model's first answer are its instructions; later ones
            keep their position.
        tools: The tools the model may call.
        tool_choice: "auto", "none", "required", or the name of the tool to call. A conversation sends a required call
            once, and then "auto".
        strict: Whether the provider should enforce the schemas of tools that do not say themselves.
        max_tokens: The maximum tokens of the answer, or None for the provider's default.
        temperature: The sampling temperature, or None for the provider's default.
        output_schema: The JSON Schema of an object that the answer's text must be, or None for free text.
        hosted_tools: The names of the tools that programs at the provider may call, instead of the model itself.
        deferred_tools: The names of the tools that the provider describes to the model once its search has found them.
        cache_tools: Whether the provider should cache the tools' descriptions, as in `Message.cache`.
        options: Further fields of the provider's request, sent unchanged.
    """

    model: str
    entries: tuple[Entry, ...]
    tools: tuple[Describable, ...] = ()
    tool_choice: str = "auto"
    strict: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    output_schema: dict[str, Any] | None = None
    hosted_tools: frozenset[str] = frozenset()
    deferred_tools: frozenset[str] = frozenset()
    cache_tools: bool | str = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@explain_calls
@dataclass(frozen=True, slots=True, repr=False)
class TextDelta(Printable):
    """A piece of the text a model is writing."""

    text: str


Event = TextDelta | Answer
"""The events of a stream: pieces of text, and at the end the whole answer."""
