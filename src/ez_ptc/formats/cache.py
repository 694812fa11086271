"""Marks in a request: a provider keeps what it has read up to there, and reads it again for less.

Anthropic and OpenAI have such marks. Where there are none, at Gemini, Mistral, OpenAI's models before GPT-5.6 and other
servers, a mark is not sent: these keep what they read by themselves, if they do, and the answer is the same.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from ez_ptc.errors import ProviderError
from ez_ptc.formats.openai_shapes.servers import is_openai

__all__ = ["MAX_MARKS", "anthropic_mark", "fit_marks", "has_marks", "openai_mark"]

MAX_MARKS: Final = 4
"""How many marks Anthropic takes in a request."""

_SHORT: Final = "5m"
_LONG: Final = "1h"
_ANTHROPIC: Final = (_SHORT, _LONG)
_OPENAI: Final = ("30m", "12h")
_CONTROL: Final = "cache_control"
_MARKED_MODELS: Final = re.compile(r"(ft:)?gpt-(5\.([6-9]|\d\d)|[6-9]|\d\d)")


def anthropic_mark(cache: bool | str) -> dict[str, Any]:  # noqa: FBT001 - a field's value, which may be a lifetime
    """Return the field that marks a block of Anthropic's, or nothing where it has no mark."""
    if cache is False:
        return {}
    return {_CONTROL: {"type": "ephemeral", **_lifetime(cache, "Anthropic", _ANTHROPIC)}}


def fit_marks(blocks: Iterable[dict[str, Any]]) -> None:
    """Take the marks but the last four from the blocks of a request, which are given in their order.

    The last ones tell most, for what a mark keeps begins with the request. Raises ProviderError for a mark for an hour
    that comes after a shorter one, which Anthropic refuses.
    """
    marked = [block for block in blocks if _CONTROL in block]
    for block in marked[:-MAX_MARKS]:
        del block[_CONTROL]
    is_long = [block[_CONTROL].get("ttl") == _LONG for block in marked[-MAX_MARKS:]]
    if is_long != sorted(is_long, reverse=True):
        message = (
            f"Anthropic does not take a mark for {_LONG} after one for {_SHORT}: write .cache({_LONG!r}) on what comes "
            f"before it as well"
        )
        raise ProviderError(message)


def has_marks(model: str, server: str) -> bool:
    """Say whether a model of OpenAI's takes marks, given the name of the server's host too."""
    return is_openai(server) and _MARKED_MODELS.match(model) is not None


def openai_mark(cache: bool | str) -> dict[str, Any]:  # noqa: FBT001 - a field's value, which may be a lifetime
    """Return the field that marks a part at OpenAI, or nothing where it has no mark."""
    if cache is False:
        return {}
    return {"prompt_cache_breakpoint": {"mode": "explicit", **_lifetime(cache, "OpenAI", _OPENAI)}}


def _lifetime(cache: bool | str, provider: str, known: tuple[str, ...]) -> dict[str, str]:  # noqa: FBT001 - as above
    if not isinstance(cache, str):
        return {}
    if cache not in known:
        message = f"{provider} keeps what is marked for {' or '.join(known)}, got {cache!r}: write .cache({known[0]!r})"
        raise ProviderError(message)
    return {"ttl": cache}
