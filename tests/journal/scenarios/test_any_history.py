"""Any sequence of rules, decisions, edits, crashes, toolkits and ways to call: what ran is what was decided."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ez_ptc import (
    Approve,
    DecisionError,
    Deny,
    DidNotHappen,
    ExecutionResult,
    Happened,
    Journal,
    JournalError,
    Pause,
    PendingCall,
    Tool,
    Toolkit,
    ez_tool,
)
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.tools.approvals.approval import Approver

_EXPLORES: Final = "EZ_PTC_EXPLORE" in os.environ
_MAX_RUNS: Final = 3
_CALLS: Final = 3

ATTEMPT: Final = """
def attempt(number):
    try:
        return act({run}, number, number + 1)
    except Exception as error:
        return "refused"
"""
PROGRAMS: Final = {
    "in order": ATTEMPT + "print([attempt(number) for number in range(3)])",
    "in parallel": ATTEMPT + "print(parallel((attempt, 0), (attempt, 1)), attempt(2))",
}

Need = Literal["always", "never", "rule says yes", "rule says no", "rule fails"]
NEEDS: Final[tuple[Need, ...]] = ("always", "never", "rule says yes", "rule says no", "rule fails")
Answer = Literal["no approver", "approve", "deny", "edit", "pause", "fail", "die", "approve all"]
ANSWERS: Final[tuple[Answer, ...]] = ("no approver", "approve", "deny", "edit", "pause", "fail", "die", "approve all")
Way = Literal["blocking", "awaited"]

Key = tuple[int, int]


@dataclass
class Call:
    """What people know of one call: whether it was ever shown to them, and the first decision about it.

    An answer is lost if its process dies before it is recorded; then the call waits, and people decide again.
    """

    was_shown: bool = False
    decision: object = None
    is_recorded: bool = False
    runs: int = 0
    may_run: int = 1


@dataclass
class World:
    """A journal, the runs in it, and everything that has happened to their calls."""

    path: Path
    calls: dict[Key, Call] = field(default_factory=dict[Key, Call])
    programs: dict[str, str] = field(default_factory=dict[str, str])
    sessions: dict[str, str | None] = field(default_factory=dict[str, str | None])
    violations: list[str] = field(default_factory=list[str])
    dies_in: Key | None = None

    def call(self, arguments: dict[str, Any]) -> Call:
        return self.calls.setdefault((arguments["run"], arguments["number"]), Call())

    def tool(self, need: Need) -> Tool:
        def act(run: int, number: int, amount: int) -> str:
            """Act."""
            self.check(run, number, amount)
            if self.dies_in == (run, number):
                self.dies_in = None
                raise KeyboardInterrupt
            return f"acted {amount}"

        def judge(call: PendingCall) -> bool:
            known = self.call(call.arguments)
            self.require(not known.was_shown and not known.runs, f"the rule was asked again about {call.arguments}")
            if need == "rule fails":
                raise OSError
            return need == "rule says yes"

        rules = {"always": True, "never": False}
        return ez_tool(act, requires_approval=rules.get(need, judge))

    def check(self, run: int, number: int, amount: int) -> None:
        """Compare a call that takes effect with what was decided about it."""
        call, name = self.calls.setdefault((run, number), Call()), f"call {run}.{number}"
        call.runs += 1
        self.require(call.runs <= call.may_run, f"{name} took effect {call.runs} times")
        self.require(not isinstance(call.decision, Deny), f"{name} was denied and took effect")
        self.require(not call.was_shown or isinstance(call.decision, Approve), f"{name} took effect undecided")
        approved = number + 1
        if isinstance(call.decision, Approve) and call.decision.arguments is not None:
            approved = call.decision.arguments["amount"]
        self.require(amount == approved, f"{name} took effect with {amount} for {approved}")

    def require(self, holds: bool, problem: str) -> None:
        """Take note of a problem: what a tool or an approver raises would only fail its call."""
        if not holds:
            self.violations.append(problem)

    def approver(self, answer: Answer) -> Approver | None:
        def approve(pending: PendingCall) -> object:
            call = self.call(pending.arguments)
            self.require(not call.is_recorded, f"someone was asked about a decided call {pending.arguments}")
            call.was_shown, call.decision = True, None
            if answer == "die":
                raise KeyboardInterrupt
            if answer == "fail":
                call.decision = Deny()
                raise OSError
            decisions: dict[Answer, object] = {
                "approve": Approve(),
                "deny": Deny(),
                "edit": _edited(pending),
                "approve all": Approve(remember="run"),
                "pause": Pause(),
            }
            if answer != "pause":
                call.decision = decisions[answer]
            return decisions[answer]

        return None if answer == "no approver" else approve

    def see(self, pending: tuple[PendingCall, ...]) -> None:
        """Show what waits to people."""
        for waiting in pending:
            if waiting.state == "needs_approval":
                call = self.call(waiting.arguments)
                assert not call.is_recorded, "a call waits that is decided"
                call.was_shown, call.decision = True, None


def _edited(pending: PendingCall) -> Approve:
    return Approve({**pending.arguments, "amount": 100 + pending.arguments["number"]})


def _decision(kind: str, pending: PendingCall) -> object:
    if pending.state == "outcome_unknown":
        return {"deny": Deny(), "edit": Happened("seen")}.get(kind, DidNotHappen())
    return {"approve": True, "deny": Deny(), "edit": _edited(pending), "all": Approve(remember="run")}[kind]


INDEX: Final = st.integers(0, _CALLS)
KINDS: Final = st.sampled_from(("approve", "deny", "edit", "all"))
_sandboxes: Final[dict[float, ProcessSandbox]] = {}


class Histories(RuleBasedStateMachine):
    """Runs of programs with three calls each, in one journal file."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.world = World(Path(self.stack.enter_context(tempfile.TemporaryDirectory())) / "runs.db")

    def teardown(self) -> None:
        self.stack.close()

    @initialize()
    def make_sandboxes(self) -> None:
        for paused in (0.0, 60.0):
            if paused not in _sandboxes:
                _sandboxes[paused] = ProcessSandbox(ready=2, paused=paused)

    def _toolkit(self, need: Need, answer: Answer, *, is_kept: bool) -> Toolkit:
        sandbox = _sandboxes[60.0 if is_kept else 0.0]
        return Toolkit(
            [self.world.tool(need)], journal=self.world.path, approve=self.world.approver(answer), sandbox=sandbox
        )

    def _run(self, run: Callable[[], ExecutionResult]) -> None:
        try:
            result = run()
        except KeyboardInterrupt:
            return
        self.world.see(result.pending)

    @precondition(lambda self: len(self.world.programs) < _MAX_RUNS)
    @rule(
        program=st.sampled_from(sorted(PROGRAMS)),
        need=st.sampled_from(NEEDS),
        answer=st.sampled_from(ANSWERS),
        way=st.sampled_from(("blocking", "awaited", "session")),
        dies=st.integers(0, 2 * _CALLS),
        is_kept=st.booleans(),
    )
    def begin(self, program: str, need: Need, answer: Answer, way: str, dies: int, is_kept: bool) -> None:
        number = len(self.world.programs)
        code = PROGRAMS[program].replace("{run}", str(number))
        self.world.dies_in = (number, dies) if dies < _CALLS else None
        with self._toolkit(need, answer, is_kept=is_kept) as toolkit:
            if way == "session":
                with toolkit.session() as session:
                    self._run(partial(session.execute, code))
            elif way == "awaited":
                self._run(lambda: anyio.run(partial(toolkit.aexecute, code, run_id=f"run-{number}")))
            else:
                self._run(partial(toolkit.execute, code, run_id=f"run-{number}"))
            known = {run.id: run.session for run in toolkit.open_journal().runs()}
        (run_id,) = known.keys() - self.world.programs.keys()
        self.world.programs[run_id] = code
        self.world.sessions[run_id] = known[run_id]

    @precondition(lambda self: self.world.programs)
    @rule(run=INDEX, call=INDEX, kind=KINDS, twice=st.booleans())
    def decide(self, run: int, call: int, kind: str, twice: bool) -> None:
        """A person decides in another process; a second decision about the same call is refused."""
        with Journal(self.world.path) as journal:
            found = journal.run(self._run_id(run))
            self.world.see(found.pending)
            if not found.pending:
                return
            pending = found.pending[call % len(found.pending)]
            decision = _decision(kind, pending)
            journal.decide(found.id, {pending.id: decision})
            self._note(pending, decision)
            if twice and not isinstance(decision, DidNotHappen):
                try:
                    journal.decide(found.id, {pending.id: Approve()})
                except DecisionError:
                    return
                raise AssertionError(pending)

    def _run_id(self, number: int) -> str:
        return list(self.world.programs)[number % len(self.world.programs)]

    def _note(self, pending: PendingCall, decision: object) -> None:
        call = self.world.call(pending.arguments)
        if pending.state == "outcome_unknown":
            call.may_run += isinstance(decision, DidNotHappen)
        else:
            assert call.decision is None
            call.decision, call.is_recorded = Approve() if decision is True else decision, True

    @precondition(lambda self: self.world.programs)
    @rule(
        number=INDEX,
        decided=INDEX,
        kinds=st.lists(KINDS, min_size=_CALLS, max_size=_CALLS),
        need=st.sampled_from(NEEDS),
        answer=st.sampled_from(ANSWERS),
        how=st.tuples(st.sampled_from(("blocking", "awaited", "again")), st.booleans()),
    )
    def resume(
        self, number: int, decided: int, kinds: list[str], need: Need, answer: Answer, how: tuple[str, bool]
    ) -> None:
        """The run goes on elsewhere, by a toolkit with other rules, with decisions about some of its calls."""
        run_id, (way, is_kept) = self._run_id(number), how
        with self._toolkit(need, answer, is_kept=is_kept) as toolkit:
            run = toolkit.open_journal().run(run_id)
            self.world.see(run.pending)
            pairs = zip(run.pending[:decided], kinds, strict=False)
            decisions = {call.id: _decision(kind, call) for call, kind in pairs}
            is_possible = run.state not in {"done", "failed"} and all(
                call.state != "outcome_unknown" or call.id in decisions for call in run.pending
            )
            if way == "again" and self.world.sessions[run_id] is None:
                before = sum(call.runs for call in self.world.calls.values())
                self._run(partial(toolkit.execute, self.world.programs[run_id], run_id=run_id))
                assert run.state == "resumable" or before == sum(call.runs for call in self.world.calls.values())
                return
            if is_possible:
                for call in run.pending[:decided]:
                    self._note(call, decisions[call.id])
            try:
                if way == "awaited":
                    self._run(lambda: anyio.run(toolkit.aresume, run_id, decisions))
                else:
                    self._run(partial(toolkit.resume, run_id, decisions))
            except JournalError:
                assert not is_possible

    @invariant()
    def what_ran_is_what_was_decided(self) -> None:
        assert self.world.violations == []


Histories.TestCase.settings = settings(stateful_step_count=20 if _EXPLORES else 5)
TestHistories = Histories.TestCase
