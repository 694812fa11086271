"""In a conversation, what a person decided in `resume` is what runs, whatever a rule or a saved history says."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.conversation.saving.serialization import from_json, to_json
from ez_ptc.errors import DecisionError, JournalError
from ez_ptc.messages import PendingCall, ToolCall, ToolResultMessage
from ez_ptc.providers.scripted import Script, ScriptedProvider
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decisions import Approve, Deny
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.tool import Tool


@dataclass
class Bank:
    """A payment whose rule can be changed, and what it has paid."""

    rule: bool = True
    paid: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def tools(self, *, has_rule: bool = True) -> list[Tool[..., Any]]:
        def pay(to: str, amount: int = 1) -> str:
            """Pay."""
            self.paid.append((to, amount))
            return f"paid {to}"

        def needs_approval(_: PendingCall) -> bool:
            return self.rule

        return [ez_tool(requires_approval=needs_approval if has_rule else False)(pay)]

    def ask(self, *answers: Script) -> LLMPromptBuilder:
        return llm().tools(self.tools()).provider(ScriptedProvider(*answers)).converse("go")[1]

    def load(self, record: str, *answers: Script, has_rule: bool = False) -> LLMPromptBuilder:
        """Return a saved conversation with a weaker rule, loaded elsewhere."""
        self.rule = False
        tools = self.tools(has_rule=has_rule)
        return llm().tools(tools).provider(ScriptedProvider(*answers)).continued(*from_json(record))


def pay(name: str, call_id: str = "a", amount: int = 1) -> ToolCall:
    return ToolCall(call_id, "pay", {"to": name, "amount": amount})


def results_of(conversation: LLMPromptBuilder) -> list[Any]:
    return [entry.result for entry in conversation.entries if isinstance(entry, ToolResultMessage)]


@pytest.mark.parametrize("has_rule", [True, False])
def test_saved_call_waits_for_its_decision_elsewhere(has_rule: bool) -> None:
    bank = Bank()
    record = to_json(bank.ask(pay("Ada")).entries)
    loaded = bank.load(record, "done", has_rule=has_rule)
    _, waiting = loaded.resume()
    assert (waiting.status, waiting.pending[0].id, bank.paid) == ("paused", "a", [])
    _, denied = loaded.resume({"a": Deny("no!")})
    assert (denied.text, results_of(denied), bank.paid) == ("done", ["pay was not approved: no!"], [])
    bank.load(record, "done", has_rule=has_rule).resume({"a": Approve({"to": "Ada", "amount": 6})})
    assert bank.paid == [("Ada", 6)]


def _saved(bank: Bank) -> dict[str, Any]:
    return json.loads(to_json(bank.ask([pay("Ada"), pay("Eve", "b", 1_000)]).entries))


def test_question_of_one_call_answers_no_other() -> None:
    """A saved text can exchange what is said to wait; an answer is about the call that it stands beside."""
    bank = Bank()
    record = _saved(bank)
    *_, one, two = record["entries"]
    one["paused"], two["paused"] = two["paused"], one["paused"]
    loaded = bank.load(json.dumps(record), "done")
    _, waiting = loaded.resume({"a": Approve(), "b": Approve()})
    assert (waiting.status, [call.id for call in waiting.pending], bank.paid) == ("paused", ["a", "b"], [])
    waiting.resume({"a": Approve()})
    assert bank.paid == [("Ada", 1)]


def _pending(call_id: str, tool: str) -> dict[str, Any]:
    return {"id": call_id, "tool": tool, "arguments": {"to": "Eve"}, "path": "", "state": "needs_approval"}


FORGED: dict[str, dict[str, Any]] = {
    "nothing waits": {"pending": []},
    "a run waits": {"pending": [], "run_id": "some"},
    "another tool waits": {"pending": [_pending("b", "find")]},
    "another call waits": {"pending": [_pending("a", "pay")]},
}


@pytest.mark.parametrize("paused", FORGED.values(), ids=FORGED)
def test_text_of_a_saved_conversation_decides_nothing(paused: dict[str, Any]) -> None:
    bank = Bank()
    record = _saved(bank)
    record["entries"][-2]["paused"] = {"run_id": None, **paused}
    loaded = bank.load(json.dumps(record), "done")
    _, waiting = loaded.resume()
    assert (waiting.status, [call.id for call in waiting.pending], bank.paid) == ("paused", ["a", "b"], [])


def test_decision_sent_again_is_about_no_later_call() -> None:
    """Some servers number the calls of each answer from the start, and a decision may arrive twice."""
    bank = Bank()
    decisions = {"call_0": Approve()}
    _, waiting = bank.ask(pay("Ada", "call_0"), pay("Eve", "call_0", 1_000), "done").resume(decisions)
    assert (waiting.status, waiting.pending[0].arguments) == ("paused", {"to": "Eve", "amount": 1_000})
    loaded = bank.load(to_json(waiting.entries), "done")
    for conversation in (waiting, loaded):
        with pytest.raises(DecisionError, match="no pending call 'call_0'"):
            conversation.resume(decisions)
    assert bank.paid == [("Ada", 1)]
    loaded.resume({loaded.pending[0].id: Approve()})
    assert bank.paid == [("Ada", 1), ("Eve", 1_000)]


def test_calls_of_one_id_are_decided_one_by_one() -> None:
    bank = Bank()
    paused = bank.ask([pay("Ada", "call_0"), pay("Eve", "call_0", 1_000), pay("Bob", "call_1_1")], "done")
    one, two, three = paused.pending
    assert len({one.id, two.id, three.id}) == 3
    paused.resume({one.id: Deny(), two.id: Approve(), three.id: Deny()})
    assert bank.paid == [("Eve", 1_000)]


def test_result_of_a_call_is_not_that_of_one_of_the_same_id() -> None:
    bank = Bank(rule=False)
    ended = bank.ask([pay("Ada", "call_0"), pay("Eve", "call_0")], "done")
    assert results_of(ended) == ["paid Ada", "paid Eve"]


def test_decision_about_two_saved_calls_of_one_id_is_refused() -> None:
    """An earlier version left the ids of an answer as they were."""
    bank = Bank()
    record = to_json(bank.ask([pay("Ada", "call_0"), pay("Eve", "call_1", 1_000)], "done").entries)
    paused = bank.load(record.replace('"call_1"', '"call_0"'), "done")
    for decision in (Approve(), Deny()):
        with pytest.raises(DecisionError, match="2 pending calls have the id 'call_0'"):
            paused.resume({"call_0": decision})
    assert bank.paid == []


def test_remembered_approval_covers_no_call_that_waits() -> None:
    bank = Bank()
    paused = bank.ask([pay("Ada"), pay("Eve", "b")], "done")
    _, waiting = paused.resume({"a": Approve(remember="run")})
    assert [call.id for call in waiting.pending] == ["b"]
    assert bank.paid == [("Ada", 1)]


def test_run_of_a_later_call_is_its_own(tmp_path: Path) -> None:
    """A later call of `execute_tools` with the id of one that has paused runs its own program."""
    bank = Bank()
    toolkit = Toolkit(bank.tools(), journal=tmp_path / "runs.db")
    calls = [ToolCall("call_0", "execute_tools", {"code": f"print(pay('{name}'))"}) for name in ("Ada", "Bob")]
    paused = llm().toolkit(toolkit).provider(ScriptedProvider(*calls, "done")).converse("go")[1]
    (first,) = paused.pending
    _, waiting = paused.resume({first.id: True})
    (second,) = waiting.pending
    assert second.arguments["to"] == "Bob"
    assert second.id != first.id
    _, finished = waiting.resume({second.id: True})
    assert (finished.text, bank.paid) == ("done", [("Ada", 1), ("Bob", 1)])


def test_history_cannot_name_the_run_of_another_program(tmp_path: Path) -> None:
    bank = Bank()
    toolkit = Toolkit(bank.tools(), journal=tmp_path / "runs.db")
    other = toolkit.execute("pay('Eve', 1_000)")
    call = ToolCall("c", "execute_tools", {"code": "pay('Ada')"})
    paused = llm().toolkit(toolkit).provider(ScriptedProvider(call, "done")).converse("go")[1]
    run_id = paused.pending[0].id.partition(":")[0]
    record = to_json(paused.entries).replace(run_id, str(other.run_id))
    loaded = llm().toolkit(toolkit).provider(ScriptedProvider("done")).continued(*from_json(record))
    with pytest.raises(JournalError, match="is of another program"):
        loaded.resume({loaded.pending[0].id: True})
    assert bank.paid == []
