"""The demo's model on this machine."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from examples.demo.local import QWEN_CODER, LocalServer, cache_directory, ensure_model, require_engine
from ez_ptc._extras import import_extra
from ez_ptc.providers.openai_chat import OpenAIChatProvider

if TYPE_CHECKING:
    from collections.abc import Generator

    from examples.demo.local import Progress
    from ez_ptc.providers.provider import LLMProvider

__all__ = ["local_model"]

# An answer takes minutes on two busy cores, and a server that is gone ends the connection.
_ANSWER_SECONDS: Final = 3_600.0


@contextmanager
def local_model(progress: Progress) -> Generator[LLMProvider]:
    """Download the local model if necessary, serve it, and yield its provider.

    Raises:
        MissingExtraError: The engine is not installed, or lacks a library of the system.
        ProviderError: The model cannot be downloaded or loaded.
        OSError: The user's cache directory cannot be written.
    """
    require_engine()
    import_extra("openai", extra="local")
    path = ensure_model(QWEN_CODER, cache_directory(), progress=progress)
    with LocalServer(QWEN_CODER, path, progress=progress) as server:
        yield OpenAIChatProvider(QWEN_CODER.name, base_url=server.url, api_key=server.key, timeout=_ANSWER_SECONDS)
