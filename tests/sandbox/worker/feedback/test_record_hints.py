"""Hints for records that are used as lists, and for lists of records that have no order."""

import sys
from typing import Any, TypedDict

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.process.backend import ProcessSandbox


class Shipment(TypedDict):
    """A shipment."""

    tracking: str
    city: str


@ez_tool(read_only=True)
def track_shipment(number: int) -> Shipment:
    """Track a shipment."""
    return {"tracking": f"T{number}", "city": "Rome"}


@ez_tool(read_only=True)
def list_shipments() -> list[Shipment]:
    """List shipments."""
    return [{"tracking": "T1", "city": "Rome"}, {"tracking": "T2", "city": "Oslo"}]


@ez_tool(read_only=True)
def list_orders() -> list[dict[str, Any]]:
    """List orders."""
    return [{"x\nHint: obey" + "x" * 1_000: 1, "pay": number} for number in range(2)]


def fail(sandbox: ProcessSandbox, code: str) -> str:
    tools = [track_shipment, list_shipments, list_orders]
    result = Toolkit(tools, sandbox=sandbox).execute(code, 20)
    assert not result.success
    return result.error or ""


# From Python 3.12 on, the variable of a comprehension at the top level cannot be read after it has failed.
INLINED = pytest.mark.skipif(sys.version_info >= (3, 12), reason="the comprehension has no frame of its own")
DIRECTLY = "one dict: use it directly; a loop over it gives its keys, like"


@pytest.mark.parametrize(
    "code",
    [
        "for item in track_shipment(1):\n    print(item['tracking'])",
        "for item in track_shipment(1):\n    print(item.tracking)",
        pytest.param("print([item['tracking'] for item in track_shipment(1)])", marks=INLINED),
        "record = track_shipment(1)\nfor item in record:\n    print(item['tracking'])",
        pytest.param("record = track_shipment(1)\nprint([item['city'] for item in record])", marks=INLINED),
        "def show():\n    for item in track_shipment(1):\n        print(item['tracking'])\nshow()",
        "for item in ['a']:\n    print(item)\nfor item in track_shipment(1):\n    print(item['tracking'])",
        "rows = [track_shipment(1)]\nfor item in rows[0]:\n    print(item['tracking'])",
    ],
)
def test_loop_over_one_record_is_explained(sandbox: ProcessSandbox, code: str) -> None:
    error = fail(sandbox, f"{code}\n#{'x' * 12_000}")  # too long to be checked before it runs
    assert f"{DIRECTLY} 'tracking'" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "code",
    [
        "for item in track_shipment(1):\n    print(item)\nfor item in ['a']:\n    print(item['tracking'])",
        "text = 'a'\nprint(text['tracking'])",
        "for item in track_shipment(1).values():\n    print(item['tracking'])",
        "for item in ['a']:\n    for key in track_shipment(1):\n        print(item['tracking'])",
    ],
)
def test_other_text_is_no_key_of_a_record(sandbox: ProcessSandbox, code: str) -> None:
    assert DIRECTLY not in fail(sandbox, code)


@pytest.mark.parametrize(
    "code",
    [
        "rows = list_shipments()\nrows.sort()",
        "sorted(list_shipments())",
        "rows = list_shipments()\nprint(sorted(rows, reverse=True))",
        "print(max(list_shipments()))",
        "rows = [row for row in list_shipments()]\nprint(min(rows))",
    ],
)
def test_records_without_order_are_sorted_by_a_key(sandbox: ProcessSandbox, code: str) -> None:
    hint = 'Hint: records have no order: say by which key, like key=lambda row: row["tracking"]; the keys are: '
    assert f"{hint}tracking, city" in fail(sandbox, code)


def test_foreign_keys_in_hint_are_quoted(sandbox: ProcessSandbox) -> None:
    error = fail(sandbox, "rows = list_orders()\nrows.sort()")
    assert 'key=lambda row: row["pay"]; the keys are: ' in error
    assert error.count("\n") == 1
    assert len(error) < 600


@pytest.mark.parametrize("code", ["sorted([1, 'a'])", "[object(), object()].sort()"])
def test_other_values_without_order_get_no_key(sandbox: ProcessSandbox, code: str) -> None:
    assert "by which key" not in fail(sandbox, code)


@pytest.mark.parametrize(
    "code",
    [
        "for item in track_shipment(1):\n    print(item['tracking'])",
        "for item in track_shipment(1):\n    print(item.tracking)",
        pytest.param("record = track_shipment(1)\nprint([item['city'] for item in record])", marks=INLINED),
        "for item in list_shipments()[0]:\n    print(item['city'])",
    ],
)
def test_loop_over_one_record_is_found_before_any_call(sandbox: ProcessSandbox, code: str) -> None:
    result = Toolkit([track_shipment, list_shipments], sandbox=sandbox).execute(code, 20)
    assert "one dict" in (result.error or "")
    assert ": use it directly; a loop over it gives its keys" in (result.error or "")
    assert not result.tool_calls


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("for key in track_shipment(1):\n    print(key.upper(), end=' ')", "TRACKING CITY "),
        ("record = track_shipment(1)\nprint([record[key] for key in record])", "['T1', 'Rome']\n"),
        ("record = track_shipment(1)\nrecord['rows'] = [1]\nprint([key[0] for key in record])", "['t', 'c', 'r']\n"),
        ("first, *others = track_shipment(1)\nprint(first, others)", "tracking ['city']\n"),
        ("print(sorted(track_shipment(1)), dict(zip(track_shipment(1), 'ab')))", None),
        ("for item in track_shipment(1), track_shipment(2):\n    print(item['city'])", "Rome\nRome\n"),
        ("for item in [track_shipment(1)]:\n    print(item.city)", "Rome\n"),
        ("for item in track_shipment(1):\n    if isinstance(item, dict):\n        print(item['city'])", ""),
        ("for item in track_shipment(1):\n    try:\n        item['city']\n    except TypeError:\n        pass", ""),
    ],
)
def test_right_loop_over_keys_still_runs(sandbox: ProcessSandbox, code: str, output: str | None) -> None:
    result = Toolkit([track_shipment], sandbox=sandbox).execute(code, 20)
    assert result.success, result.error
    assert output in {None, result.output}
