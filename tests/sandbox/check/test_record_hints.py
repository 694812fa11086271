"""Hints for records that are used as lists, and for lists of records that have no order."""

from typing import Any, TypedDict

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox


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


DIRECTLY = "one dict: use it directly; a loop over it gives its keys, like"


@pytest.mark.parametrize(
    "code",
    [
        "for item in track_shipment(1):\n    print(item['tracking'])",
        "for item in track_shipment(1):\n    print(item.tracking)",
        "print([item['tracking'] for item in track_shipment(1)])",
        "record = track_shipment(1)\nfor item in record:\n    print(item['tracking'])",
        "record = track_shipment(1)\nprint([item['city'] for item in record])",
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
        "record = track_shipment(1)\nprint([item['city'] for item in record])",
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


@pytest.mark.parametrize(
    ("code", "corrected"),
    [
        ("print(track_shipment(1)['town_or_city'])", "print(track_shipment(1)['city'])"),
        ("print([row['City'] for row in list_shipments()])", "print([row['city'] for row in list_shipments()])"),
        ("for row in list_shipments():\n    print(row.tracking_id)", None),
        ("print(max(list_shipments(), key=lambda row: row.track))", None),
    ],
)
def test_run_time_key_error_proposes_the_near_key(sandbox: ProcessSandbox, code: str, corrected: str | None) -> None:
    result = Toolkit([track_shipment, list_shipments], sandbox=sandbox).execute(code, 20)
    assert "KeyError" in (result.error or "") or "AttributeError" in (result.error or "")
    assert "Run this corrected program instead" in result.error_output
    assert (corrected or "") in result.error_output


def test_near_key_is_named_with_all_keys(sandbox: ProcessSandbox) -> None:
    error = fail(sandbox, "print(track_shipment(1)['Tracking'])")
    assert error == "KeyError: 'Tracking'\nHint: did you mean 'tracking'? the keys are: tracking, city"


def test_wrong_key_is_replaced_at_each_use_of_a_value(sandbox: ProcessSandbox) -> None:
    code = (
        "rows = list_shipments()\nprint({row['city'] for row in []} | {row['citys'] for row in rows if row['citys']})"
    )
    result = Toolkit([list_shipments], sandbox=sandbox).execute(code, 20)
    assert "{row['city'] for row in rows if row['city']}" in result.error_output


@pytest.mark.parametrize(
    "code",
    [
        "row = list_orders()[0]\nprint(row['colour'])",
        "table = {'ab1': 1, 'ab2': 2}\nprint(table['ab3'])",
        "key = 'Tracking'\nprint(track_shipment(1)[key])",
    ],
)
def test_no_program_is_proposed_where_no_one_key_is_meant(sandbox: ProcessSandbox, code: str) -> None:
    result = Toolkit([track_shipment, list_orders], sandbox=sandbox).execute(code, 20)
    assert "the keys are: " in result.error_output
    assert "corrected program" not in result.error_output


def test_wrong_key_beside_an_effect_is_only_named(sandbox: ProcessSandbox) -> None:
    @ez_tool
    def send(text: str) -> None:
        """Send a text."""

    result = Toolkit([track_shipment, send], sandbox=sandbox).execute("send(track_shipment(1)['Tracking'])", 20)
    assert "did you mean 'tracking'?" in result.error_output
    assert "corrected program" not in result.error_output


@pytest.mark.parametrize(
    "code",
    [
        "counts = {}\nfor row in list_shipments():\n    counts[row.city] += 1",
        "counts = {'Bern': 1}\nfor row in list_shipments():\n    counts[row.city] += 1",
    ],
)
def test_counting_into_a_new_key_is_explained(sandbox: ProcessSandbox, code: str) -> None:
    assert fail(sandbox, code).endswith("Hint: a new key has no value yet to add to: use counts.get(row.city, 0)")


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("item = 'a'\nrecord = track_shipment(1)\nprint([item['city'] for item in record])", f"{DIRECTLY} 'tracking'"),
        (
            "item = track_shipment(1)\nrows = ['ab']\nprint({item['x'] for item in rows})",
            "this is the str 'ab', which has no keys",
        ),
        ("rows = [{'a': 1}]\nprint([row['b'] for row in rows])", "the keys are: a"),
        ("rows = [{'a': 1}]\nprint([[row['b'] for row in rows] for rows in [rows]])", None),
        ("print({row: row['a'] for row in []} or [row['c'] for row in [{'d': 1}]])", None),
    ],
)
def test_failed_comprehension_has_the_hints_of_a_loop(sandbox: ProcessSandbox, code: str, hint: str | None) -> None:
    assert (hint or "") in fail(sandbox, f"{code}\n#{'x' * 12_000}")


@ez_tool
def get_history() -> dict[str, list[int]]:
    """Get the history."""
    return {"history": [1, 2]}


