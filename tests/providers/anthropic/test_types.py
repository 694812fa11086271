"""Answers of types that Anthropic's structured output has no schema for."""

from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from ez_ptc.conversation.builder import llm
from ez_ptc.providers.anthropic import AnthropicProvider
from tests.providers.anthropic.server import anthropic_server

_BOUND = 60


class Tree(BaseModel):
    """Something that contains itself."""

    value: int
    children: list["Tree"] = []


class Notes(BaseModel):
    """Something with keys that nobody knows before."""

    by_name: dict[str, list[Any]]


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(value=1, children=[Tree(value=2)])),
        (Notes, {"by_name": {"Ada": [1, "a"]}}, Notes(by_name={"Ada": [1, "a"]})),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (list, [1, "a"], [1, "a"]),
    ],
)
async def test_they_are_given_by_a_call(kind: type[object], given: object, value: object, anyio_backend: str) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "give_answer", "input": {"answer": given}}
    with anthropic_server([call]) as server, anyio.fail_after(_BOUND):
        asked = llm().provider(AnthropicProvider(api_key="key", base_url=server.url))
        assert await asked.aprompt_for_type(kind, "Which?") == value
    (body,) = server.bodies
    assert "output_config" not in body
    assert [tool["name"] for tool in body["tools"]] == ["give_answer"]
