"""What explains an error is the same on every way by which it is read, and a repeated error is known as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ez_tool, llm
from ez_ptc.integrations.code_modes.functions import FunctionSession
from ez_ptc.toolkit.execution.continuing import is_same_error

FACT = "find_stock(query='cheap') returned []"
FAILING = "stock = find_stock(query='cheap')\nprint(stock[0])"
SAME = "The correction fails with the same error, because it does not change what fails."


@ez_tool
def find_stock(query: str) -> list[dict[str, Any]]:
    """Find products."""
    return [] if query else [{"name": "tea"}]


def find_nothing(query: str) -> list[str]:
    return [query][:0]


def by_result(toolkit: Toolkit) -> str:
    return toolkit.execute(FAILING).to_string()


def by_answer(toolkit: Toolkit) -> str:
    return toolkit.answer(FAILING, toolkit.execute(FAILING))


def by_tool(toolkit: Toolkit) -> str:
    assert FACT in toolkit.as_tool()(FAILING)
    return toolkit.as_tool(continues=True)(FAILING)


def by_repair(toolkit: Toolkit) -> str:
    errors: list[str] = []

    def repair(code: str, error: str, done: list[dict[str, Any]]) -> None:
        del code, done
        errors.append(error)

    toolkit.execute(FAILING, repair=repair)
    return errors[0]


def by_session(toolkit: Toolkit) -> str:
    with toolkit.session() as session:
        return session.execute(FAILING).to_string()


def by_conversation(toolkit: Toolkit) -> str:
    model = ScriptedProvider(ToolCall("", "execute_tools", {"code": FAILING}), "Done.")
    messages, _ = llm().toolkit(toolkit, mode="tool").provider(model).converse("Find.")
    return "".join(str(getattr(message, "result", "")) for message in messages)


def by_code_mode(toolkit: Toolkit) -> str:
    del toolkit
    session = FunctionSession({})
    try:
        result = session.execute(FAILING, {"find_stock": find_nothing}, {})
    finally:
        session.close()
    assert not result.success
    return result.failure_text(result.max_text)


def by_resumed_run(toolkit: Toolkit) -> str:
    first = toolkit.execute(FAILING, run_id="a")
    assert first.to_string() == toolkit.execute(FAILING, run_id="a").to_string()
    return first.to_string()


@pytest.mark.parametrize(
    "read", [by_result, by_answer, by_tool, by_repair, by_session, by_conversation, by_code_mode, by_resumed_run]
)
def test_facts_are_the_same_on_every_path(read: Callable[[Toolkit], str], tmp_path: Path) -> None:
    with Toolkit([find_stock], journal=tmp_path / "runs.db") as toolkit:
        text = read(toolkit)
    assert "IndexError: list index out of range" in text
    assert text.count(FACT) == 1


def test_facts_stay_within_the_bound_of_texts() -> None:
    with Toolkit([find_stock]) as toolkit:
        result = toolkit.execute(FAILING)
    for length in range(1, 400):
        assert len(result.to_string(length)) <= length
    assert FACT in result.to_string(400)


@pytest.mark.parametrize("has_journal", [True, False])
def test_session_knows_that_a_correction_changes_nothing(tmp_path: Path, *, has_journal: bool) -> None:
    options: dict[str, Any] = {"journal": tmp_path / "runs.db"} if has_journal else {}
    with Toolkit([find_stock], **options) as toolkit, toolkit.session() as session:
        first = session.execute(FAILING)
        again = session.execute(f"# corrected\n{FAILING}")
        other = session.execute("stock = find_stock(query='cheap')\nprint(stock[1:][0])")
        invalid = [session.execute(code) for code in ("print(", "\nprint(", "print[")]
    noted = [SAME in toolkit.answer(FAILING, result) for result in (first, again, other, *invalid)]
    assert noted == [False, True, False, False, True, False]
    assert SAME in again.to_string()


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("", "", False),
        ('  File "<program>", line 1, in f\nE: x', '  File "<program 2>", line 9, in f\nE: x', True),
        ('  File "<program>", line 1, in f\nE: x', '  File "<program>", line 1, in g\nE: x', False),
        ('  File "<program>", line 1, in f\nE: x', '  File "<program>", line 1, in f\nE: y', False),
        ("  line 1: f(a)\nE: x", "  line 2: f(a)\nE: x", True),
        ("  line 1: f(a)\nE: x", "  line 1: f(b)\nE: x", False),
        ("E: line 1: x", "E: line 2: x", False),
        ("E: x (line 1)", "E: x (line 2)", True),
        ("E: x\nRun this:\n```python\na\n```\n", "E: x\nRun this:\n```python\nb\n```\n", True),
    ],
)
def test_errors_are_compared_without_positions(before: str, after: str, *, is_same: bool) -> None:
    assert is_same_error(before, after) is is_same
