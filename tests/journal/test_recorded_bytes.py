"""What one run records is bounded, and its arguments are stored once."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Journal, Limits, PendingCall, ProcessSandbox, Toolkit, ez_tool

_ATTEMPTS = """
def attempt(number):
    try:
        return note(f"{number}" * 20_000) and "noted"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
outcomes = [attempt(number) for number in range(8)]
print(outcomes[0], outcomes[-1])
"""


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.parametrize("read_only", [False, True])
def test_call_over_the_bound_fails_before_its_effect(read_only: bool, tmp_path: Path) -> None:
    effects: list[str] = []

    @ez_tool(read_only=read_only)
    def note(text: str) -> int:
        """Take a note."""
        effects.append(text)
        return len(text)

    limits = Limits(recorded=70_000)
    with Journal(tmp_path / "runs.db") as journal, Toolkit([note], journal=journal, limits=limits) as toolkit:
        result = toolkit.execute(_ATTEMPTS)
        assert "noted ToolError: note was not called: the journal records at most 70,000 bytes" in result.output
        assert len(effects) == 3
        assert result.run_id is not None
        assert sum(len(event.payload or b"") for event in journal.events(result.run_id)) < 70_000
        assert toolkit.replay(result.run_id).output == result.output
        assert len(effects) == 3
        assert toolkit.execute("note('short')").success


_CONVERTED = """
for number in range(8):
    try:
        add([number] * 5_000)
    except Exception as error:
        print(error)
"""
_TABLE = """
for number in range(8):
    try:
        ask(number)
    except Exception as error:
        print(error)
"""


def _recorded(journal: Journal, run_id: str | None) -> int:
    assert run_id is not None
    return sum(len(event.data_bytes()) + len(event.payload or b"") for event in journal.events(run_id))


@pytest.mark.parametrize("program", [_CONVERTED, _TABLE], ids=["converted", "default"])
def test_whole_of_a_record_counts(program: str, tmp_path: Path) -> None:
    """Arguments that are not as the program has passed them are recorded beside those."""
    effects: list[object] = []

    @ez_tool
    def add(values: list[float]) -> None:
        """Add values."""
        effects.append(values)

    @ez_tool
    def ask(number: int, context: str = "x" * 20_000) -> None:
        """Ask a question."""
        effects.append((number, context))

    limits = Limits(recorded=70_000)
    with Journal(tmp_path / "runs.db") as journal, Toolkit([add, ask], journal=journal, limits=limits) as toolkit:
        result = toolkit.execute(program)
        assert "the journal records at most 70,000 bytes" in result.output
        assert 0 < len(effects) < 4
        assert _recorded(journal, result.run_id) < 70_000
        assert toolkit.replay(result.run_id or "").output == result.output


# What a program writes that speaks for its worker.
_SPEAK = """
import json, os
def send(**fields):
    data = json.dumps(fields).encode()
    data = len(data).to_bytes(4, "big") + data
    while data:
        data = data[os.write(3, data):]
steps = [[".".join(["999999999"] * 64), 0]] * 100
def call(number):
    send(t="call", id=number, path=str(number), name="note", args=["text"], kwargs={}, alone=True, events=steps)
    os.read(3, 1 << 16)
