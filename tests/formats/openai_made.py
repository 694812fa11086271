"""Conversations, calls and hostile JSON, made for the tests of Chat Completions."""

from typing import Any

from hypothesis import strategies as st

from ez_ptc.formats.describable import ToolShape
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Entry, MessageRole, TextMessage

__all__ = ["ELSEWHERE", "HELLO", "JSON", "MESSAGES", "SENT_NAME", "SYSTEM", "WEATHER", "call", "prompt"]

WEATHER = ToolShape(
    "météo du jour",
    "Tell the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
SENT_NAME = "meteo_du_jour"
ELSEWHERE = "127.0.0.1"
HELLO = TextMessage("Hello")
SYSTEM = TextMessage("Be brief.", role=MessageRole.SYSTEM)


def prompt(*entries: Entry, **fields: Any) -> Prompt:
    return Prompt(model="m", entries=entries or (HELLO,), **fields)


def call(identifier: str | None = "call_1", arguments: object = '{"city": "Oslo"}', **fields: Any) -> dict[str, Any]:
    made = {"type": "function", "function": {"name": SENT_NAME, "arguments": arguments}, **fields}
    return made if identifier is None else {"id": identifier, **made}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["id", "function", "name", "index", "x"]), inner),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("content", "refusal", "tool_calls", "function_call", "reasoning", "role"), JSON)
)
