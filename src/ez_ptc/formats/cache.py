"""Cache marks in a request: the provider caches the prompt up to a mark, and charges less for reading it again.

Anthropic and OpenAI support marks. For OpenAI's models before GPT-5.6, other providers and other servers, marks are not
sent: some of these cache prompts by themselves, and the answer is the same.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from ez_ptc.errors import ProviderError
from ez_ptc.formats.openai_shapes.servers import is_openai
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["MAX_MARKS", "anthropic_mark", "fit_marks", "has_marks", "openai_mark"]

# The maximum number of marks in a request to Anthropic.
MAX_MARKS: Final = 4

_SHORT: Final = "5m"
_LONG: Final = "1h"
_ANTHROPIC: Final = (_SHORT, _LONG)
_OPENAI: Final = ("30m", "12h")
_CONTROL: Final = "cache_control"
_MARKED_MODELS: Final = re.compile(r"(ft:)?gpt-(5\.([6-9]|\d\d)|[6-9]|\d\d)")


def anthropic_mark(cache: bool | str) -> dict[str, Any]:  # noqa: FBT001 - a field's value, which may be a lifetime
    """Return the field that marks a block for Anthropic; empty without a mark."""
    if cache is False:
        return {}
    return {_CONTROL: {"type": "ephemeral", **_lifetime(cache, "Anthropic", _ANTHROPIC)}}


def fit_marks(blocks: Iterable[dict[str, Any]]) -> None:
    """Remove all marks but the last four from a request's blocks, given in order.

    The last marks matter most, since each caches everything before it. Raises ProviderError for a mark of one hour
    after a shorter one, which Anthropic rejects.
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
    """Return whether a model of OpenAI supports marks at a server's host."""
    return is_openai(server) and _MARKED_MODELS.match(model) is not None


def openai_mark(cache: bool | str) -> dict[str, Any]:  # noqa: FBT001 - a field's value, which may be a lifetime
    """Return the field that marks a part for OpenAI; empty without a mark."""
    if cache is False:
        return {}
    return {"prompt_cache_breakpoint": {"mode": "explicit", **_lifetime(cache, "OpenAI", _OPENAI)}}


def _lifetime(cache: bool | str, provider: str, known: tuple[str, ...]) -> dict[str, str]:  # noqa: FBT001 - as above
    if not isinstance(cache, str):
        return {}
    if cache not in known:
        message = (
            f"{provider} keeps what is marked for {' or '.join(known)}, got {safe_repr(cache)}: "
            f"write .cache({known[0]!r})"
        )
        raise ProviderError(message)
    return {"ttl": cache}
