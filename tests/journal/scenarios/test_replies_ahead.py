"""Recorded replies that a program gets before it asks for them change nothing that it does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from ez_ptc import Approve, Journal, Limits, ProcessSandbox, ReplayDivergedError, Toolkit
from tests.journal.programs import LIMITS, Effects
from tests.journal.rewriting import replace_program

SYNC_AND_ASYNC = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@contextmanager
def _toolkit(effects: Effects, journal: Journal, *, is_async: bool, limits: Limits = LIMITS) -> Generator[Toolkit]:
    """Return a toolkit whose paused programs run again from the journal."""
    tools = effects.tools(is_async=is_async)
    with (
        ProcessSandbox(ready=1, paused=0) as sandbox,
        Toolkit(tools, journal=journal, limits=limits, sandbox=sandbox) as toolkit,
    ):
        yield toolkit


MANY = """
made = [{call} for number in range(200)]
print(len(made), sum(map(len, made)))
print(transfer("x", 1))
"""
AWAITED = """
import asyncio
async def main():
    return [await effect(str(number)) for number in range(200)]
made = asyncio.run(main())
print(len(made), sum(map(len, made)))
print(transfer("x", 1))
"""
PRINTED = """
for number in range(200):
    print(effect(str(number)))
print(transfer("x", 1))
"""
WAVES = """
for start in range(0, 40, 4):
    print(parallel(*[(effect, str(number)) for number in range(start, start + 4)]), look(str(start)))
print(transfer("x", 1))
"""


@pytest.mark.sampled(every=10)
@SYNC_AND_ASYNC
@pytest.mark.parametrize(
    "program",
    [
        MANY.format(call="effect(str(number))"),
        MANY.format(call="effect(str(number) * 20_000)"),
        AWAITED,
        PRINTED,
        WAVES,
    ],
    ids=["many", "large", "awaited", "printed", "waves"],
)
def test_program_resumes_to_the_same_output(program: str, is_async: bool, effects: Effects, journal: Journal) -> None:
    with _toolkit(effects, journal, is_async=is_async) as toolkit:
        paused = toolkit.execute(program)
        assert paused.run_id is not None
        again = toolkit.resume(paused.run_id)
        done = toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()})

    assert (again.status, again.output, again.pending) == ("paused", paused.output, paused.pending)
    assert done.status == "done"
    assert done.output.startswith(paused.output)
    assert len(done.tool_calls) == len(paused.tool_calls)
    assert [call["result"] for call in done.tool_calls[:-1]] == [call["result"] for call in paused.tool_calls[:-1]]
    assert set(effects.lines().values()) == {1}


@pytest.mark.sampled(every=10)
@SYNC_AND_ASYNC
@pytest.mark.parametrize(
    "program",
    [
        "effect('a')\neffect('b')\neffect('other')\neffect('d')",
        "effect('a')\neffect('other')\neffect('d')",
        "effect('a')\neffect('other')\nwhile True: pass",
        "effect('a')\nlook('b')\neffect('d')",
        "try:\n    effect('other')\nfinally:\n    effect('d')",
    ],
    ids=["third call", "second call", "endless", "other tool", "handled"],
)
def test_diverging_program_runs_no_further_call(
    program: str, is_async: bool, effects: Effects, journal: Journal
) -> None:
    limits = Limits(seed=7, timeout=1)
    with _toolkit(effects, journal, is_async=is_async, limits=limits) as toolkit:
        paused = toolkit.execute("effect('a')\neffect('b')\neffect('c')\ntransfer('d', 1)")
        assert paused.run_id is not None
        replace_program(journal, paused.run_id, program)
        with pytest.raises(ReplayDivergedError, match="differs from its record"):
            toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()})

    assert effects.lines() == {"effect a": 1, "effect b": 1, "effect c": 1}


@pytest.mark.sampled(every=0)
@SYNC_AND_ASYNC
@pytest.mark.parametrize(
    "ending", ["import os\nos._exit(3)", "pass", "1 / 0", "while True: pass"], ids=["killed", "done", "failed", "late"]
)
def test_program_that_ends_early_can_be_resumed_as_it_was(
    ending: str, is_async: bool, effects: Effects, journal: Journal
) -> None:
    program = "effect('a')\neffect('b')\neffect('c')\ntransfer('d', 1)"
    with _toolkit(effects, journal, is_async=is_async, limits=Limits(seed=7, timeout=1)) as toolkit:
        paused = toolkit.execute(program)
        assert paused.run_id is not None
        replace_program(journal, paused.run_id, f"effect('a')\neffect('b')\n{ending}")
        with pytest.raises(ReplayDivergedError, match=r"has not made its call at [13] \(effect\) again, but ended"):
            toolkit.resume(paused.run_id)
        replace_program(journal, paused.run_id, program)
        done = toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()})

    assert done.status == "done"
    assert [call["args"] for call in done.tool_calls] == [("a",), ("b",), ("c",), ("d", 1)]


@pytest.mark.sampled(every=4)
@SYNC_AND_ASYNC
@pytest.mark.parametrize("call", ["look('new')", "effect('new')", "charge('new')"])
def test_call_without_a_record_waits_for_the_recorded_ones(
    call: str, is_async: bool, effects: Effects, journal: Journal
) -> None:
    """The new call is made first, and the program waits for it alone: it has diverged, and nothing runs."""
    with _toolkit(effects, journal, is_async=is_async) as toolkit:
        paused = toolkit.execute("import threading\neffect('a')\ntransfer('d', 1)")
        assert paused.run_id is not None
        before = [event.kind for event in journal.events(paused.run_id)]
        replace_program(journal, paused.run_id, f"thread = parallel(lambda: {call})\neffect('a')\ntransfer('d', 1)")
        with pytest.raises(ReplayDivergedError, match="nothing was run"):
            toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()})

    kinds = [event.kind for event in journal.events(paused.run_id)][len(before) :]
    assert kinds == ["claim", "decision"]
    assert effects.lines() == {"effect a": 1}
