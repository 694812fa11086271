"""The benchmark of tokens: what requests are counted, and that a whole run works."""

from __future__ import annotations

import pytest

from benchmarks.model.tasks import Task
from benchmarks.tokens.__main__ import crossings, main, table
from benchmarks.tokens.spending import Spending, Turn, spend
from benchmarks.tokens.traces import Call, Trace, batches


def call(name: str, result: str, **arguments: object) -> Call:
    """Return a call."""
    return Call(name, arguments, result)


TRACE = Trace(
    Task("banking", "Pay Ann and Bob.", "…"),
    (
        call("find", '{"id": "A-17"}', who="Ann"),
        call("find", '{"id": "B-18"}', who="Bob"),
        call("pay", "paid", id="A-17"),
        call("pay", "paid", id="B-18"),
    ),
    "done",
)


def test_calls_are_made_at_once_unless_one_needs_another() -> None:
    assert [[item.name for item in group] for group in batches(TRACE)] == [["find", "find"], ["pay", "pay"]]


@pytest.mark.security
def test_each_request_sends_all_that_was_said_before() -> None:
    pytest.importorskip("bpe_openai", reason="the group `model` is not installed")
    one = spend("Hello", [Turn("tools", "answer")])
    two = spend("Hello", [Turn("tools", "answer", "yes"), Turn("tools", "answer")])
    assert one == Spending(1 + 1 + 4, 1, 1)
    assert two == Spending(2 * one.tokens_in + 1 + 1 + 8, 2, 2)


def test_table_says_from_how_many_tools_a_way_pays() -> None:
    cheap, dear = [Spending(10, 1, 2)], [Spending(20, 1, 2)]
    figures = {
        "calls in parallel": {3: cheap, 30: dear},
        "program, search": {3: dear, 30: cheap},
        "peer": {3: "no", 30: "no"},
    }
    assert table(figures, (3, 30), [0])[2:] == [
        "| calls in parallel | 10 + 1, 2.0 | 20 + 1, 2.0 |",
        "| program, search | 20 + 1, 2.0 | 10 + 1, 2.0 |",
        "| peer | – | – |",
    ]
    assert crossings(figures, (3, 30), [0]) == ["- program, search: from 30 tools", "- peer: never"]


@pytest.mark.security
def test_a_run_without_peers_prints_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("bpe_openai", "agentdojo", "bfcl_eval"):
        pytest.importorskip(name, reason="the group `model` is not installed")
    assert main(["--only", "6", "--count", "3", "--count", "300", "--environments", "/nonexistent"]) == 0
    printed = capsys.readouterr().out
    assert "| program, search | " in printed
    assert "fastmcp_code with 3 tools: its environment is not installed" in printed
