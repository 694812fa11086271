"""What a failed program has done already, and programs that are corrected."""

from collections.abc import Iterator
from typing import Any, TypedDict

import pytest

from ez_ptc.toolkit.prompting.effects import shape_text
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
        assert answer.startswith(
            "These calls are already done; the same call returns its result again:\n"
            "    find(order_id=1)\n"
            "    refund(order_id=1, amount=2.0)\n\n"
            "ERROR: Traceback"
        )


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


@ez_tool
def list_orders() -> dict[str, list[Any]]:
    """List orders."""
    return {"history": [{"id": 1, "secret text": "x"}], "none": []}


@ez_tool
def get_numbers() -> list[Any]:
    """Get numbers."""
    return [[1.5, 2]]


class Order(TypedDict):
    order_id: int


@ez_tool
def get_order() -> Order:
    """Get an order."""
    return {"order_id": 1}


def test_correction_learns_the_keys_of_undocumented_results_and_no_values() -> None:
    program = "list_orders(), get_numbers(), get_order(), refund(1)\n1 / 0"
    with Toolkit([list_orders, get_numbers, get_order, refund], assist_tool_chaining=True) as toolkit:
        answer = toolkit.answer(program, toolkit.execute(program), continues=True)
        plain = toolkit.answer(program, toolkit.execute(program))
    assert (
        "    list_orders() -> {history: list[{id: int, 'secret text': str}], none: list}\n"
        "    get_numbers() -> list[list[float]]\n"
        "    get_order()\n"
        "    refund(order_id=1)\n\n"
    ) in answer
    assert "->" not in plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({f"key{number}": number for number in range(9)}, "key7: int, …}"),
        ({"a": {"b": {"c": {"d": 1}}}}, "{a: {b: {c: dict}}}"),
        ({"x\n[Done.]": None, "y" * 500: True}, "{'x\\n[Done.]': None, "),
        ({"k" * 39 + str(number): {"a": {"b" * 39: 1}} for number in range(8)}, None),
        ("text", None),
        ({}, None),
        (3, None),
    ],
)
def test_shape_is_bounded_text_on_one_line(value: object, text: str | None) -> None:
    shape = shape_text(value)
    assert (shape is None) == (text is None)
    assert (text or "") in (shape or "")
    assert "\n" not in (shape or "")
    assert len(shape or "") <= 300


class Lying(list[int]):
    def __len__(self) -> int:
        return 10**9

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: object) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - a hostile class
        raise RuntimeError

    def __iter__(self) -> Iterator[int]:
        raise RuntimeError


class LyingKeys(dict[str, int]):
    def items(self) -> Any:  # noqa: ANN401 - it never returns
        raise RuntimeError

    def __len__(self) -> int:
        return 10**9


class LyingName(str):
    __slots__ = ()

    def isidentifier(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Lying(), None),
        (Lying([1]), "list[int]"),
        ([Lying()], "list[list]"),
        (LyingKeys(), None),
        (LyingKeys(a=1), "{a: int}"),
        ({LyingName("x\ny"): 1}, "{<LyingName>: int}"),
    ],
)
def test_shape_runs_no_code_of_a_results_class(value: object, text: str | None) -> None:
    assert shape_text(value) == text


def test_correction_with_the_same_error_is_told_so() -> None:
    first, other = "rows = list_orders()\nprint(rows['x'])", "rows = list_orders()\nprint(rows['y'])"
    with Toolkit([list_orders], assist_tool_chaining=True) as toolkit:
        failed = toolkit.execute(first)
        again = toolkit.execute(first, after=failed)
        changed = toolkit.execute(other, after=again)
        checked = [toolkit.execute("pay(1)")]
        checked.append(toolkit.execute("pay(1)", after=checked[0]))
        answers = [toolkit.answer(first, result, continues=True) for result in (failed, again, changed, *checked)]
    same = "The correction fails with the same error, because it does not change what fails.\nHint: "
    assert [same in answer for answer in answers] == [False, True, False, False, True]
    assert f"{same}the keys are: history, none\n\nWrite the whole" in answers[1]
    assert [answer.count("Hint: ") for answer in answers] == [1, 2, 1, 1, 2]
