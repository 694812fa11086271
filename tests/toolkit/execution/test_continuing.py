"""Programs that correct a failed one: what it has done is done, and is not done again."""

from __future__ import annotations

import dataclasses
import threading
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field, SecretStr

from ez_ptc import Approve, Context, ContinuationError, Deny, Pause, Tool, Toolkit, ez_tool
from tests.toolkit.execution.continuing import FAILED, Desk, texts
from tests.toolkit.execution.counting import Run


def test_each_call_returns_its_result_once_in_order(desk: Desk, run: Run, options: dict[str, Any]) -> None:
    with desk.toolkit(**options) as toolkit:
        failed = run(toolkit, FAILED)
        corrected = "print(find('lamp')); print(refund(1)); print(refund(1)); print(refund(1)); print(refund(3))"
        result = run(toolkit, corrected, after=failed)
    assert texts(result) == ["find 1", "refund 2", "refund 3", "refund 5", "refund 6"]
    assert desk.done[4:] == [("refund", 1), ("refund", 3)]
    assert [call.get("already_done", False) for call in result.tool_calls] == [True, True, True, False, False]


def test_chains_carry_all_that_is_done(desk: Desk, run: Run, options: dict[str, Any]) -> None:
    with desk.toolkit(**options) as toolkit:
        first = run(toolkit, "refund(1)\nrefund(2)\n1 / 0")
        second = run(toolkit, "refund(1)\nrefund(3)\n1 / 0", after=first)
        unreadable = run(toolkit, "refund(1", after=second)
        result = run(toolkit, "print(*map(refund, [1, 2, 3, 3]))", after=unreadable)
    assert result.output == "refund 1 refund 2 refund 3 refund 4\n"


def test_repair_continues_the_program(desk: Desk, run: Run, options: dict[str, Any]) -> None:
    seen: list[int] = []

    def repair(code: str, error: str, done: list[dict[str, Any]]) -> str:
        del code, error
        seen.append(len(done))
        return FAILED if len(seen) == 1 else FAILED.replace("1 / 0", "print('right')")

    with desk.toolkit(**options) as toolkit:
        result = run(toolkit, FAILED, repair=repair)
    assert (result.output, len(desk.done), seen) == ("right\n", 4, [3, 3])


def test_sessions_continue_by_themselves_until_a_success(desk: Desk, options: dict[str, Any]) -> None:
    with desk.toolkit(**options) as toolkit, toolkit.session() as session:
        session.execute("refund(1)\n1 / 0")
        assert texts(session.execute("print(refund(1))")) == ["refund 1"]
        assert texts(session.execute("print(refund(1))")) == ["refund 2"]
        session.execute("refund(5)\n1 / 0")
        assert texts(session.execute("print(refund(5))", after=None)) == ["refund 4"]


def test_session_opened_anew_continues_its_failed_program(desk: Desk, tmp_path: Path) -> None:
    with desk.toolkit(journal=tmp_path / "runs.db") as toolkit, toolkit.session() as session:
        session.execute("refund(1)\n1 / 0")
        name = session.id
    with desk.toolkit(journal=tmp_path / "runs.db") as toolkit, toolkit.session(name) as session:
        assert texts(session.execute("print(refund(1))")) == ["refund 1"]


def test_session_gives_no_caller_the_calls_of_another(desk: Desk) -> None:
    with desk.toolkit() as toolkit, toolkit.session() as session:
        session.execute("refund(1)\n1 / 0", context="ada")
        assert texts(session.execute("print(refund(1))", context="bob")) == ["refund 2"]


def test_function_of_one_conversation_continues(desk: Desk) -> None:
    with desk.toolkit() as toolkit:
        run = toolkit.as_tool(continues=True)
        texts = [run(code) for code in ("refund(1)\n1 / 0", "print(refund(1))", "print(refund(1))")]
    assert "the same call returns its result again" in texts[0]
    assert texts[1:] == ["refund 1\n", "refund 2\n"]


@pytest.mark.anyio
async def test_async_function_of_one_conversation_continues(desk: Desk, anyio_backend: str) -> None:
    del anyio_backend
    with desk.toolkit() as toolkit:
        run = toolkit.as_async_tool(continues=True)
        assert "the same call returns its result again" in await run("refund(1)\n1 / 0")
        assert await run("print(refund(1))") == "refund 1\n"


@pytest.mark.parametrize(
    ("value", "other"),
    [("True", "1"), ("1", "1.0"), ("'1'", "1"), ("(1, 2)", "[1, 2]"), ("{'a': True}", "{'a': 1}"), ("0.0", "-0.0")],
)
def test_arguments_are_compared_exactly(desk: Desk, value: str, other: str) -> None:
    with desk.toolkit() as toolkit:
        failed = toolkit.execute(f"note({value})\n1 / 0")
        result = toolkit.execute(f"print(note({other})); print(note(value={value}))", after=failed)
    assert texts(result) == ["note 2", "note 1"]


