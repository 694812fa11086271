"""Secret arguments are masked wherever a call is shown, and the function gets them as they are."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, SecretStr

from ez_ptc import LLMPromptBuilder, ScriptedProvider, Sensitive, Tool, ToolCall, Toolkit, ez_tool

_SECRET = "hunter2-sesame"
_received: list[str] = []


class _Login(BaseModel):
    user: str
    password: SecretStr


@ez_tool
def log_in(user: str, password: Annotated[str, Sensitive]) -> str:
    """Log in."""
    _received.append(password)
    return f"{user} is in"


@ez_tool
def log_in_all(logins: list[_Login]) -> int:
    """Log in all."""
    _received.extend(login.password.get_secret_value() for login in logins)
    return len(logins)


def _by_hand(**fields: str) -> str:
    _received.append(fields["door-code"])
    return "known"


TOOLS: list[Any] = [
    log_in,
    log_in_all,
    Tool(
        "enter",
        "Enter.",
        _by_hand,
        {
            "type": "object",
            "properties": {"door-code": {"type": "string", "writeOnly": True}},
            "required": ["door-code"],
        },
    ),
]

CALLS = {
    "by name": "log_in(user='ada', password=secret)",
    "by position": "log_in('ada', secret)",
    "by another spelling": "enter(door_code=secret)",
    "in records": "log_in_all([{'user': 'ada', 'password': secret}])",
    "by a handwritten schema": "enter(**{'door-code': secret})",
    "by an unknown name": "log_in(**{'user': 'ada', f'pass{1}': secret})",
    "one too many": "log_in(*['ada', secret, secret][:int('3')])",
}


@pytest.fixture(autouse=True)
def nothing_was_received() -> None:
    _received.clear()


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit(TOOLS) as toolkit:
        yield toolkit


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_secret_is_in_no_record_and_no_event(toolkit: Toolkit, call: str) -> None:
    records: list[Any] = []
    code = f"secret = {_SECRET[:7]!r} + {_SECRET[7:]!r}\nprint({call})"
    result = toolkit.execute(code, on_tool_call=records.append)
    with toolkit.stream(code) as events:
        seen = [*events]
    html = result._repr_html_()  # pyright: ignore[reportPrivateUsage] - what notebooks call
    assert _received == [_SECRET] * (2 if result.success else 0)
    for shown in (repr(result), str(result.tool_calls), str(records), str(seen), html):
        assert _SECRET not in shown
        assert "*****" in shown


def test_others_of_its_arguments_are_shown(toolkit: Toolkit) -> None:
    result = toolkit.execute(f"log_in('ada', {_SECRET!r})\nlog_in_all([{{'user': 'ada', 'password': {_SECRET!r}}}])")
    assert [call["args"] for call in result.tool_calls] == [
        ("ada", "**********"),
        ([{"user": "ada", "password": "**********"}],),
    ]


def test_call_of_a_model_is_reported_with_a_mask() -> None:
    records: list[dict[str, Any]] = []
    provider = ScriptedProvider([ToolCall("c1", "log_in", {"user": "ada", "password": _SECRET})], "Done.")
    builder = LLMPromptBuilder().provider(provider).tools([log_in]).on_tool_call(records.append)
    builder.prompt("Log in.")
    assert _received == [_SECRET]
    assert [record["kwargs"] for record in records] == [{"user": "ada", "password": "**********"}]


def test_correction_compares_the_secrets_themselves(toolkit: Toolkit) -> None:
    failed = toolkit.execute("log_in('ada', 'sesame-one')\nraise ValueError('no')")
    toolkit.execute("log_in('ada', 'sesame-one')\nlog_in('ada', 'sesame-two')", after=failed)
    assert _received == ["sesame-one", "sesame-two"]
