"""The differences between servers of Chat Completions, as data that each format declares."""

from collections.abc import Callable
from dataclasses import dataclass

from ez_ptc.formats.media import Media, Unsupported
from ez_ptc.formats.openai_shapes.requests import alphanumeric_id
from ez_ptc.messages import MediaMessage

__all__ = ["ChatDialect"]


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """What a server of Chat Completions accepts; the defaults suit servers of open models.

    Attributes:
        title: Its name in messages.
        media_part: Returns the part for media, or the reason that the provider cannot take it.
        result_media_part: The same for media in a tool's result; None if a result is only text.
        call_id: Makes an accepted id from another provider's call id.
        max_tokens_key: The field with the maximum number of tokens.
        is_strict_in_order: Whether chat templates demand that roles alternate after one system message at the start.
        has_late_instructions: Whether it accepts a system message after the first answer.
        has_empty_answers: Whether it accepts a message of the model without text or calls.
        answer_after_results: The text of the model's message between a tool's result and the user, if it demands one.
    """

    title: str
    media_part: Callable[[MediaMessage], Media | Unsupported]
    result_media_part: Callable[[MediaMessage], Media | Unsupported] | None = None
    call_id: Callable[[str], str] = alphanumeric_id
    max_tokens_key: str = "max_tokens"
    is_strict_in_order: bool = True
    has_late_instructions: bool = True
    has_empty_answers: bool = False
    answer_after_results: str | None = None
