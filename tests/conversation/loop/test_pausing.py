"""Conversations that wait for decisions, and go on later."""

from pathlib import Path

import pytest

from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.conversation.saving.history import History
from ez_ptc.errors import DecisionError, PausedError
from ez_ptc.messages import ToolCall, ToolResultMessage
from ez_ptc.providers.scripted import Script, ScriptedProvider
from ez_ptc.sandbox.protocol.events import ApprovalNeeded, CallStarted, ProgramEnded
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decisions import Approve, Deny, Happened, Pause
from ez_ptc.tools.decorators import ez_tool

paid: list[tuple[str, float]] = []
found: list[str] = []


@pytest.fixture(autouse=True)
def nobody_is_paid() -> None:
    paid.clear()
    found.clear()


@ez_tool(requires_approval=True)
def pay(to: str, amount: float = 1.0) -> str:
    """Pay somebody."""
    paid.append((to, amount))
    return f"paid {to}"


@ez_tool
def find(name: str) -> str:
    """Find somebody."""
    found.append(name)
    return name


PAY_ADA = ToolCall("a", "pay", {"to": "Ada"})
PROGRAM = "find('Ada')\nprint(pay('Ada'))"


def ask(*answers: Script) -> LLMPromptBuilder:
    """Return the conversation after a question about single calls."""
    return llm().tools(pay, find).provider(ScriptedProvider(*answers)).converse("go")[1]


def with_programs(path: Path, *answers: Script) -> LLMPromptBuilder:
    """Return a conversation whose model writes programs."""
    toolkit = Toolkit([pay, find], journal=path / "runs.db")
    return llm().toolkit(toolkit).provider(ScriptedProvider(*answers))


def test_unanswered_approval_ends_the_turn() -> None:
    paused = ask([ToolCall("f", "find", {"name": "Bob"}), PAY_ADA], "done")
    assert paused.status == "paused"
    (pending,) = paused.pending
    assert (pending.id, pending.tool, pending.arguments) == ("a", "pay", {"to": "Ada", "amount": 1.0})
    assert paid == []
    assert found == ["Bob"]


def test_approved_call_runs_once_and_the_turn_goes_on() -> None:
    paused = ask([ToolCall("f", "find", {"name": "Bob"}), PAY_ADA], "done")
    messages, finished = paused.resume({"a": Approve()})
    assert (finished.status, finished.text, finished.pending) == ("done", "done", ())
    assert paid == [("Ada", 1.0)]
    assert found == ["Bob"]
    results = [message.result for message in messages if isinstance(message, ToolResultMessage)]
    assert results == ["Bob", "paid Ada"]


def test_edited_call_runs_as_it_was_edited() -> None:
    assert ask(PAY_ADA, "done").resume({"a": {"to": "Bob", "amount": 2}})[1].text == "done"
    assert paid == [("Bob", 2.0)]


def test_refused_call_tells_the_model_why() -> None:
    messages, _ = ask(PAY_ADA, "sorry").resume({"a": Deny("too much")})
    (result,) = [message for message in messages if isinstance(message, ToolResultMessage)]
    assert result.result == "pay was not approved: too much"
    assert paid == []


def test_call_without_a_decision_waits_on() -> None:
    paused = ask([PAY_ADA, ToolCall("b", "pay", {"to": "Bob"})], "done")
    assert [pending.id for pending in paused.pending] == ["a", "b"]
    _, later = paused.resume({"b": True})
    assert paid == [("Bob", 1.0)]
    assert [pending.id for pending in later.pending] == ["a"]
    assert later.resume({"a": True})[1].text == "done"
    assert paid == [("Bob", 1.0), ("Ada", 1.0)]


def test_approver_may_leave_the_decision_for_later() -> None:
    model = ScriptedProvider(PAY_ADA, "done")
    paused = llm().tools(pay).approve(lambda _: Pause()).provider(model).converse("go")[1]
    assert paused.status == "paused"
    assert paused.resume({"a": True})[1].text == "done"


def test_approval_for_the_run_covers_further_calls() -> None:
    paused = ask(PAY_ADA, ToolCall("b", "pay", {"to": "Bob"}), "done")
    assert paused.resume({"a": Approve(remember="run")})[1].text == "done"
    assert paid == [("Ada", 1.0), ("Bob", 1.0)]


def test_unresumed_conversation_stays_valid_for_providers() -> None:
    # ScriptedProvider refuses calls without results.
    _, answered = ask(PAY_ADA, "as you like").converse("never mind")
    assert (answered.status, answered.text) == ("done", "as you like")
    assert paid == []
    with pytest.raises(DecisionError, match="this conversation is not paused"):
        answered.resume({"a": True})


