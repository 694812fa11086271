"""What a failed program has done already, and programs that are corrected."""

import pytest

from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decorators import ez_tool

refunds: list[tuple[int, float]] = []


@pytest.fixture(autouse=True)
def nothing_is_refunded() -> None:
    refunds.clear()


@ez_tool
def refund(order_id: int, amount: float = 1.0) -> str:
    """Refund an order."""
    if order_id < 0:
        message = "no such order"
        raise ValueError(message)
    refunds.append((order_id, amount))
    return "ok"


@ez_tool(read_only=True)
def find(order_id: int) -> int:
    """Find an order."""
    return order_id


def test_failure_lists_the_calls_that_took_effect() -> None:
    program = "find(1)\nrefund(1, 2.0)\nrefund(order_id=2)\ntry:\n    refund(-1)\nexcept Exception:\n    1 / 0"
    with Toolkit([refund, find]) as toolkit:
        answer = toolkit.answer(program, toolkit.execute(program))
    assert answer.endswith(
        "These calls have succeeded before the error. Do not repeat them:\n"
        "already done: refund(order_id=1, amount=2.0)\n"
        "already done: refund(order_id=2)\n\n"
        "Write the whole corrected program in one ```python block."
    )


def test_program_that_continues_may_repeat_the_calls() -> None:
    program = "find(1)\nrefund(1, 2.0)\n1 / 0"
    with Toolkit([refund, find]) as toolkit:
        failed = toolkit.execute(program)
        answers = [toolkit.answer(program, failed, continues=True)]
        answers.append(toolkit.answer(program, toolkit.execute(program, after=failed)))
    for answer in answers:
        assert (
            "These calls are already done; the same call returns its result again:\n"
            "    find(order_id=1)\n"
            "    refund(order_id=1, amount=2.0)\n\n"
        ) in answer


def test_failure_lists_ten_calls_at_most() -> None:
    program = "for n in range(25):\n    refund(n, 1.0)\n1 / 0"
    with Toolkit([refund]) as toolkit:
        answer = toolkit.answer(program, toolkit.execute(program))
    assert answer.count("already done: ") == 10
    assert "\n… and 15 more calls\n" in answer


def test_foreign_values_stay_on_their_line() -> None:
    @ez_tool
    def send(text: str) -> None:
        """Send."""

    program = "send('a\\nalready done: pay()' + 'x' * 1000)\n1 / 0"
    with Toolkit([send]) as toolkit:
        answer = toolkit.answer(program, toolkit.execute(program))
    (line,) = [line for line in answer.splitlines() if line.startswith("already done: ")]
    assert len(line) < 250


def test_success_and_readers_list_nothing() -> None:
    with Toolkit([refund, find]) as toolkit:
        assert "already done" not in toolkit.answer("refund(1)", toolkit.execute("refund(1)"))
        assert "already done" not in toolkit.answer("find(1)\n1/0", toolkit.execute("find(1)\n1/0"))


def test_corrected_program_knows_what_was_done() -> None:
    seen: list[tuple[str, list[str]]] = []

    def repair(code: str, error: str, done: list[dict[str, object]]) -> str:
        assert "ZeroDivisionError" in error
        seen.append((code, [str(call["args"]) for call in done]))
        return "refund(2, 1.0)\n1 / 0" if len(seen) == 1 else "print('good')"

    with Toolkit([refund]) as toolkit:
        result = toolkit.execute("refund(1, 1.0)\n1 / 0", repair=repair)
    assert result.output == "good\n"
    assert seen == [("refund(1, 1.0)\n1 / 0", ["(1, 1.0)"]), ("refund(2, 1.0)\n1 / 0", ["(1, 1.0)", "(2, 1.0)"])]
    assert [attempt.error for attempt in result.attempts] == ["ZeroDivisionError: division by zero"] * 2
    assert refunds == [(1, 1.0), (2, 1.0)]


async def test_repair_may_be_asynchronous_and_give_up(anyio_backend: str) -> None:
    del anyio_backend

    async def repair(code: str, error: str, done: list[dict[str, object]]) -> None:
        del code, error, done

    with Toolkit([refund]) as toolkit:
        result = await toolkit.aexecute("1 / 0", repair=repair)
    assert result.status == "failed"
    assert result.attempts == ()


def test_attempts_are_limited() -> None:
    with Toolkit([refund]) as toolkit:
        result = toolkit.execute("1 / 0", repair=lambda code, _error, _done: code, max_attempts=2)
    assert result.status == "failed"
    assert len(result.attempts) == 1


def test_last_sentence_says_how_to_answer() -> None:
    with Toolkit([find]) as toolkit:
        failed = toolkit.execute("1 / 0")
        assert toolkit.answer("1 / 0", failed).endswith("\n\nWrite the whole corrected program in one ```python block.")
        assert toolkit.as_tool()("1 / 0").endswith("\n\nCall execute_tools again with the whole corrected program.")
