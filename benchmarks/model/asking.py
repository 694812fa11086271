"""The local model: one question at a time, the same settings for every subject."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["Asked", "Message", "ask", "continued"]

_MOST_TOKENS: Final = 400
Message = dict[str, Any]


class Asked:
    """An answer: the message as it goes back to the model, and the text or the call's code that is in it."""

    def __init__(self, message: Message) -> None:
        self.message = message
        calls = cast("list[Message]", message.get("tool_calls") or [])
        self.called: str | None = calls[0]["id"] if calls else None
        self.text: str = _code(calls[0]["function"]["arguments"]) if calls else message.get("content") or ""


def _code(text: str) -> str:
    try:
        arguments = json.loads(text)
    except ValueError:
        return text
    return str(cast("Message", arguments).get("code", "")) if isinstance(arguments, dict) else text


def ask(
    client: OpenAI, model: str, messages: list[Message], *, tools: list[Message], stop: list[str], sampling: Message
) -> Asked:
    """Return the model's next message; `sampling` is its temperature and seed."""
    body: Message = {"model": model, "messages": messages, "max_tokens": _MOST_TOKENS, **sampling}
    body |= {"tools": tools} if tools else {}
    body |= {"stop": stop} if stop else {}
    from openai import InternalServerError

    try:
        answer = cast("Message", client.post("/chat/completions", body=body, cast_to=cast("Any", dict)))
    except InternalServerError as error:
        if "tool call" not in str(error):
            raise
        # A call that is longer than an answer may be: the server cannot read what there is of it.
        return Asked({"role": "assistant", "content": ""})
    message = cast("Message", answer["choices"][0]["message"])
    return Asked({key: value for key, value in message.items() if key in {"role", "content", "tool_calls"}})


def continued(asked: Asked, told: str) -> list[Message]:
    """Return the messages by which the model learns what came of its answer."""
    if asked.called is None:
        return [asked.message, {"role": "user", "content": told}]
    return [asked.message, {"role": "tool", "tool_call_id": asked.called, "content": told}]
