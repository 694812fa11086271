"""Which dialect of Chat Completions a server speaks."""

from functools import partial
from importlib import import_module
from typing import Final

from ez_ptc.formats.openai_chat.media import media_part
from ez_ptc.formats.openai_shapes.dialects import ChatDialect
from ez_ptc.formats.openai_shapes.media import CHAT_API
from ez_ptc.formats.openai_shapes.requests import shorten_id
from ez_ptc.formats.openai_shapes.servers import is_at, is_openai
from ez_ptc.formats.provider_table import PROVIDERS

__all__ = ["dialect_of"]

_MAX_ID_LENGTH: Final = 40

_OPENAI: Final = ChatDialect(
    title=CHAT_API,
    media_part=media_part,
    call_id=partial(shorten_id, max_length=_MAX_ID_LENGTH),
    max_tokens_key="max_completion_tokens",
    is_strict_in_order=False,
    has_empty_answers=True,
)
_COMPATIBLE: Final = ChatDialect(title=CHAT_API, media_part=media_part)


def dialect_of(server: str) -> ChatDialect:
    """Return the dialect of a server, given by its host name: one that a format declares, or the common one."""
    if is_openai(server):
        return _OPENAI
    for entry in PROVIDERS:
        if is_at(server, entry.hosts):
            dialect: ChatDialect = import_module(f"ez_ptc.formats.{entry.folder}.dialect").DIALECT
            return dialect
    return _COMPATIBLE
