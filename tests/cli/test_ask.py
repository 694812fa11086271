"""`ez-ptc ask`: one question, its calls on standard error, its answer on standard output."""

import json
import sys
from io import StringIO
from itertools import chain
from pathlib import Path

import pytest

from ez_ptc.cli.app import main
from ez_ptc.cli.models import ModelOptions
from ez_ptc.cli.run import CommandError
from ez_ptc.errors import AuthenticationError
from ez_ptc.providers.lookup import KEYS
from tests.providers.openai.chat_server import ChatServer, Reply

MODULE = """
from ez_ptc import Toolkit, ez_tool

@ez_tool
def price(product: str) -> float:
    "Look up a price."
    return {"lamp": 39.5}[product]

@ez_tool(requires_approval=True)
def refund(amount: float) -> str:
    "Refund."
    return f"refunded {amount}"

toolkit = Toolkit([price, refund])
trusting = Toolkit([refund], approve=lambda call: True)
"""
PROGRAM = "```python\nprint(price('lamp'))\n```"
REFUND = "```python\ntry:\n    print(refund(5))\nexcept Exception as error:\n    print(error)\n```"


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the module with the toolkits, and forget all keys."""
    (tmp_path / "asked_shop.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "asked_shop", raising=False)
    for variable in (*chain.from_iterable(KEYS.values()), "EZ_PTC_MODEL"):
        monkeypatch.delenv(variable, raising=False)


def ask(
    server: ChatServer,
    *options: str,
    question: str = "What does a lamp cost?",
    tools: str = "toolkit",
    mode: str = "prompt",
) -> int:
    common = ["--tools", f"asked_shop:{tools}", "--mode", mode, "--base-url", server.url]
    return main(["ask", question, *common, *options])


def test_answer_is_on_standard_output_and_calls_on_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(PROGRAM, "A lamp costs 39.50.") as server:
        assert ask(server) == 0
    printed = capsys.readouterr()
    assert printed.out == "A lamp costs 39.50.\n"
    assert "· price('lamp')" in printed.err
    assert "39.5" in printed.err


def test_answer_as_json_has_calls_and_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(PROGRAM, "39.50") as server:
        assert ask(server, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["answer"] == "39.50"
    (call,) = answer["calls"]
    assert (call["name"], call["args"], call["result"], call["error"]) == ("price", ["lamp"], 39.5, None)
    assert answer["usage"]["input_tokens"] >= 0


def test_arguments_as_json_text_are_shown_as_their_values(capsys: pytest.CaptureFixture[str]) -> None:
    function = {"name": "execute_tools", "arguments": json.dumps({"code": "total = price('lamp')\nprint(total)"})}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
    with ChatServer(Reply(json.dumps(body)), "39.50") as server:
        assert ask(server, "--json", mode="tool") == 0
    printed = capsys.readouterr()
    assert "→ execute_tools:\n    total = price('lamp')\n    print(total)\n" in printed.err
    assert json.loads(printed.out)["calls"][0]["kwargs"] == {"code": "total = price('lamp')\nprint(total)"}


def test_question_is_read_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer("Good day.") as server:
        monkeypatch.setattr("sys.stdin", StringIO("Hello?"))
        assert ask(server, question="-") == 0
        assert server.requests[0]["messages"][-1]["content"] == "Hello?"
        assert ask(server, question=" ") == 2
    assert "expected a question, got none: write ez-ptc ask" in capsys.readouterr().err


def test_call_is_refused_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("y\ny\n"))
    with ChatServer(REFUND, "No.") as server:
        assert ask(server) == 0
        report = server.requests[1]["messages"][-1]["content"]
    printed = capsys.readouterr()
    assert "refund was not approved: there is no terminal on which a person could be asked" in report
    assert "ez-ptc: refund was refused: there is no terminal" in printed.err
    assert "give the Toolkit an approver" in printed.err


def test_approver_of_the_toolkit_decides(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(REFUND, "Done.") as server:
        assert ask(server, tools="trusting") == 0
        assert "refunded 5.0" in server.requests[1]["messages"][-1]["content"]
    assert "was refused" not in capsys.readouterr().err


def test_failing_provider_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(PROGRAM) as server:
        assert ask(server) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "· price('lamp')" in printed.err
    assert "ez-ptc: " in printed.err


def test_empty_answer_has_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer("   ") as server:
        assert ask(server) == 1


# The model ------------------------------------------------------------------------------------------------------------


def test_key_of_a_variable_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "shop-key")
    monkeypatch.setenv("OPENAI_API_KEY", "other-key")
    with ChatServer("A.", "B.") as server:
        assert ask(server, "--key-env", "SHOP_KEY") == 0
        assert ask(server, "--key-env", "SHOP_KEY", "--provider", "openai-chat", "--model", "m") == 0
        assert all(key.endswith("shop-key") for key in server.keys)
        assert server.requests[1]["model"] == "m"


@pytest.mark.parametrize("provider", [None, "openai-chat", "anthropic"])
def test_key_that_cannot_be_sent_names_its_own_variable(provider: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "shop\nkey")
    options = ModelOptions("m", base_url="http://127.0.0.1:9/v1", key_env="SHOP_KEY", provider=provider)
    with pytest.raises(AuthenticationError, match=r"^the API key contains an invalid character; check SHOP_KEY$"):
        options.builder()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ModelOptions(),
            "set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, MISTRAL_API_KEY",
        ),
        (ModelOptions(), "with --provider and the variable of its key with --key-env; or pass --base-url http://"),
        (ModelOptions("openai:m"), "needs a key: set OPENAI_API_KEY"),
        (ModelOptions(provider="mistral", model="m"), "or name another variable with --key-env"),
        (
            ModelOptions(key_env="NO_SUCH_KEY"),
            "--key-env: the environment variable 'NO_SUCH_KEY' is not set: export it",
        ),
        (ModelOptions(key_env="PATH"), "--key-env PATH names a key, but not its provider: add --provider or --model"),
    ],
)
def test_missing_key_names_the_options(options: ModelOptions, message: str) -> None:
    with pytest.raises(CommandError) as raised:
        options.builder()
    assert message in str(raised.value)
    assert ".provider(" not in str(raised.value)