@pytest.mark.parametrize(
    ("decisions", "complaint"),
    [({"x": True}, "no pending call 'x'; pending: a"), ({"a": Happened(1)}, "waits for an approval")],
)
def test_decision_must_fit_a_pending_call(decisions: dict[str, object], complaint: str) -> None:
    paused = ask(PAY_ADA, "done")
    with pytest.raises(DecisionError, match=complaint):
        paused.resume(decisions)
    assert paid == []


def test_caller_who_wants_text_gets_an_error() -> None:
    model = ScriptedProvider(PAY_ADA, "done")
    with pytest.raises(PausedError, match="pay waits for a person's decision") as caught:
        llm().tools(pay).provider(model).prompt("go")
    continuation = caught.value.continuation
    assert isinstance(continuation, LLMPromptBuilder)
    assert continuation.resume({"a": True})[1].text == "done"


def test_caller_who_wants_a_type_gets_an_error() -> None:
    model = ScriptedProvider(PAY_ADA, "done", output_schema=True)
    with pytest.raises(PausedError):
        llm().tools(pay).provider(model).prompt_for_type(int, "go")


def test_history_saves_and_loads_what_waits(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db")
    paused = ask([ToolCall("f", "find", {"name": "Bob"}), PAY_ADA])
    saved = history.save(paused)
    loaded = llm().tools(pay, find).provider(ScriptedProvider("done")).continued(*history.load(saved))
    assert loaded.pending == paused.pending
    _, finished = loaded.resume({"a": True})
    assert history.save(finished, id=saved) == saved
    assert history.load(saved) == finished.entries
    assert [record.messages for record in history.list()] == [6]
    history.close()


def test_program_that_pauses_pauses_the_conversation(tmp_path: Path) -> None:
    call = ToolCall("p", "execute_tools", {"code": PROGRAM})
    history = History(tmp_path / "history.db")
    saved = history.save(with_programs(tmp_path, call).converse("go")[1])
    loaded = with_programs(tmp_path, "done").continued(*history.load(saved))
    (pending,) = loaded.pending
    assert (loaded.status, pending.tool, pending.path) == ("paused", "pay", "2")
    messages, finished = loaded.resume({pending.id: Approve({"to": "Bob"})})
    assert finished.text == "done"
    assert (paid, found) == ([("Bob", 1.0)], ["Ada"])
    (result,) = [message for message in messages if isinstance(message, ToolResultMessage)]
    assert (result.result, result.success) == ("paid Bob\n", True)
    history.close()


def test_program_in_a_text_pauses_the_conversation(tmp_path: Path) -> None:
    toolkit = Toolkit([pay, find], journal=tmp_path / "runs.db")
    model = ScriptedProvider(f"```python\n{PROGRAM}\n```", "done")
    paused = llm().toolkit(toolkit, mode="prompt").provider(model).converse("go")[1]
    (pending,) = paused.pending
    assert paused.resume({pending.id: True})[1].text == "done"
    assert (paid, found) == ([("Ada", 1.0)], ["Ada"])


def test_program_that_was_continued_elsewhere_is_not_run_again(tmp_path: Path) -> None:
    call = ToolCall("p", "execute_tools", {"code": PROGRAM})
    paused = with_programs(tmp_path, call, "done").converse("go")[1]
    (pending,) = paused.pending
    with Toolkit([pay, find], journal=tmp_path / "runs.db") as toolkit:
        assert toolkit.resume(pending.id.partition(":")[0], {pending.id: True}).success
    assert paused.resume()[1].text == "done"
    assert paid == [("Ada", 1.0)]


def test_stream_has_the_events_of_a_program(tmp_path: Path) -> None:
    call = ToolCall("p", "execute_tools", {"code": PROGRAM})
    with with_programs(tmp_path, call).stream("go") as stream:
        events = list(stream)
    started = [event for event in events if isinstance(event, CallStarted)]
    assert [(event.tool, event.parent) for event in started] == [("find", "p"), ("pay", "p")]
    (needed,) = [event for event in events if isinstance(event, ApprovalNeeded)]
    assert needed.pending.id == started[1].id
    (ended,) = [event for event in events if isinstance(event, ProgramEnded)]
    assert (ended.parent, ended.result.status) == ("p", "paused")
    assert stream.continuation.pending == (needed.pending,)


async def test_paused_conversation_is_resumed_from_a_loop(anyio_backend: str) -> None:
    del anyio_backend
    model = ScriptedProvider(PAY_ADA, "done")
    _, paused = await llm().tools(pay).provider(model).prompt_conversation("go")
    _, finished = await paused.aresume({"a": True})
    assert finished.text == "done"
