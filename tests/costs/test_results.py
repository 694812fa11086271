"""Results cost time and memory linear in their size, and messages stay short whatever they quote."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Journal, ProcessSandbox, Toolkit, ez_tool
from ez_ptc._sync import run_coroutine
from ez_ptc.errors import EzPtcError
from ez_ptc.formats.content import as_json, as_text
from ez_ptc.results.store import ResultStore
from ez_ptc.schema.arguments.json_text import check_value
from ez_ptc.schema.safe_repr import safe_line, safe_repr
from tests.costs.growth import check_growth

SHAPES: dict[str, Callable[[int], object]] = {
    "a list": lambda size: [1] * size,
    "a map": lambda size: {f"k{number}": "" for number in range(size)},
    "records": lambda size: [{"a": 1, "b": "x"} for _ in range(size)],
    "text": lambda size: "\ufdfa" * size,
    "control characters": lambda size: "\x1b" * size,
    "half surrogates": lambda size: "\ud800" * size,
    "bytes": bytes,
    "an integer": lambda size: 10**size,
}


def _tolerant(write: Callable[[Any], object]) -> Callable[[object], None]:
    def attempt(value: object) -> None:
        try:
            write(value)
        except (EzPtcError, TypeError, ValueError):  # refused, which is cheap as well
            return

    return attempt


@pytest.mark.security
@pytest.mark.parametrize("write", [as_text, as_json, safe_repr])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_writing_result_takes_linear_time(shape: Callable[[int], object], write: Callable[[Any], object]) -> None:
    check_growth(shape, _tolerant(write), start=1_000, most=400_000, bytes_each=1_500)


@pytest.mark.security
def test_checking_keys_of_one_hash_takes_linear_time() -> None:
    modulus = sys.hash_info.modulus
    check_growth(
        lambda size: [{modulus * n: 0} for n in range(size)], check_value, start=1_000, most=100_000, bytes_each=1_500
    )


@pytest.mark.security
def test_quoting_foreign_line_takes_bounded_time() -> None:
    check_growth(lambda size: "\u200b" * size, safe_line, start=1_000, most=1_000_000, bytes_each=1)


@pytest.mark.security
def test_keeping_costs_no_more_beside_many_results() -> None:
    def keep_and_read(names: list[str]) -> None:
        store = ResultStore()
        for kept in [store.add(b"s", b"x", name) for name in names]:
            assert kept is not None
            store.read(kept)

    check_growth(lambda size: ["tool"] * size, keep_and_read, start=1_000, most=50_000, bytes_each=2_000)


class _Counted:
    """Counts how often its `repr` is written."""

    def __init__(self, written: list[object]) -> None:
        self._written = written

    def __repr__(self) -> str:
        self._written.append(self)
        return "counted"


def test_blocking_call_writes_no_repr_of_its_result() -> None:
    written: list[object] = []

    async def make() -> _Counted:
        return _Counted(written)

    async def make_inside() -> _Counted:
        return run_coroutine(make)

    assert isinstance(run_coroutine(make), _Counted)
    assert isinstance(run_coroutine(make_inside), _Counted)
    assert not written


ATTEMPTS: list[Callable[[Any], object]] = [
    lambda text: ProcessSandbox(ready=text),
    lambda text: ProcessSandbox(fresh=text),
    lambda text: ProcessSandbox(allow_imports=text),
    lambda text: ProcessSandbox(allow_imports=[text]),
    lambda text: Toolkit([_add], allow_imports=text),
    lambda text: Toolkit([_add]).as_mcp_server(mode=text),
    lambda text: Toolkit([_add]).tool_schema(format=text),
    lambda text: ez_tool(name=text)(_add),
    lambda text: ez_tool(timeout=text)(_add),
]


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_messages_never_repeat_whole_value(attempt: Callable[[Any], object]) -> None:
    with pytest.raises((EzPtcError, TypeError, ValueError)) as caught:
        attempt("x" * 300_000)
    assert len(str(caught.value)) < 2_000


def test_unknown_run_is_named_in_short(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs.db")
    attempts: list[Callable[[Any], object]] = [journal.run, lambda text: journal.runs(state=text)]
    for attempt in attempts:
        with pytest.raises((EzPtcError, ValueError)) as caught:
            attempt("x" * 300_000)
        assert len(str(caught.value)) < 2_000


def _add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second
