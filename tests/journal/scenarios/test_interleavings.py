"""Whatever the order in which parallel calls end, and wherever the program is left, it continues to the same result."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import Approve, Journal, Tool, Toolkit, ez_tool
from tests.journal.programs import LIMITS, Effects

_ROUND_SECONDS = 0.02


class Scheduler:
    """Lets calls end in a seeded order, of those that have come together."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._changed = threading.Condition()
        self._waiting: set[str] = set()

    def wait(self, name: str) -> None:
        """Return when it is the call's turn."""
        with self._changed:
            self._waiting.add(name)
            while True:
                # Bounded: no one knows whether another call is to come.
                self._changed.wait(_ROUND_SECONDS)
                if self._chance.choice(sorted(self._waiting)) == name:
                    self._waiting.discard(name)
                    self._changed.notify_all()
                    return


def _tools(effects: Effects, scheduler: Scheduler, fails_at: int) -> list[Tool[..., Any]]:
    calls = iter(range(1, 1000))

    @ez_tool
    def effect(name: str) -> str:
        """Do something that must happen once."""
        scheduler.wait(name)
        effects.happen(f"effect {name}")
        if next(calls) == fails_at:
            raise KeyboardInterrupt  # the host is interrupted with an effect of which nothing is recorded
        return f"{name}!"

    return [effect, effects.tools()[-1]]


def _finish(journal: Journal, effects: Effects, make: Callable[[], Toolkit], code: str) -> str:
    with make() as toolkit:
        try:
            toolkit.execute(code)
        except KeyboardInterrupt:
            assert journal.runs()
    for _ in range(12):
        (run,) = journal.runs()
        if run.state == "done":
            assert run.result is not None
            return run.result.output
        with make() as toolkit:
            decisions = {
                call.id: effects.settle(call) if call.state == "outcome_unknown" else Approve() for call in run.pending
            }
            toolkit.resume(run.id, decisions)
    message = "the run does not end"
    raise AssertionError(message)


@given(
    st.integers(0, 1 << 30),
    st.lists(st.lists(st.sampled_from(["effect", "transfer"]), min_size=1, max_size=3), min_size=1, max_size=4),
    st.integers(0, 6),
)
@pytest.mark.sampled(every=0)
def test_interleaved_calls_resume_to_equal_results(seed: int, branches: list[list[str]], fails_at: int) -> None:
    bodies = [
        [f"{tool}('{row}{column}'{', 1' * (tool == 'transfer')})" for column, tool in enumerate(branch)]
        for row, branch in enumerate(branches)
    ]
    listed = ", ".join(f"lambda: [{', '.join(body)}]" for body in bodies)
    code = f"print(parallel({listed}))\nprint(effect('end'))"
    outputs: list[str] = []
    for order, failure in ((0, 0), (seed, fails_at)):
        with TemporaryDirectory() as folder, Journal(Path(folder) / "runs.db") as journal:
            effects = Effects(Path(folder) / "effects")
            interruptions = iter([failure])

            def make(
                order: int = order,
                effects: Effects = effects,
                journal: Journal = journal,
                interruptions: Any = interruptions,  # noqa: ANN401 - an iterator
            ) -> Toolkit:
                tools = _tools(effects, Scheduler(order), next(interruptions, 0))
                return Toolkit(tools, journal=journal, limits=LIMITS)

            outputs.append(_finish(journal, effects, make, code))
            assert set(effects.lines().values()) == {1}
            journal.verify()
    assert outputs[0] == outputs[1]