def test_order_of_keys_and_members_is_no_difference(desk: Desk) -> None:
    with desk.toolkit() as toolkit:
        failed = toolkit.execute("note({'a': 1, 'b': {'x', 'y', 'z', 'w'}})\n1 / 0")
        result = toolkit.execute("print(note({'b': {'w', 'z', 'y', 'x'}, 'a': 1}))", after=failed)
    assert texts(result) == ["note 1"]


def test_schema_says_which_arguments_are_equal() -> None:
    made: list[float] = []

    @ez_tool
    def weigh(kilograms: float, unit: str = "kg") -> int:
        """Weigh."""
        made.append(kilograms)
        return len(made)

    with Toolkit([weigh]) as toolkit:
        failed = toolkit.execute("weigh(1)\n1 / 0")
        assert texts(toolkit.execute("print(weigh(1.0, unit='kg')); print(weigh(1.0))", after=failed)) == ["1", "2"]


@pytest.mark.parametrize(
    ("value", "other"),
    [("5", "5.0"), ("5.0", "5"), ("'5.00'", "'50e-1'"), ("100", "'1E+2'"), ("0", "'0.00'"), ("'0.10'", "0.1")],
)
def test_zeros_at_the_end_of_a_decimal_make_no_other_call(value: str, other: str) -> None:
    made: list[Decimal] = []

    @ez_tool
    def pay(amount: Decimal) -> int:
        """Pay."""
        made.append(amount)
        return len(made)

    with Toolkit([pay]) as toolkit:
        failed = toolkit.execute(f"pay({value})\npay(105)\n1 / 0")
        result = toolkit.execute(f"print(pay({other})); print(pay(10.5))", after=failed)
    assert (texts(result), made[2:]) == (["1", "3"], [Decimal("10.5")])


def test_secrets_are_compared_as_they_were_passed() -> None:
    @ez_tool
    def open_box(code: SecretStr) -> str:
        """Open."""
        return code.get_secret_value()[::-1]

    with Toolkit([open_box]) as toolkit:
        failed = toolkit.execute("open_box('ab')\n1 / 0")
        result = toolkit.execute("print(open_box('xy')); print(open_box('ab'))", after=failed)
    assert texts(result) == ["yx", "ba"]
    assert [call.get("already_done", False) for call in result.tool_calls] == [False, True]


def test_default_made_for_each_call_is_not_compared() -> None:
    ids: list[int] = []

    def make_id() -> int:
        ids.append(len(ids))
        return ids[-1]

    @ez_tool
    def create(title: str, number: Annotated[int, Field(default_factory=make_id)]) -> int:
        """Create."""
        return number

    with Toolkit([create]) as toolkit:
        failed = toolkit.execute("print(create('a'))\n1 / 0")
        assert texts(toolkit.execute("print(create('a'))", after=failed)) == [failed.output.strip()]


def test_changed_record_changes_no_identity() -> None:
    done: list[list[int]] = []

    @ez_tool
    def send(items: list[int]) -> int:
        """Send."""
        done.append(list(items))
        items.clear()
        return len(done)

    def redact(record: dict[str, Any]) -> None:
        record["args"][0][:] = [0]
        record["result"] = "hidden"

    with Toolkit([send], on_tool_call=redact) as toolkit:
        failed = toolkit.execute("send([1])\n1 / 0")
        result = toolkit.execute("print(send([0])); print(send([1]))", after=failed)
    assert texts(result) == ["2", "1"]


def test_reread_runs_declared_readers_anew(desk: Desk, run: Run, options: dict[str, Any]) -> None:
    with desk.toolkit(**options) as toolkit:
        failed = run(toolkit, FAILED)
        result = run(toolkit, "print(find('lamp')); print(refund(1))", after=failed, reread=True)
    assert texts(result) == ["find 5", "refund 2"]


def test_failed_call_runs_again(desk: Desk, options: dict[str, Any]) -> None:
    with desk.toolkit(**options) as toolkit:
        failed = toolkit.execute("note('bad')")
        toolkit.execute("note('bad')", after=failed)
    assert len(desk.done) == 2


def test_undeliverable_result_is_not_produced_again() -> None:
    made: list[int] = []

    @ez_tool
    def export(size: int) -> str:
        """Export."""
        made.append(size)
        return "x" * size

    with Toolkit([export]) as toolkit:
        failed = toolkit.execute("export(20_000_000)")
        again = toolkit.execute("export(20_000_000)", after=failed)
    assert (len(made), again.error) == (1, failed.error)


# Decisions ------------------------------------------------------------------------------------------------------------


