"""Fields that requests of Chat Completions and Responses have in common."""

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ArgumentsError, ProviderError, SchemaError
from ez_ptc.formats.lowering.portable import portable
from ez_ptc.formats.lowering.strict import strict
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.ordering import refuse_tool_choice
from ez_ptc.formats.prompt import Prompt
from ez_ptc.formats.wire import encodable_body
from ez_ptc.messages import Message
from ez_ptc.schema.arguments.json_text import parse_arguments, read_json

__all__ = [
    "alphanumeric_id",
    "arguments_text",
    "limit_fields",
    "output_format",
    "refuse_message",
    "shorten_id",
    "tool_fields",
    "with_options",
]

_TOOL_CHOICES: Final = ("auto", "none", "required")
_NOT_JSON: Final = "not_json"
_HASH_DIGITS: Final = 24
_TEMPLATE_ID_LENGTH: Final = 9
_TEMPLATE_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")


def arguments_text(arguments: Mapping[str, Any] | str) -> str:
    """Return a call's arguments as the text of a JSON object.

    Other spellings are rewritten as JSON, and anything but an object becomes the only value of one: servers of open
    models parse the arguments of earlier calls, and would reject the whole conversation.
    """
    if not isinstance(arguments, str):
        return json.dumps(arguments, ensure_ascii=False)
    if not arguments.strip():
        return "{}"
    readable: object = None
    with contextlib.suppress(ValueError, RecursionError):
        readable = read_json(arguments, parse_constant=int)  # takes no constant: NaN and Infinity raise ValueError
    if isinstance(readable, Mapping):
        return arguments
    try:
        readable = parse_arguments("the call", arguments)
    except ArgumentsError:  # the call's result has told the model so
        readable = {_NOT_JSON: arguments}
    return json.dumps(readable, ensure_ascii=False)


def shorten_id(identifier: str, max_length: int) -> str:
    """Return another provider's call id, hashed if it is too long."""
    if len(identifier) <= max_length:
        return identifier
    return f"call_{hashlib.sha256(identifier.encode(errors='replace')).hexdigest()[:_HASH_DIGITS]}"


def alphanumeric_id(identifier: str) -> str:
    """Return another provider's call id as nine letters and digits, which even the strictest chat template accepts."""
    if _TEMPLATE_ID.fullmatch(identifier):
        return identifier
    return hashlib.sha256(identifier.encode(errors="replace")).hexdigest()[:_TEMPLATE_ID_LENGTH]


def output_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the format of an answer, strict if the schema can be strict."""
    try:
        return {"name": "answer", "schema": strict("answer", schema), "strict": True}
    except SchemaError:
        return {"name": "answer", "schema": portable("answer", schema), "strict": False}


def tool_fields(
    prompt: Prompt, names: Names, describe: Callable[..., dict[str, Any]], *, is_nested: bool
) -> dict[str, Any]:
    """Return `tools` and `tool_choice`; `is_nested` is whether the choice of a tool nests its name in `function`."""
    if not prompt.tools:
        return {}
    fields: dict[str, Any] = {"tools": [describe(tool, strict=prompt.strict) for tool in prompt.tools]}
    choice = prompt.tool_choice
    if choice in names.sent:
        function: dict[str, Any] = {"name": names.sent[choice]}
        fields["tool_choice"] = {"type": "function", **({"function": function} if is_nested else function)}
    elif choice not in _TOOL_CHOICES:
        refuse_tool_choice(choice, names.sent)
    elif choice != "auto":
        fields["tool_choice"] = choice
    return fields


def limit_fields(prompt: Prompt, max_tokens_key: str) -> dict[str, Any]:
    """Return the token limit and the temperature, if the prompt sets them."""
    fields = {max_tokens_key: prompt.max_tokens, "temperature": prompt.temperature}
    return {key: value for key, value in fields.items() if value is not None}


def with_options(body: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with `options` added: objects and lists in both are merged, other fields replaced."""
    merged = {**body, **options}
    for key in body.keys() & options.keys():
        present, value = body[key], options[key]
        if isinstance(present, Mapping) and isinstance(value, Mapping):
            merged[key] = {**cast("Mapping[str, object]", present), **cast("Mapping[str, object]", value)}
        elif isinstance(present, list) and isinstance(value, Sequence) and not isinstance(value, str | bytes):
            elements, added = cast("list[object]", present), cast("Sequence[object]", value)
            merged[key] = [*elements, *(element for element in added if element not in elements)]
    return encodable_body(merged)


def refuse_message(message: Message) -> NoReturn:
    """Raise ProviderError for a message that OpenAI does not accept in its role."""
    name, role = type(message).__name__, message.role.value
    problem = f"OpenAI does not accept {name} from the {role}: send it as the user, or as text"
    raise ProviderError(problem)
