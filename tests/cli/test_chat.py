"""A conversation in the terminal."""

import contextlib
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from ez_ptc import Prompt, ScriptedProvider, ToolCall, Toolkit, ez_tool
from ez_ptc.cli.app import main
from ez_ptc.cli.chat import Chat, default_history, run_chat
from ez_ptc.cli.models import ModelOptions
from ez_ptc.cli.run import CommandError
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.conversation.saving.history import History
from ez_ptc.errors import ConnectionFailedError, HistoryError
from ez_ptc.messages import Answer, MessageRole, TextMessage, Usage
from tests.control_c import press_control_c
from tests.providers.openai.chat_server import ChatServer


@ez_tool(requires_approval=True)
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return f"{to} got {amount}"


PROMPT = "  ? [y/N, or a reason for refusal; ? shows everything] "


class Person:
    """Says one thing after the other, and sees everything that is written."""

    def __init__(self, *says: str) -> None:
        self._says: Iterator[str] = iter(says)
        self.sees = ""

    def read(self, prompt: str) -> str:
        self.sees += prompt
        try:
            said = next(self._says)
        except StopIteration:
            raise EOFError from None
        self.sees += f"{said}\n"
        return said

    def write(self, text: str) -> None:
        self.sees += text


def talk(builder: LLMPromptBuilder, history: History, *says: str, resume: str | None = None) -> str:
    person = Person(*says)
    assert Chat(builder, history, read=person.read, write=person.write, ask=person.read).run(resume) == 0
    return person.sees


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.sqlite") as kept:
        yield kept


def test_question_is_answered_and_saved(history: History) -> None:
    builder = llm().provider(ScriptedProvider("Hello, Ada.", "Still here."))
    sees = talk(builder, history, "Hi", "", "Are you there?")
    assert "you> Hi\nHello, Ada.\n" in sees
    assert "Still here." in sees
    (record,) = history.list()
    assert (record.title, record.messages) == ("Hi", 4)
    assert f"--resume {record.id}." in sees


def test_conversation_can_be_resumed(history: History) -> None:
    talk(llm().provider(ScriptedProvider("Hello.")), history, "Hi", "/quit", "never said")
    (record,) = history.list()
    provider = ScriptedProvider("Again.")
    talk(llm().provider(provider), history, "Me again", resume=record.id)
    assert [str(each) for each in LLMPromptBuilder(provider.prompts[0].entries).messages] == [
        "Hi",
        "Hello.",
        "Me again",
    ]
    assert [(each.id, each.messages) for each in history.list()] == [(record.id, 4)]
    with pytest.raises(CommandError, match="has no conversation 'nothing'"):
        talk(llm(), history, resume="nothing")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("y", "= Ada got 5"), ("YES", "= Ada got 5"), ("", "! pay was not approved"), ("no", "! pay was not approved")],
)
def test_call_asks_for_approval(history: History, answer: str, outcome: str) -> None:
    builder = llm().tool(pay).provider(ScriptedProvider(ToolCall("", "pay", {"to": "Ada", "amount": 5}), "Done."))
    sees = talk(builder, history, "Pay Ada", answer)
    assert "→ pay(to='Ada', amount=5)" in sees
    asked = f'Allow pay?\n\n    to = "Ada"\n    amount = 5\n{PROMPT}'
    assert asked in sees
    assert outcome in sees


def test_refusal_may_have_a_reason(history: History) -> None:
    builder = llm().tool(pay).provider(ScriptedProvider(ToolCall("", "pay", {"to": "Ada", "amount": 5}), "Pity."))
    assert "! pay was not approved: too much" in talk(builder, history, "Pay Ada", "too much")


def test_call_from_program_asks_for_approval(history: History) -> None:
    program = "print(pay('Ada', 5))\x1b[2K"
    with Toolkit([pay]) as toolkit:
        provider = ScriptedProvider(ToolCall("", "execute_tools", {"code": program[:-4]}), "Done.")
        sees = talk(llm().toolkit(toolkit).provider(provider), history, "Pay Ada", "y")
    assert "→ execute_tools:\n    print(pay('Ada', 5))" in sees
    assert f'    to = "Ada"\n    amount = 5\n{PROMPT}' in sees
    assert "= Ada got 5" in sees


def test_model_text_cannot_control_terminal(history: History) -> None:
    call = ToolCall("", "pay", {"to": "\x1b[2K\rEve", "amount": 5})
    forged = "pay\x1b[2K\n  ? Allow rest()? [y/N]"
    others = [ToolCall("", forged, {forged: 1}), ToolCall("", forged, {"code": "1"})]
    script = ScriptedProvider(["\x1b[2Jgone", call, *others], "\x9b2J")
    sees = talk(llm().tool(pay).provider(script), history, "Pay", "y")
    assert "\n  ? Allow rest" not in sees
    assert not any(each in sees for each in "\x1b\x9b\r")
    assert "gone" in sees


