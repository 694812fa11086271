"""The demo's model: on this machine, or on a server."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ez_ptc._extras import import_extra
from ez_ptc.errors import ProviderError
from ez_ptc.providers.local import QWEN_CODER, LocalServer, cache_directory, ensure_model, require_engine
from ez_ptc.providers.openai_chat import OpenAIChatProvider, list_models

if TYPE_CHECKING:
    from collections.abc import Generator

    from ez_ptc.providers.local import Progress
    from ez_ptc.providers.provider import LLMProvider

__all__ = ["local_model", "server_model"]

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


def server_model(base_url: str | None, model: str | None, key: str | None = None) -> LLMProvider:
    """Return a model on a server with OpenAI's Chat Completions API: the server's only one if `model` is None.

    `key` is that of `OPENAI_API_KEY` by default.

    Raises:
        MissingExtraError: The official SDK is not installed.
        ProviderError: The server cannot be reached, or has several models.
    """
    key = key or os.environ.get("OPENAI_API_KEY")
    if model is None:
        models = list_models(base_url=base_url, api_key=key)
        if len(models) != 1:
            message = f"choose a model with --model; {base_url} offers: {', '.join(sorted(models)) or 'none'}"
            raise ProviderError(message)
        model = models[0]
    return OpenAIChatProvider(model, base_url=base_url, api_key=key)
