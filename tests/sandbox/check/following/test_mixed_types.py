"""Values of types that do not go together are explained by their types, before the program runs or after its error."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.check.following.mixed_types import hint_of_types


class State(enum.Enum):
    PAID = "paid"


@dataclass
class Bill:
    number: int
    price: Decimal
    due: datetime
    state: State
    note: str = "urgent"


@ez_tool(read_only=True)
def read_bill() -> Bill:
    """Read a bill."""
    return Bill(7, Decimal("2.50"), datetime(2025, 3, 1, tzinfo=UTC), State.PAID)


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([read_bill], assist_tool_chaining=True) as opened:
        yield opened


HINTS = {
    "bill = read_bill()\nprint((bill.due - bill.due) + 5 * bill.number)": "one of them is a timedelta: .days",
    'print("number " + read_bill().number)': "write a number as text with str(), or use an f-string",
    "print(read_bill().note - 1)": "one of them is text: float() makes a number of it",
    "total = 1\ntotal += read_bill().note": "one of them is text: float() makes a number of it",
    "print(read_bill().price * 1.1)": "a Decimal and a float do not mix",
    'print(read_bill().due - "2025-01-01")': "one of them is text: datetime.fromisoformat() makes a datetime of it",
    'print(read_bill().due < "2025-01-01")': "one of them is text: datetime.fromisoformat() makes a datetime of it",
    "from datetime import date\nprint(read_bill().due < date(2025, 1, 1))": ".date() makes a date of it",
    "from datetime import date\nprint(date(2025, 1, 1) - read_bill().due)": ".date() makes a date of it",
    "print(read_bill().due[:10])": "it is a date, not text: .isoformat() makes text of it",
    'print(read_bill().due.split("T"))': "it is a date, not text: .isoformat() makes text of it",
    "print(read_bill().state.value)": "it is text already: a tool's member of an Enum comes as its value",
}
LATER_HINTS = {
    "print(read_bill().note.encode().split(','))": "one of them is bytes: .decode() makes text of them",
    "bill = read_bill()\nbill.price += 0.5": "a Decimal and a float do not mix",
    "from datetime import datetime\nprint(datetime.now() - read_bill().due)": "one of them has no time zone",
    "import json\nprint(json.dumps(read_bill()))": "json.dumps(..., default=str) writes it as text",
    "from datetime import datetime\ndatetime.strptime(read_bill().due, '%Y')": "already, not text: use it as it is",
}


@pytest.mark.parametrize("program", HINTS)
def test_types_that_do_not_go_together_are_explained_before_any_call(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(program)

    assert HINTS[program] in (result.error or "").partition("\nHint: ")[2]
    assert result.tool_calls == []


@pytest.mark.parametrize("program", LATER_HINTS)
def test_types_that_do_not_go_together_are_explained_after_the_error(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(program)

    assert LATER_HINTS[program] in (result.error or "").partition("\nHint: ")[2]
    assert len(result.tool_calls) == 1


@pytest.mark.parametrize(
    "program",
    ["print(read_bill().note[:3])", "print(read_bill().due.replace(day=2))", "print(read_bill().state.title())"],
)
def test_what_a_type_can_do_is_not_refused(toolkit: Toolkit, program: str) -> None:
    assert toolkit.execute(program).error is None


LATE = " " * 10_000 + "'int' and 'str'"


@pytest.mark.parametrize("error", ["", "unsupported operand type(s) for -: 'list' and 'int'", LATE])
def test_other_errors_have_no_such_hint(error: str) -> None:
    assert hint_of_types(error) == ""


KEEPING = {
    "a future": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor() as pool:
    future = pool.submit(lambda: read_bill().lost)
print(type(future.exception()).__name__)
""",
    "a task": """
async def read():
    return read_bill().lost
task = asyncio.create_task(read())
await asyncio.wait([task])
print(type(task.exception()).__name__)
""",
}


@pytest.mark.parametrize("keeper", KEEPING)
def test_program_that_looks_at_a_kept_error_is_not_refused(toolkit: Toolkit, keeper: str) -> None:
    assert toolkit.execute(KEEPING[keeper]).output == "AttributeError\n"