def test_approval_can_show_all_arguments(history: History) -> None:
    hidden = f"{'a' * 2_000} Eve {'b' * 2_000}"
    builder = llm().tool(pay).provider(ScriptedProvider(ToolCall("", "pay", {"to": hidden, "amount": 5}), "Done."))
    sees = talk(builder, history, "Pay Ada", "?", "no")
    first, everything, second = sees.partition("Allow pay?")[2].split("Allow pay?")
    assert " Eve " not in first
    assert " Eve " in everything.replace("\n    | ", "")
    assert "more characters" in second
    assert sees.count(PROMPT) == 2
    assert "! pay was not approved" in sees


def test_arguments_cannot_imitate_a_question(history: History) -> None:
    forged = f"x{' ' * 3_000}\u2060\n  ? Allow get_weather? [y/N, or a reason for refusal] "
    builder = llm().tool(pay).provider(ScriptedProvider(ToolCall("", "pay", {"to": forged, "amount": 5}), "Done."))
    person = Person("Pay Ada", "no")
    asked: list[str] = []

    def read(prompt: str) -> str:
        asked.append(prompt)
        return person.read(prompt)

    Chat(builder, history, read=read, write=person.write, ask=read).run()
    *before, last = asked[1].splitlines()
    assert last == PROMPT
    assert len(before) == 6
    assert not any(line.startswith("  ? ") for line in before)
    assert all(len(line) < 80 for line in before)


def test_end_of_input_refuses(history: History) -> None:
    builder = llm().tool(pay).provider(ScriptedProvider(ToolCall("", "pay", {"to": "Ada", "amount": 5}), "Pity."))
    assert "! pay was not approved" in talk(builder, history, "Pay Ada")


def test_late_approval_does_not_count(history: History) -> None:
    person, asked, stopped = Person("Pay Ada"), threading.Event(), threading.Event()
    paid: list[str] = []

    @ez_tool(requires_approval=True)
    def send(to: str) -> str:
        """Send it."""
        paid.append(to)
        return to

    def read(prompt: str) -> str:
        if "[y/N" in prompt:
            asked.set()
            press_control_c(stopped)
            return "y"
        if asked.is_set():
            stopped.set()
        return person.read(prompt)

    builder = llm().tool(send).provider(ScriptedProvider(ToolCall("", "send", {"to": "Eve"}), "Done."))
    Chat(builder, history, read=read, write=person.write, ask=read).run()
    assert "! stopped" in person.sees
    assert paid == []


@pytest.mark.parametrize("result", [10**5_000, "\x1b[2J", "a\u202eb\rc", {"\x1b": "\ud800"}], ids=range(4))
def test_result_is_one_printable_line(history: History, result: object) -> None:
    @ez_tool
    def get(n: int) -> object:
        """Get it."""
        return result

    sees = talk(llm().tool(get).provider(ScriptedProvider(ToolCall("", "get", {"n": 1}), "Done.")), history, "Get it")
    assert not any(each in sees for each in "\x1b\u202e\r\ud800")
    assert "Done." in sees


BOTH = [ToolCall("", "pay", {"to": name, "amount": 5}) for name in ("Ada", "Eve")]


def test_approvals_are_asked_one_by_one(history: History) -> None:
    person, asking, at_once = Person("Pay both", "y", "y"), threading.Lock(), threading.Event()

    def read(prompt: str) -> str:
        if "[y/N" not in prompt:
            return person.read(prompt)
        if not asking.acquire(blocking=False):
            at_once.set()
            return "no"
        with contextlib.ExitStack() as stack:
            stack.callback(asking.release)
            at_once.wait(0.2)
            return person.read(prompt)

    builder = llm().tool(pay).provider(ScriptedProvider(BOTH, "Done."))
    Chat(builder, history, read=read, write=person.write, ask=read).run()
    assert not at_once.is_set()
    assert "= Ada got 5" in person.sees
    assert "= Eve got 5" in person.sees


def test_stopped_answer_drops_pending_approvals(history: History) -> None:
    person, asked, left, again = Person("Pay both"), threading.Event(), threading.Event(), threading.Event()

    def read(prompt: str) -> str:
        if "[y/N" in prompt:
            (again if asked.is_set() else asked).set()
            press_control_c(left)
            return ""
        if asked.is_set():
            left.set()
            again.wait(0.3)
        return person.read(prompt)

    builder = llm().tool(pay).provider(ScriptedProvider(BOTH, "Done."))
    Chat(builder, history, read=read, write=person.write, ask=read).run()
    assert "! stopped" in person.sees
    assert (asked.is_set(), again.is_set()) == (True, False)