def test_refused_call_stays_refused_and_no_one_is_asked(desk: Desk, run: Run, options: dict[str, Any]) -> None:
    desk.verdict = Deny("too much")
    with desk.toolkit(**options, approve=desk.approve) as toolkit:
        failed = run(toolkit, "try:\n    pay(9)\nexcept Exception:\n    1 / 0")
        desk.verdict = True
        again = [run(toolkit, "pay(9)", after=failed) for _ in range(2)]
        assert [result.is_denied for result in again] == [True, True]
        assert "too much" in str(again[0].error)
        chain = run(toolkit, "pay(9)", after=again[1])
        assert chain.is_denied
    assert (len(desk.asked), desk.done) == (1, [])


def test_approval_counts_for_its_call_only(desk: Desk, run: Run, options: dict[str, Any]) -> None:
    desk.verdict = Approve(remember="run")
    with desk.toolkit(**options, approve=desk.approve) as toolkit:
        failed = run(toolkit, "pay(1)\npay(2)\n1 / 0")
        desk.verdict = "no"
        result = run(toolkit, "print(pay(1))\nprint(pay(2))\npay(1)", after=failed)
    assert (result.output, result.is_denied) == ("pay 1\npay 2\n", True)
    assert (len(desk.asked), len(desk.done)) == (2, 2)


def test_missing_approver_is_no_decision(desk: Desk) -> None:
    with desk.toolkit() as toolkit:
        failed = toolkit.execute("pay(1)")
        assert texts(toolkit.execute("print(pay(1))", after=failed, approve=desk.approve)) == ["pay 1"]


@pytest.mark.parametrize("name", ["note", "find", "charge"])
def test_unknown_outcome_never_runs_again(desk: Desk, run: Run, options: dict[str, Any], name: str) -> None:
    with desk.toolkit(**options) as toolkit:
        failed = run(toolkit, f"{name}('hang')", timeout=0.6)
        desk.may_end.set()
        result = run(toolkit, f"{name}('hang')", after=failed)
    if name == "note":
        assert str(result.error).startswith("OutcomeUnknownError: note was not run again")
    assert len(desk.done) == (1 if name == "note" else 2)


def charging(keys: list[str], may_end: threading.Event) -> Tool[..., Any]:
    """Return an idempotent tool that notes its keys, and waits until it may end."""

    @ez_tool(idempotent=True)
    def charge(amount: int) -> str:
        """Charge."""
        keys.append(Context.idempotency_key)  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue, reportUnknownArgumentType] - as a plain name
        may_end.wait(60)
        return "charged"

    return charge


def test_repeated_call_of_unknown_outcome_has_its_key(run: Run, options: dict[str, Any]) -> None:
    keys: list[str] = []
    may_end = threading.Event()
    charge = charging(keys, may_end)

    with Toolkit([charge], **options) as toolkit:
        failed = run(toolkit, "charge(1)", timeout=0.6)
        may_end.set()
        run(toolkit, "charge(1)", after=failed)
        run(toolkit, "charge(1)")
    assert keys[0] == keys[1] != keys[2]


def test_key_of_an_unknown_outcome_serves_once_and_lasts(run: Run, options: dict[str, Any]) -> None:
    keys: list[str] = []
    may_end = threading.Event()
    charge = charging(keys, may_end)

    with Toolkit([charge], **options) as toolkit:
        first = run(toolkit, "charge(1)", timeout=0.6)
        # The outcome of the repetition is unknown, too: it is still the same call.
        second = run(toolkit, "charge(1)", timeout=0.6, after=first)
        may_end.set()
        third = run(toolkit, "charge(1)\ncharge(1)\n1 / 0", after=second)
        # Its calls have returned: there is nothing more to repeat.
        assert run(toolkit, "charge(1)\ncharge(1)\ncharge(1)", after=third).success
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys)) == 3
    assert len(keys) == 5


@pytest.mark.parametrize("name", ["pay", "note"])
def test_run_that_has_not_failed_is_not_continued(desk: Desk, run: Run, tmp_path: Path, name: str) -> None:
    desk.verdict = Pause()
    with desk.toolkit(journal=tmp_path / "runs.db") as toolkit:
        result = run(toolkit, f"refund(1)\n{name}(2)", approve=desk.approve)
        forged = dataclasses.replace(result, status="failed", success=False)
        with pytest.raises(ContinuationError, match=f"is {result.status}; nothing was run"):
            run(toolkit, "refund(1)\npay(2)", after=forged)


def test_resumed_correction_repeats_no_key_again(tmp_path: Path) -> None:
    keys: list[str] = []
    may_end = threading.Event()
    charge = charging(keys, may_end)

    with Toolkit([charge, Desk().tools()[3]], journal=tmp_path / "runs.db") as toolkit:
        failed = toolkit.execute("charge(1)", timeout=0.6)
        may_end.set()
        program = "charge(1)\npay(1)\ncharge(1)"
        paused = toolkit.execute(program, after=failed, approve=lambda call: Pause())
        assert toolkit.resume(str(paused.run_id), {paused.pending[0].id: True}).success
    assert keys[0] == keys[1] != keys[2]
