"""Which run a command line changes, and with which arguments: never another one than the person means."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ez_ptc import Journal, Toolkit, ez_tool
from ez_ptc.cli.app import main

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")

Command = Callable[..., tuple[int, str]]


@ez_tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command about a journal in which run `order-10` and one with a generated id wait."""
    monkeypatch.chdir(tmp_path)
    with Toolkit([pay], journal="runs.db") as toolkit:
        toolkit.execute("pay(7)", run_id="order-10")
        toolkit.execute("pay(8)")

    def command(*words: str) -> tuple[int, str]:
        status = main(["runs", *words])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    return command


@pytest.mark.parametrize(
    "words",
    [
        ("approve", "order-1"),
        ("approve", "order-1", "1"),
        ("deny", "order-1"),
        ("abandon", "order-1", "--reason", "no use"),
        ("discard", "order-1"),
        ("resume", "order-1", "--tools", "shop:toolkit"),
    ],
    ids=" ".join,
)
def test_word_about_a_run_is_not_about_one_that_begins_so(words: tuple[str, ...], run: Command) -> None:
    """The run of this id may have been pruned, or be in another journal."""
    refused = run(*words)
    assert refused[0] == 2
    assert "no run 'order-1' in runs.db: to change run 'order-10', write all of it" in refused[1]
    with Journal("runs.db") as journal:
        assert journal.run("order-10").pending[0].state == "needs_approval"
        generated = next(waiting.id for waiting in journal.runs() if waiting.id != "order-10")
    assert "Run order-10" in run("show", "order-1")[1]
    assert [run("approve", run_id)[0] for run_id in ("order-10", generated[:8])] == [0, 0]


def test_word_without_a_call_is_about_none_that_came_later(run: Command) -> None:
    """Two persons see the first call; one approves it, the run goes on, and the word of the other one arrives."""
    with Toolkit([pay], journal="runs.db") as toolkit:
        toolkit.execute("pay(1), pay(1_000)", run_id="two")
        assert run("approve", "two")[0] == 0
        paused = toolkit.resume("two")
    for verb in ("approve", "deny"):
        status, text = run(verb, "two")
        assert status == 2
        assert "another call of run two is decided already: name the position of pay (2)" in text
    with Journal("runs.db") as journal:
        assert journal.run("two").pending == paused.pending
    assert run("approve", "two", "2")[0] == 0


def test_arguments_with_a_key_twice_are_refused(run: Command) -> None:
    status, text = run("approve", "order-10", "--arguments", '{"amount": 7, "amount": 900}')
    assert status == 2
    assert "the key 'amount' comes 2 times in one object" in text
    with Journal("runs.db") as journal:
        assert journal.run("order-10").pending
