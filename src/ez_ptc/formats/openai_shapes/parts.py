"""What requests and answers in the two shapes of OpenAI have in common: Chat Completions and Responses."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import AuthenticationError, ProviderError, RateLimitError, SchemaError
from ez_ptc.formats.lowering.portable import portable
from ez_ptc.formats.lowering.strict import strict
from ez_ptc.formats.wire import encodable_body, is_count, one_line
from ez_ptc.messages import Answer, Usage
from ez_ptc.schema.arguments.json_text import read_json
from ez_ptc.schema.safe_repr import safe_repr

__all__ = [
    "OPENAI",
    "arguments_text",
    "came_from",
    "fitted_id",
    "is_mistral",
    "is_openai",
    "output_format",
    "raise_error",
    "short_id",
    "tool_choice_name",
    "usage_of",
    "with_options",
]

OPENAI: Final = "api.openai.com"
"""The server that a request is for where nothing else is said."""

_OPENAI_HOSTS: Final = (".openai.com", ".azure.com")
_MISTRAL_HOST: Final = ".mistral.ai"
_WORDS: Final = ("auto", "none", "required")
_NOT_JSON: Final = "not_json"
_HASH_DIGITS: Final = 24
_SHORT_DIGITS: Final = 9
_SHORT_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
_AUTHENTICATION: Final = frozenset({"invalid_api_key", "authentication_error", "401", "403"})
_RATE_LIMIT: Final = frozenset({"rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "429"})


def is_openai(server: str) -> bool:
    """Say whether a server, given by its host's name, is OpenAI's own, or Azure's of the same models.

    Others that speak the same language speak an older dialect of it, and show the conversation to their models by
    templates that are particular about the order of roles.
    """
    host = server.partition(":")[0]
    return f".{host.lower()}".endswith(_OPENAI_HOSTS)


def is_mistral(server: str) -> bool:
    """Say whether a server, given by its host's name, is Mistral's."""
    return f".{server.partition(':')[0].lower()}".endswith(_MISTRAL_HOST)


def came_from(answer: Answer, provider: str, server: str) -> bool:
    """Say whether an answer's `content` may go back to a server as it is: it came in that format, and from there."""
    return answer.provider == provider and answer.details.get("server", server) == server


def arguments_text(arguments: Mapping[str, Any] | str) -> str:
    """Return the arguments of a call as the text of a JSON object.

    Text that is no JSON becomes the one value of an object: servers of open models parse the arguments of earlier
    calls, and would refuse the whole conversation.
    """
    if not isinstance(arguments, str):
        return json.dumps(arguments, ensure_ascii=False)
    if not arguments.strip():
        return "{}"
    try:
        read_json(arguments, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return json.dumps({_NOT_JSON: arguments}, ensure_ascii=False)
    return arguments


def fitted_id(identifier: str, longest: int) -> str:
    """Return the id of another provider's call, as long as it may be."""
    if len(identifier) <= longest:
        return identifier
    return f"call_{hashlib.sha256(identifier.encode(errors='replace')).hexdigest()[:_HASH_DIGITS]}"


def short_id(identifier: str) -> str:
    """Return the id of another provider's call for a server that may show it to its model by Mistral's template.

    That one takes nothing but nine letters and digits.
    """
    if _SHORT_ID.fullmatch(identifier):
        return identifier
    return hashlib.sha256(identifier.encode(errors="replace")).hexdigest()[:_SHORT_DIGITS]


def output_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer has to be: strictly, where the schema can be said strictly."""
    try:
        return {"name": "answer", "schema": strict("answer", schema), "strict": True}
    except SchemaError:
        return {"name": "answer", "schema": portable("answer", schema), "strict": False}


def tool_choice_name(choice: str, names: Mapping[str, str]) -> str | None:
    """Return what the provider calls the one tool to call, or None where `choice` is no tool's name.

    Raises ProviderError for the name of a tool that there is not.
    """
    if choice in names:
        return names[choice]
    if choice in _WORDS:
        return None
    listed = ", ".join(names) or "none"
    message = (
        f"tool_choice is {safe_repr(choice)}, which is neither a tool nor 'auto', 'none' or 'required'; tools: {listed}"
    )
    raise ProviderError(message)


def with_options(body: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with further fields: objects and lists that are there already grow, the rest is replaced."""
    grown = {**body, **{name: _grown(body.get(name), value) for name, value in options.items()}}
    return encodable_body(grown)


def usage_of(usage: object, read: str, written: str) -> Usage:
    """Return how many tokens were taken, given the keys of what was read and written. What is no number is 0."""
    if not isinstance(usage, Mapping):
        return Usage()
    fields = cast("Mapping[str, object]", usage)
    return Usage(
        input_tokens=_count(fields, read),
        output_tokens=_count(fields, written),
        cached_tokens=_detail(fields, read, "cached_tokens"),
        reasoning_tokens=_detail(fields, written, "reasoning_tokens"),
    )


def raise_error(error: object) -> NoReturn:
    """Raise what an answer says went wrong.

    Raises:
        AuthenticationError: The key is refused.
        RateLimitError: There were too many requests.
        ProviderError: Anything else.
    """
    fields: Mapping[str, object] = cast("Mapping[str, object]", error) if isinstance(error, Mapping) else {}
    words = {str(fields.get(key)) for key in ("code", "type")}
    said = fields.get("message") or (error if isinstance(error, str) else None)
    code = fields.get("code") or fields.get("type")
    told = one_line(said) if isinstance(said, str) else "no reason is given"
    message = f"the provider answered with an error: {told}" + (
        f" ({one_line(code)})" if isinstance(code, str | int) else ""
    )
    if words & _AUTHENTICATION:
        raise AuthenticationError(message)
    if words & _RATE_LIMIT:
        raise RateLimitError(message)
    raise ProviderError(message)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _grown(there: object, more: object) -> object:
    if isinstance(there, Mapping) and isinstance(more, Mapping):
        return {**cast("Mapping[str, object]", there), **cast("Mapping[str, object]", more)}
    if isinstance(there, list) and isinstance(more, Sequence) and not isinstance(more, str | bytes):
        have = cast("list[object]", there)
        return [*have, *(each for each in cast("Sequence[object]", more) if each not in have)]
    return more


def _count(fields: Mapping[str, object], key: str) -> int:
    value = fields.get(key)
    return value if is_count(value) else 0


def _detail(fields: Mapping[str, object], key: str, detail: str) -> int:
    details = fields.get(f"{key}_details")
    return _count(cast("Mapping[str, object]", details), detail) if isinstance(details, Mapping) else 0
