"""Fields that answers of Chat Completions and Responses have in common."""

from collections.abc import Mapping
from typing import Final, cast

from ez_ptc.errors import AuthenticationError, ProviderError, RateLimitError
from ez_ptc.formats.json_reader import JsonObject
from ez_ptc.formats.wire import is_count, one_line
from ez_ptc.messages import Usage

__all__ = ["raise_reported_error", "read_usage"]

_AUTHENTICATION: Final = frozenset({"invalid_api_key", "authentication_error", "401", "403"})
_RATE_LIMIT: Final = frozenset({"rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "429"})


def read_usage(usage: object, input_key: str, output_key: str) -> Usage:
    """Return the token counts under these keys; invalid counts are 0."""
    if not isinstance(usage, Mapping):
        return Usage()
    fields = cast("Mapping[str, object]", usage)
    return Usage(
        input_tokens=_count(fields, input_key),
        output_tokens=_count(fields, output_key),
        cached_tokens=_count(fields.get(f"{input_key}_details"), "cached_tokens"),
        reasoning_tokens=_count(fields.get(f"{output_key}_details"), "reasoning_tokens"),
    )


def raise_reported_error(received: JsonObject) -> None:
    """Raise the error that an answer or an event reports, if any: under `error`, or the object itself is one.

    Raises:
        AuthenticationError: The key was rejected.
        RateLimitError: There were too many requests.
        ProviderError: Any other error.
    """
    error: object = received.fields.get("error")
    if not error and "error" in (received.type_name(), received.fields.get("object")):
        error = received.fields
    if not error:
        return
    fields: Mapping[str, object] = {"message": error}
    if isinstance(error, Mapping):
        fields = cast("Mapping[str, object]", error)
    reason = fields.get("message")
    code = fields.get("code") or fields.get("type")
    if not isinstance(reason, str) or not reason:
        reason = "no reason given"
    message = f"the provider returned an error: {one_line(reason)}"
    if isinstance(code, str | int):
        message += f" ({one_line(code)})"
    # Servers other than OpenAI's have either as the reason, and some an HTTP status.
    codes = {str(fields.get(key)) for key in ("code", "type")}
    if codes & _AUTHENTICATION:
        raise AuthenticationError(message)
    if codes & _RATE_LIMIT:
        raise RateLimitError(message)
    raise ProviderError(message)


def _count(counts: object, key: str) -> int:
    if not isinstance(counts, Mapping):
        return 0
    value = cast("Mapping[str, object]", counts).get(key)
    if is_count(value):
        return value
    return 0
