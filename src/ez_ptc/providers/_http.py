"""The HTTP plumbing of all providers: keys, headers and error statuses."""

import math
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from ez_ptc.errors import AuthenticationError, ProviderError, RateLimitError
from ez_ptc.redaction.redactor import Redactor

__all__ = ["NO_KEY", "clean_errors", "error_for_status", "seconds_in", "usable_address", "usable_key", "usable_model"]

# The SDKs need a key even for a server that does not.
NO_KEY: Final = "none"
# Keys of Anthropic, OpenAI and others, of Google, of xAI and of Groq, and no names such as xai-org/grok-2.
_KEYS: Final = re.compile(r"(?:sk-|AIza)[^/]{20,}|(?:xai-|gsk_)[A-Za-z0-9]{20,}")
_TOO_MANY: Final = 429
_REFUSED: Final = frozenset({401, 403})


def usable_key(key: str | None, variable: str) -> str | None:
    """Return a key without surrounding white space, such as a file's last newline; None if nothing is left.

    Raises AuthenticationError, without the key in its message, if a header cannot carry it.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        message = f"the API key contains an invalid character; check {variable}"
        raise AuthenticationError(message)
    return key or None


def usable_model(model: str) -> str:
    """Return the name of a model. Raises AuthenticationError, without quoting it, for a key in its place.

    Names of models are written into errors, logs and histories.
    """
    if _KEYS.fullmatch(model.strip()):
        message = "expected the name of a model, got an API key: pass it as api_key=..., or set the provider's variable"
        raise AuthenticationError(message)
    return model


def usable_address(url: str, setting: str = "base_url") -> str:
    """Return the URL of a server. Raises ProviderError, without the URL, whose parts may be secret, for another one."""
    if not url.lower().startswith(("http://", "https://")):
        message = f"{setting} must begin with http:// or https://, as in http://localhost:11434/v1"
        raise ProviderError(message)
    return url


def seconds_in(header: str | None) -> float | None:
    """Return the seconds in a `retry-after` header; None if it is missing or a date, which no provider sends."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    if math.isfinite(seconds) and seconds >= 0:
        return seconds
    return None


def error_for_status(
    message: str, status: int | None, *, key_variable: str, retry_after: float | None = None
) -> ProviderError:
    """Return the error for a response's status; `key_variable` names the environment variable of the key."""
    if status in _REFUSED:
        return AuthenticationError(f"{message}; is {key_variable} right?")
    if status == _TOO_MANY:
        # The caller decides whether to wait that long.
        return RateLimitError(message, retry_after=retry_after)
    return ProviderError(message)


@contextmanager
def clean_errors(redactor: Redactor) -> Generator[None]:
    """Remove credentials from the errors about an answer, which may repeat them."""
    try:
        yield
    except ProviderError as error:
        redactor.cause(error)
        raise
