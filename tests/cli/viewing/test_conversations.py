"""The pages of saved conversations: messages, tokens and costs, for people with a token."""

from pathlib import Path

import pytest

from ez_ptc import Answer, History, ScriptedProvider, TextMessage, ToolCall, Toolkit, Usage, llm
from ez_ptc.cli.app import main
from ez_ptc.cli.viewing.contents import read_version
from tests.cli.viewing.serving import application_server, refund, serving

_HOSTILE = "</pre><script>alert(1)</script>\x1b[2J\u202e"


def save_conversation(path: Path) -> str:
    """Save a conversation with a program, and an answer of a model whose price is known; return its id."""
    program = f"print('one', {_HOSTILE!r})\nprint('two')"
    model = ScriptedProvider(ToolCall("", "execute_tools", {"code": program}), _HOSTILE)
    with Toolkit([refund]) as toolkit:
        _, conversation = llm().toolkit(toolkit).provider(model).converse(_HOSTILE)
    priced = Answer(
        messages=(TextMessage("in short"),), model="claude-haiku-4-5", usage=Usage(1_000_000, 2_000, 500_000)
    )
    with History(path) as history:
        return history.save(conversation.continued(TextMessage("shorter"), priced))


def test_conversations_are_shown_with_tokens_and_costs(tmp_path: Path) -> None:
    conversation_id = save_conversation(tmp_path / "chats.db")
    pages = ("/data/conversations", f"/data/conversation/{conversation_id}")
    with History(tmp_path / "chats.db") as history, serving(tmp_path, history=history) as viewer:
        listed, shown = (viewer.ask("GET", page)[1] for page in pages)
        refused = {viewer.ask("GET", page, authorization="")[0] for page in pages}
        unknown = viewer.ask("GET", "/data/conversation/unknown")
    assert refused == {401}
    assert (unknown[0], "no conversation" in unknown[1]) == (409, True)
    assert f'href="/conversation/{conversation_id}"' in listed
    assert "<td>claude-haiku-4-5</td><td>1,000,000</td><td>500,000</td><td>2,000</td><td>$0.5600</td>" in shown
    assert "<td>all</td><td></td><td>1,000,000</td><td>500,000</td><td>2,000</td><td>unknown</td>" in shown
    assert "\nprint(&#x27;two&#x27;)</pre>" in shown
    for page in (listed, shown):
        assert "<script" not in page
        assert not {"\x1b", "\u202e"} & set(page)


def test_no_conversation_is_served_unless_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path) as viewer:
        status, text = viewer.ask("GET", "/data/conversations")
    assert (status, text.strip()) == (409, "no conversations are served: add --history FILE to the command")


def test_conversations_are_served_without_a_journal(tmp_path: Path) -> None:
    conversation_id = save_conversation(tmp_path / "chats.db")
    with History(tmp_path / "chats.db") as history, application_server(None, history) as viewer:
        listed = viewer.ask("GET", "/data/")
        assert (listed[0], f'href="/conversation/{conversation_id}"' in listed[1]) == (200, True)
        assert "All runs" not in listed[1]
        assert viewer.ask("GET", f"/data/conversation/{conversation_id}")[0] == 200
        refused = (409, "no runs are served: add --journal FILE to the command")
        for method, page in (("GET", "/data/run/1"), ("GET", "/data/audit"), ("POST", "/decisions")):
            status, text = viewer.ask(method, page, {"run": "1", "path": "1", "decision": "approve"})
            assert (status, text.strip()) == refused
        before = read_version(None, "/", history)
        save_conversation(tmp_path / "chats.db")
        assert read_version(None, "/", history) != before


def test_missing_journal_or_history_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EZ_PTC_JOURNAL", raising=False)
    save_conversation(tmp_path / "chats.db")
    for words, missing in (
        (["view"], "no journal at runs.db"),
        (["view", "--history", "none.db"], "no history at none.db"),
        (["view", "--history", "chats.db", "--journal", "other.db"], "no journal at other.db"),
        (["view", "abc", "--history", "chats.db"], "no journal at runs.db"),
    ):
        assert main(words) == 2
        assert missing in capsys.readouterr().err
