"""Questions about calls: every argument is named, and what is cut is counted."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.messages import PendingCall
from ez_ptc.tools.approvals.questions import argument_lines, write_question
from ez_ptc.tools.approvals.visible_text import columns_of, is_hidden, pieces_of
from ez_ptc.tools.approvals.visible_values import visible_value

HOSTILE = st.one_of(
    st.text(max_size=50),
    st.sampled_from(
        [
            "Thanks" + " " * 4_000,
            "\u3164\u2800" * 3_000,
            "\n" * 10_000,
            "\n".join(f"amount = {number}" for number in range(10_000)),
            "x" * 100_000,
            "я" * 9_000,
            "哈" * 9_000,
            "\u202eabc\u2066",
            "p\u0430ypal.com",
            "**bold** <b>x</b> [red]x[/red] \x1b[2J\x1b[31m",
            "e" + "\u0301" * 5_000,
            '"\n    amount = 5',
            "\\u3164" * 500,
        ]
    ),
)
SCALARS = st.one_of(
    HOSTILE,
    st.integers(),
    st.sampled_from([5_000]).map(lambda digits: 10**digits),
    st.floats(),
    st.booleans(),
    st.none(),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE, inner, max_size=4), max_leaves=8
)
NAMES = st.one_of(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), HOSTILE)


def call(arguments: dict[str, Any], **changes: Any) -> PendingCall:
    return replace(PendingCall("r:1", "send", arguments, "1"), **changes)


@pytest.mark.sampled(every=0)
@given(st.dictionaries(NAMES, VALUES, max_size=12), st.integers(1, 200), st.integers(5, 60), NAMES)
def test_each_argument_is_named_on_a_screen(arguments: dict[str, Any], columns: int, lines: int, tool: str) -> None:
    pending = call(arguments, tool=tool, path="12.0.1" * 9, state="outcome_unknown" if lines % 2 else "needs_approval")
    text = write_question(pending, columns=columns, lines=lines)
    written = text.split("\n")
    assert len(written) <= lines
    assert all(columns_of(line) < max(columns, 48) for line in written)
    assert not any(is_hidden(character) for line in written for character in line)
    assert "   " not in text.replace("\n    ", "\n")
    starts = [line for line in written[2:] if not line.startswith("    | ")]
    if len(arguments) <= lines - 2:
        assert len(starts) == max(len(arguments), 1)
    for name in arguments:
        if re.fullmatch("[a-z_]{1,12}", name) and len(arguments) <= lines - 2:
            assert any(line.startswith(f"    {name} = ") for line in starts)


@pytest.mark.sampled(every=0)
@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_question_without_limit_shows_everything(arguments: dict[str, Any]) -> None:
    text = write_question(call(arguments), lines=None)
    assert " more" not in text or any("more" in str(item) for item in arguments.items())
    assert sum(line.startswith("    ") and not line.startswith("    | ") for line in text.split("\n")[2:]) == max(
        len(arguments), 1
    )


def test_no_argument_hides_another() -> None:
    for filling in (" ", "\u3164", "\u2800", "\n", "x", "\u200b", " \u2800", "哈"):
        body = "Thanks" + filling * 4_000
        text = write_question(call({"body": body, "to": "eve@example.com", "amount": 1_000_000}), lines=10)
        assert '\n    to = "eve@example.com"\n    amount = 1000000' in text
        assert "4,000" in text or re.search(r"\(\d,\d{3} more characters\)", text)
        nested = write_question(call({"message": {"body": body, "to": "eve@example.com", "amount": 1_000_000}}))
        assert '"to": "eve@example.com", "amount": 1000000}' in "".join(re.split(r"\n {4}\| ", nested))


def test_question_says_what_was_cut_of_each_argument() -> None:
    lines = argument_lines({"a": "x" * 9_000, "b": list(range(9_000)), "c": {str(n): n for n in range(9_000)}}, lines=9)
    text = "".join(line.removeprefix("    | ") for line in lines)
    counts = [int(count.replace(",", "")) for count in re.findall(r"([\d,]+) more", text)]
    shown = text.count("x"), text.count(", ") - 1
    assert len(counts) == 3
    assert counts[0] == 9_000 - shown[0]
    assert all(8_000 < count < 9_000 for count in counts)


def test_heading_names_the_tool_and_its_state() -> None:
    assert write_question(call({})).startswith("Allow send (1)?\n\n    (no arguments)")
    assert write_question(call({}, path="")).startswith("Allow send?\n")
    unknown = write_question(call({"n": 1}, state="outcome_unknown"))
    assert unknown == "Did send (1) take effect?\n\n    n = 1"
    assert write_question(call({}, tool="s\u0435nd\n")).startswith('Allow "s\\u0435nd\\n" (1)?')


def test_names_that_are_no_words_stand_in_quotes() -> None:
    lines = argument_lines({"amount = 5": 1, "\u0430mount": 2, "größe": 3, "x" * 200 + "y": 4}, columns=80)
    assert lines[:3] == ['    "amount = 5" = 1', '    "\\u0430mount" = 2', '    "gr\\xf6\\xdfe" = 3']
    assert re.fullmatch(r" {4}x+…\d+…x+y = 4", lines[3])


def test_more_arguments_than_lines_are_named_and_counted() -> None:
    text = write_question(call({f"a{number}": number for number in range(60)}), lines=20)
    assert all(re.search(rf"\ba{number}\b", text) for number in range(60))
    text = write_question(call({f"argument_{number}": number for number in range(10_000)}), lines=20)
    assert len(text.split("\n")) <= 20
    assert re.search(r"and 9,988 more arguments: .*… and 9,\d{3} more$", text, re.DOTALL)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("unit", "count"), [("x", 10**6), (" x", 10**5), (" ", 10**6), ("\u3164\u2800", 10**5), ("\u0440", 10**5)]
)
def test_long_text_is_not_read_beyond_its_room(unit: str, count: int) -> None:
    text = unit * count + "a"
    assert len(visible_value(text, 3_000)) <= 3_000
    assert len(list(islice(pieces_of(text), 100))) <= 100


def test_items_beyond_the_room_are_not_visited() -> None:
    class Counted(list[object]):
        visited = 0

        def __iter__(self) -> Iterator[object]:
            for item in super().__iter__():
                self.visited += 1
                yield item

    items = Counted(["item"] * 1_000_000)
    shown = visible_value(items, 3_000)
    assert shown.endswith(f", … {1_000_000 - shown.count('item'):,} more]")
    assert items.visited < 3_000


def test_deep_values_are_counted_below_some_depth() -> None:
    value: object = 1
    for _ in range(5_000):
        value = [value, {"key": value}] if isinstance(value, int) else [value]
    assert len(visible_value(value, 200)) <= 200
    assert "… 1 more" in visible_value(value, 200)
