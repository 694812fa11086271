"""What a recorder gives of a run's record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from ez_ptc import Deny, Journal, PendingCall, Toolkit, ez_tool
from ez_ptc.journal.arguments.sealing import CallRules, Seal
from ez_ptc.journal.chain import Event
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.recorded.output_digest import OutputDigest
from ez_ptc.journal.recorder import RunRecorder
from ez_ptc.sandbox.protocol.frames import CallFrame, OutputFrame
from tests.journal.programs import Effects


def _accept(record: RunRecord, decisions: Mapping[str, object]) -> None:
    """Find nothing wrong with a run."""
    del record, decisions


def test_first_replies_are_bounded_in_size(tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    program = "for number in range(9):\n    effect('x' * 1000)\ntransfer('d', 1)"
    with Journal(tmp_path / "runs.db") as journal, Toolkit(effects.tools(), journal=journal) as toolkit:
        paused = toolkit.execute(program)
        assert paused.run_id is not None
        row, record = journal.claim(paused.run_id, {}, _accept)
        recorder = RunRecorder(journal.store, row, record, CallRules({}, Seal(row.id)))
        journal.store.locks.disown(row.number)

    calls, events = recorder.schedule(3_500)
    reply = f"s{'x' * 1000}!"
    assert calls == [*((str(number), reply if number < 4 else "") for number in range(1, 10)), ("10", None)]
    assert events == []
    assert [text for _, text in recorder.schedule(1 << 20)[0]] == [*[reply] * 9, None]


@pytest.mark.parametrize("beginnings", [1, 2, 3])
def test_program_that_begins_again_is_recorded_as_one_that_began_once(beginnings: int, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs.db")
    row, record = journal.start("effect(1)", {"scheduled": True, "limits": {}, "tools": []})
    recorder = RunRecorder(journal.store, row, record, CallRules({}, Seal(row.id)))
    for _ in range(beginnings):  # its worker is lost before the call, but for the last one
        assert recorder.schedule(1 << 20) == ([], [])
        recorder.report_output(OutputFrame(1, "begun"))
        recorder.report_events([("", 5)])
    recorder.arrive(CallFrame(1, "1", "effect", (1,), {}, alone=True))
    once = OutputDigest()
    once.add(OutputFrame(1, "begun"))
    assert record.calls["1"].output == once.text
    assert recorder.with_schedule(Event("intent")).data["schedule"] == [("", 5)]
    journal.close()


def test_journal_that_is_no_path_is_named() -> None:
    with pytest.raises(TypeError, match="a journal is a Journal, or the path of its file; got 3"):
        Toolkit([], journal=cast("str", 3))


def _program(attempt: str) -> str:
    return f"""
def attempt(name):
    try:
        return pay(name)
    except Exception as error:
        return str(error)
print({attempt})
"""


class Payments:
    """A journal with a run that pauses in payments, and whose later decisions may come from elsewhere."""

    def __init__(self, path: Path, attempt: str) -> None:
        @ez_tool(requires_approval=True)
        def pay(name: str) -> str:
            """Pay."""
            self.paid.append(name)
            self.has_paid.set()
            return f"paid {name}"

        self.path, self.tool = path, pay
        self.paid: list[str] = []
        self.has_paid = threading.Event()
        with Toolkit([pay], journal=path) as toolkit:
            paused = toolkit.execute(_program(attempt))
        assert paused.run_id is not None
        self.run_id = paused.run_id
        self.ids = {call.arguments["name"]: call.id for call in paused.pending}

    def resume(self, approve: Callable[[PendingCall, Journal], bool]) -> str:
        """Resume the run with an approver that can reach another journal object, and return its output."""
        with (
            Journal(self.path) as elsewhere,
            Toolkit([self.tool], journal=self.path, approve=lambda call: approve(call, elsewhere)) as toolkit,
        ):
            return toolkit.resume(self.run_id).output


def test_decision_made_elsewhere_first_counts(tmp_path: Path) -> None:
    payments = Payments(tmp_path / "runs.db", "attempt('a')")

    def approve(_: PendingCall, elsewhere: Journal) -> bool:
        elsewhere.decide(payments.run_id, {payments.ids["a"]: Deny("not today")})
        return True

    assert "not today" in payments.resume(approve)
    assert payments.paid == []


def test_decision_made_elsewhere_counts_after_other_writes(tmp_path: Path) -> None:
    payments = Payments(tmp_path / "runs.db", "parallel((attempt, 'a'), (attempt, 'b'))")

    def approve(call: PendingCall, elsewhere: Journal) -> bool:
        if call.arguments == {"name": "a"}:
            elsewhere.decide(payments.run_id, {payments.ids["b"]: Deny("not today")})
            return True
        return payments.has_paid.wait(30)

    assert "not today" in payments.resume(approve)
    assert payments.paid == ["a"]