@ez_tool
def get_details(number: int) -> dict[str, int | str]:
    """Get details."""
    return {"number": number, "state": "open"} if number < 2 else {"error": f"{number} is\nHint: not there"}


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("for n in get_history():\n    get_details(n)", 'get_history()["history"]'),
        ("print([get_details(n) for n in get_history()])", 'get_history()["history"]'),
        ("print(sum(get_details(n)['number'] for n in get_history()))", 'get_history()["history"]'),
        ("rows = get_history()\nfor n in rows:\n    print(get_details(number=n)['state'])", 'rows["history"]'),
        ("rows = get_history()\nprint([get_details(n) for n in rows])", 'rows["history"]'),
    ],
)
def test_key_passed_to_a_tool_is_explained(sandbox: ProcessSandbox, code: str, value: str) -> None:
    result = Toolkit([get_history, get_details], sandbox=sandbox).execute(code, 20)
    hint = (result.error or "").partition("Hint: ")[2]
    named = f"n is 'history', a key of one dict: loop over its value instead, {value}; "
    # From Python 3.12 on, a failed comprehension does not say what its variable was.
    unnamed = "n is a key of one dict; its value is get_history()[n]; "
    assert hint.startswith((f"{named}the tool is get_details(", f"{unnamed}the tool is get_details("))


@ez_tool
def get_untyped(keys: list[str]):  # noqa: ANN201 - what it returns is not known before a call
    """Get a dict with these keys."""
    return dict.fromkeys(keys, 1)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("h = get_history()\nget_details(h)", 'h is a whole dict: pass one value of it, h["..."]'),
        (
            "get_details(number=get_history())",
            'get_history() is a whole dict: pass one value of it, get_history()["..."]',
        ),
        ("u = get_untyped(['id'])\nget_details(u)", 'u is a whole dict: pass one value of it, u["id"]'),
        (
            "u = get_untyped(['x' * 99])\nget_details(u)",
            'u is a whole dict: pass one value of it, u["..."]; its keys are: \'xxx',
        ),
        ("u = get_untyped(['a b'])\nget_details(number=u)", "u is a whole dict: pass one value of it, u['a b']"),
        (
            "rows = [get_untyped(['a', 'b'])]\nfor u in rows:\n    get_details(u)",
            'u is a whole dict: pass one value of it, u["..."]; its keys are: a, b',
        ),
    ],
)
def test_whole_dict_passed_to_a_tool_is_read_by_a_key(sandbox: ProcessSandbox, code: str, hint: str) -> None:
    result = Toolkit([get_history, get_details, get_untyped], sandbox=sandbox).execute(code, 20)
    told, _, signature = (result.error or "").partition("Hint: ")[2].partition("; the tool is ")
    assert told.startswith(hint)
    assert signature.startswith("get_details(")


@pytest.mark.parametrize("code", ["get_details({'id': 1})", "d = {'id': 1}\nget_details(number='x')"])
def test_dict_of_the_program_itself_gets_no_key(sandbox: ProcessSandbox, code: str) -> None:
    result = Toolkit([get_details], sandbox=sandbox).execute(code, 20)
    assert "must be int" in (result.error or "")
    assert "whole dict" not in (result.error or "")


@pytest.mark.parametrize(
    "code",
    [
        "for n in ['history']:\n    get_details(n)",
        "n = 'history'\nget_details(n)",
        "for n in get_history():\n    m = 'x'\n    get_details(m)",
    ],
)
def test_other_text_passed_to_a_tool_is_no_key(sandbox: ProcessSandbox, code: str) -> None:
    result = Toolkit([get_history, get_details], sandbox=sandbox).execute(code, 20)
    assert not result.success
    assert "a key of one dict" not in (result.error or "")


def test_missing_key_of_a_reported_error_names_the_report(sandbox: ProcessSandbox) -> None:
    code = "for n in get_history()['history']:\n    print(get_details(n)['state'])"
    error = Toolkit([get_history, get_details], sandbox=sandbox).execute(code, 20).error or ""
    assert error.splitlines() == [
        "KeyError: 'state'",
        "Hint: the call reported an error: '2 is\\nHint: not there'; the keys are: error",
    ]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("for key, value in track_shipment(1):\n    print(key)", "track_shipment(1).items()"),
        ("record = track_shipment(1)\nfor key, value in record:\n    print(key)", "record.items()"),
        ("counts = {'abc': len(list_shipments())}\nprint([key for key, value in counts])", "counts.items()"),
        ("rows = list_shipments()\nfor key, value in rows[0]:\n    print(key)", "rows[0].items()"),
    ],
)
def test_loop_over_pairs_of_a_dict_is_explained(sandbox: ProcessSandbox, code: str, text: str) -> None:
    assert f"a loop over a dict gives its keys: use {text}" in fail(sandbox, code)


@pytest.mark.parametrize("code", ["for a, b in ['abc', list_shipments()]: pass", "a, b = list_shipments()[0], *'bc'"])
def test_other_unpacking_has_no_such_hint(sandbox: ProcessSandbox, code: str) -> None:
    assert ".items()" not in fail(sandbox, code)
