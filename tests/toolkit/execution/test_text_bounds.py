"""The bound for one program's texts, and what they say of a result that was cut or cannot be kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
from ez_ptc.toolkit.toolkit import Toolkit
from tests.toolkit.execution.counting import Run

LONG = ["print('x' * 50_000)", "'y' * 50_000", "[list(range(9_000))]", "raise ValueError('z' * 50_000)"]


def texts_of(toolkit: Toolkit, code: str, result: ExecutionResult) -> list[str]:
    return [result.to_string(), result.value_text(), toolkit.answer(code, result), result.error or ""]


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([]) as toolkit:
        yield toolkit


@pytest.mark.parametrize("code", LONG)
def test_bound_of_one_call_is_that_of_its_texts(run: Run, toolkit: Toolkit, code: str) -> None:
    result = run(toolkit, code, max_text=700)
    assert max(map(len, texts_of(toolkit, code, result))) <= 700
    assert max(map(len, texts_of(toolkit, code, run(toolkit, code)))) > 700


def test_bound_of_one_call_lasts_in_sessions_corrections_and_runs(tmp_path: Path) -> None:
    asked: list[str] = []

    def repair(code: str, error: str, done: list[dict[str, Any]]) -> str:
        asked.append(error)
        return "print('x' * 50_000)"

    with Toolkit([], journal=tmp_path / "runs.db") as toolkit, toolkit.session() as session:
        results = [
            session.execute(LONG[0], max_text=700),
            toolkit.execute(LONG[3], max_text=700, repair=repair),
            toolkit.execute(LONG[0], max_text=700, run_id="mine"),
            toolkit.execute(LONG[0], max_text=700, run_id="mine"),
        ]
        again = toolkit.execute(LONG[0], run_id="mine")

    assert [len(result.to_string()) <= 700 for result in results] == [True] * 4
    assert 700 < len(again.to_string()) <= 30_000
    assert len(asked[0]) <= 700


def test_wrong_bound_of_one_call_is_named(run: Run, toolkit: Toolkit) -> None:
    for most in (0, True, "30k"):
        with pytest.raises(ValueError, match="max_text must be a positive int or None, got"):
            run(toolkit, "1", max_text=most)


def test_cut_output_is_not_said_to_be_whole() -> None:
    code = "print('line\\n' * 9_000)"
    for program, limit in ((code, 20_000), (f"{code}\n1 / 0", 20_000)):
        with Toolkit([], limits=Limits(output=limit, text=2_000)) as toolkit:
            result = toolkit.execute(program)
            for text in (toolkit.answer(program, result), toolkit.execute(program).to_string()):
                assert "more bytes were cut" in text
                assert "the whole is kept" not in text
            assert 'all that was not cut is kept as results["' in toolkit.answer(program, toolkit.execute(program))


def test_value_beyond_the_quota_is_said_not_to_be_kept() -> None:
    with Toolkit([]) as toolkit:
        result = ExecutionResult(return_value=["x" * (65 << 20)], keeper=toolkit.execute("1").keeper)
        text = result.to_string()
    assert len(text) <= 30_000
    assert "the rest is not kept: it is too large" in text