def test_unsavable_conversation_continues_with_warning(history: History) -> None:
    said = (TextMessage("Hello.", role=MessageRole.ASSISTANT),)
    odd = Answer(messages=said, content=float("nan"))
    sees = talk(llm().provider(ScriptedProvider(odd, "Still here.")), history, "Hi", "Are you?")
    assert "! not saved: cannot save a conversation's" in sees
    assert "Still here." in sees


def test_unwritable_history_fails_before_first_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    file = tmp_path / "file"
    file.write_text("no history")
    for history, error in ((file / "h", CommandError), (tmp_path, CommandError), (file, HistoryError)):
        with pytest.raises(error):
            run_chat(None, ModelOptions("openai-chat:m"), history=history, resume=None, mode="tool")


def test_failing_provider_is_reported_and_retried(history: History) -> None:
    builder = llm().provider(ScriptedProvider(ConnectionFailedError("the line is dead"), "Here."))
    sees = talk(builder, history, "Hi", "Hi again")
    assert "! the line is dead" in sees
    assert "Here." in sees


def test_effects_before_provider_failure_are_not_repeated(history: History) -> None:
    call = ToolCall("", "pay", {"to": "Ada", "amount": 5})
    provider = ScriptedProvider(call, ConnectionFailedError("the line is dead"), "Ada has it.")
    sees = talk(llm().tool(pay).provider(provider), history, "Pay Ada", "y", "Well?")
    assert "! the line is dead" in sees
    assert "Ada has it." in sees
    assert "Ada got 5" in [getattr(each, "result", "") for each in provider.prompts[-1].entries]


def test_an_answer_can_be_stopped(history: History) -> None:
    def stop(prompt: Prompt) -> str:
        raise KeyboardInterrupt

    call = ToolCall("", "pay", {"to": "Ada", "amount": 5})
    provider = ScriptedProvider(call, stop, "Ada has it.")
    sees = talk(llm().tool(pay).provider(provider), history, "Pay Ada", "y", "Well?")
    assert "! stopped; the conversation keeps everything so far" in sees
    assert "Ada has it." in sees
    (record,) = history.list()
    assert record.messages == 5


def test_usage_is_shown_by_turn_and_total(history: History) -> None:
    said = (TextMessage("Hello.", role=MessageRole.ASSISTANT),)
    known = Answer(messages=said, usage=Usage(12_000, 300, 10_000), model="gpt-4.1")
    provider = ScriptedProvider(known, Answer(messages=said, usage=Usage(5, 1), model="local\x1b[2J"))
    sees = talk(llm().provider(provider), history, "/usage", "Hi", "/usage", "Hi", "/usage")
    assert "you> /usage\n  in all: 0 input tokens, 0 output tokens, $0.0000" in sees
    assert "  1. gpt-4.1: 12,000 input tokens (10,000 cached), 300 output tokens, $0.0114 at list prices of 20" in sees
    assert "  in all: 12,000 input tokens (10,000 cached), 300 output tokens, $0.0114" in sees
    assert "  in all: 12,005 input tokens (10,000 cached), 301 output tokens, unknown price" in sees
    assert len(provider.prompts) == 2
    assert "\x1b" not in sees


def test_limit_is_reported_and_chat_continues(history: History) -> None:
    builder = llm().tool(pay).limits(turns=1)
    provider = ScriptedProvider(ToolCall("", "pay", {"to": "A", "amount": 1}), "Yes?")
    sees = talk(builder.provider(provider), history, "Pay", "y", "Well?")
    assert "! the conversation reached its limit of 1 answers" in sees
    assert "Yes?" in sees


def test_missing_provider_fails_before_first_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(CommandError, match=r"set one of ANTHROPIC_API_KEY.*; or pass --base-url http:") as failed:
        run_chat(None, ModelOptions(), history=tmp_path / "h", resume=None, mode="tool")
    assert ".provider(" not in str(failed.value)


def test_chat_uses_the_only_model_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer("Good day.") as server:
        monkeypatch.setattr("sys.stdin", StringIO("Hello\n"))
        assert main(["chat", "--base-url", server.url, "--history", str(tmp_path / "h")]) == 0
    assert "Good day." in capsys.readouterr().out


def test_default_history_is_in_user_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_history() == tmp_path / "ez-ptc" / "history.sqlite"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_history() == tmp_path / ".local" / "share" / "ez-ptc" / "history.sqlite"
