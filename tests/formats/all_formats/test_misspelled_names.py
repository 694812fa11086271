"""Calls whose tool a model has misspelled: understood if unique, and sent back in a form that each provider accepts."""

import json
import re
from typing import Any

import pytest

from ez_ptc.conversation.saving.serialization import from_json, to_json
from ez_ptc.formats.catalog import FORMATS as MODULES
from ez_ptc.formats.catalog import format_named
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import TextMessage, ToolResultMessage
from tests.formats.all_formats.provider_bodies import FORMATS, PROMPT, Form, send_money

every_format = pytest.mark.parametrize(("format_name", "form"), FORMATS.items(), ids=FORMATS)
UNDERSTOOD = (
    "functions.send_money",
    "default_api.send_money",
    "send_money<|channel|>x",
    "Send_Money",
    ' "sendMoney"\n',
)
UNKNOWN = ("functions.pay", "pay<|channel|>json", "p" * 80, "支払い", "", "pay her", "'\"`\n")


def with_name(value: Any, name: str) -> Any:  # noqa: ANN401 - any JSON
    """Return a provider's JSON with another name in its call."""
    return json.loads(json.dumps(value).replace('"send_money"', json.dumps(name)))


def sent_names(body: dict[str, Any]) -> list[str]:
    """Return the names of tools in the conversation of a request."""
    conversation = {key: value for key, value in body.items() if key not in ("tools", "toolConfig")}
    text = re.sub(r'\{[^{}]*"name": "web_search"', "{", json.dumps(conversation, ensure_ascii=False))
    return [json.loads(name) for name in re.findall(r'"name": ("(?:[^"\\]|\\.)*")', text)]


@every_format
@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("name", [*UNDERSTOOD, *UNKNOWN])
def test_conversation_with_misspelled_name_goes_on(
    format_name: str, form: Form, name: str, *, is_streamed: bool
) -> None:
    if is_streamed:
        answer, _ = form.streamed(with_name(form.events, name))
    else:
        answer = form.answer(with_name(form.body, name), PROMPT)
    (call,) = answer.calls
    own_name = "send_money" if name in UNDERSTOOD else name
    assert call.name == own_name
    assert name in json.dumps(answer.content, ensure_ascii=False) or not name.isprintable() or '"' in name

    result = ToolResultMessage(call.id, "ok", tool_name=call.name)
    entries = from_json(to_json((*PROMPT.entries, answer, result, TextMessage("Go on."))))
    rules = format_named(format_name).NAMES
    for tools in ((send_money,), ()):  # the tool may be gone by then
        names = sent_names(form.request(Prompt(model="m", entries=entries, tools=tools)))
        assert names
        assert len(set(names)) == 1
        assert rules.allow(names[0])
        assert own_name != "send_money" or names[0] == "send_money"


@every_format
def test_right_name_goes_back_unchanged(format_name: str, form: Form) -> None:
    del format_name
    answer = form.answer(form.body, PROMPT)
    result = ToolResultMessage(answer.calls[0].id, "ok", tool_name="send_money")
    body = form.request(Prompt(model="m", entries=(*PROMPT.entries, answer, result), tools=(send_money,)))

    assert set(sent_names(body)) == {"send_money"}


@pytest.mark.parametrize("format_name", MODULES)
def test_calls_without_names_keep_what_was_sent(format_name: str) -> None:
    form = FORMATS[{"openai": "openai-chat", "mcp": ""}.get(format_name, format_name) or "openai-chat"]
    body: Any = with_name(form.body, "functions.send_money")
    if format_name == "mcp":
        body = {"name": "functions.send_money", "arguments": {}}

    assert [call.name for call in format_named(format_name).calls(body)] == ["functions.send_money"]