"""
_FORGED = {
    "with calls": "for number in range(1, 9): call(number)",
    "between calls": "call(1)\nfor _ in range(8): send(t='rest', replies=0, events=steps)\ncall(2)",
    "at the end": "send(t='done', value=1, dropped=0, events=steps * 4)",
}


@pytest.mark.parametrize("forged", _FORGED.values(), ids=_FORGED.keys())
def test_steps_of_a_hostile_program_count(forged: str, tmp_path: Path) -> None:
    @ez_tool
    def note(text: str) -> int:
        """Take a note."""
        return len(text)

    limits = Limits(recorded=150_000)
    with Journal(tmp_path / "runs.db") as journal, Toolkit([note], journal=journal, limits=limits) as toolkit:
        result = toolkit.execute(f"{_SPEAK}\n{forged}")
        assert "steps of more than the 150,000 bytes that its journal may have" in (result.error or "")
        assert _recorded(journal, result.run_id) < 2 * 150_000
        assert toolkit.execute("note('short')").success


@pytest.mark.parametrize(
    "program",
    [
        "act('x' * 1_000_000)",
        "act(text='x' * 1_000_000)",
        "act(other=1, text='x' * 1_000_000)",
        "act(rows=[[number, True, 'row'] for number in range(60_000)])",
        "act(table={str(number): [number, 1.5] for number in range(60_000)})",
    ],
)
@pytest.mark.parametrize("needs_approval", [False, True])
@pytest.mark.sampled(every=5)
def test_argument_is_stored_once(program: str, needs_approval: bool, tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    @ez_tool(requires_approval=needs_approval)
    def act(text: str = "", other: int = 0, rows: list[Any] | None = None, table: dict[str, Any] | None = None) -> str:
        """Act."""
        seen.append({"text": text, "other": other, "rows": rows, "table": table})
        return "done"

    with Journal(tmp_path / "runs.db") as journal, Toolkit([act], journal=journal) as toolkit:
        result = toolkit.execute(program)
        assert result.run_id is not None
        if needs_approval:
            shown = journal.run(result.run_id).pending[0].arguments
            assert shown == result.pending[0].arguments
            result = toolkit.resume(result.run_id, {result.pending[0].id: True})
            assert seen == [{"text": "", "other": 0, "rows": None, "table": None, **shown}]
        assert result.success
        assert result.run_id is not None
        largest = max(len(event.payload or b"") for event in journal.events(result.run_id))
        assert largest > 500_000
        assert sum(len(event.data_bytes()) for event in journal.events(result.run_id)) < 10_000
        journal.close()
        assert _size(tmp_path) < 1.2 * largest + 200_000


@pytest.mark.parametrize("has_approver", [False, True])
def test_pending_call_over_the_bound_is_not_recorded(has_approver: bool, tmp_path: Path) -> None:
    asked: list[str] = []

    @ez_tool(requires_approval=True)
    def note(text: str) -> int:
        """Take a note."""
        return len(text)

    def approve(call: PendingCall) -> bool:
        asked.append(call.tool)
        return True

    limits = Limits(recorded=70_000)
    approver = approve if has_approver else None
    with Journal(tmp_path / "runs.db") as journal, Toolkit([note], journal=journal, limits=limits) as toolkit:
        result = toolkit.execute("note('x' * 100_000)", approve=approver)
        assert result.status == "failed"
        assert "the journal records at most 70,000 bytes" in (result.error or "")
        assert result.run_id is not None
        assert sum(len(event.payload or b"") for event in journal.events(result.run_id)) < 70_000
        assert not asked
        assert toolkit.replay(result.run_id).error == result.error
        assert toolkit.execute("note('short')", approve=approve).success


_COPIES = """
for number in range(10):
    effect(f"{number:03d}" + "x" * 100_000)
pause()
for number in range(10):
    effect(f"{number:03d}" + "y" * 100_000)
print(measure())
"""


@pytest.mark.parametrize("paused", [0, 4])
@pytest.mark.sampled(every=2)
def test_recorded_bytes_are_held_once(paused: int, tmp_path: Path) -> None:
    """A result lists the arguments and values of its calls, and nothing else has a copy."""
    measured: list[int] = []

    @ez_tool
    def effect(text: str) -> str:
        """Return a text as long that no other one equals."""
        return text[:3] + "z" * (len(text) - 3)

    @ez_tool(requires_approval=True)
    def pause() -> None:
        """Wait for a person."""

    @ez_tool
    def measure() -> str:
        """Return how many bytes are held, and forget the peak."""
        gc.collect()
        measured.append(tracemalloc.get_traced_memory()[0])
        return "done"

    tools = [effect, pause, measure]
    with (
        ProcessSandbox(paused=paused) as sandbox,
        Toolkit(tools, journal=tmp_path / "runs.db", sandbox=sandbox) as toolkit,
    ):
        assert toolkit.execute("print(measure())").success
        tracemalloc.start()
        try:
            result = toolkit.execute(_COPIES)
            assert result.run_id is not None
            pending = result.pending[0].id
            result.tool_calls.clear()
            assert toolkit.resume(result.run_id, {pending: True}).output == "done\n"
        finally:
            tracemalloc.stop()
    recorded = 20 * 2 * 100_000
    assert 0.9 * recorded < measured[1] < 1.15 * recorded
