"""Reading programs by the first rules, for runs that began with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ez_ptc.sandbox.check.reading.earlier_rules import REPAIRS_BY_RULES, repairs_by
from ez_ptc.sandbox.check.reading.program import EmptyProgramError, read_program
from ez_ptc.sandbox.protocol.both_ends.source_repairs import SOURCE_RULES

# What the first version has read each of these texts as.
READ = {
    "1: x = 5\n2: if x > 9:\n4:     x = 7\n5: print(x)": "x = 5\nif x > 9:\n    x = 7\nprint(x)",
    "> ```python\n> print(7)\n> ```": "print(7)",
    "x = 1\uff0c000\nprint(x)": "x = 1,000\nprint(x)",
    "print(\u201cHello'+str(3)+'x\u201d)": "print(\"Hello'+str(3)+'x\")",
    'print(\u201ca\u201d, \u201cb" + f() + "c\u201d)': 'print("a", "b" + f() + "c")',
    "if 1:\n        x = 1\n\ty = 2\nelse:\n        y = 3": "if 1:\n        x = 1\n        y = 2\nelse:\n        y = 3",
    "x = f(&quot;a&#33;&quot;, 'b')": "x = f(\"a!\", 'b')",
    "Done by him:\nThought: pay\nCode:\nprint(pay(1))": "\nprint(pay(1))",
    "python\nx": "\nx",
    "print(1)\nx = 1": "print(1)\nx = 1",
}


def test_first_rules_read_as_the_first_version_did() -> None:
    assert {given: read_program(given, rules=1)[::2] for given in READ} == {
        given: (read, ()) for given, read in READ.items()
    }


@pytest.mark.parametrize("given", ["<think>print(1)", "```x"])
def test_text_without_a_program_stays_unreadable(given: str) -> None:
    with pytest.raises(SyntaxError):
        read_program(given, rules=1)
    with pytest.raises(EmptyProgramError):
        read_program(given)


def test_each_version_of_the_rules_has_its_repairs() -> None:
    assert [*REPAIRS_BY_RULES] == [*range(1, SOURCE_RULES + 1)]
    assert repairs_by(None) is REPAIRS_BY_RULES[SOURCE_RULES]


@pytest.mark.parametrize("rules", [0, SOURCE_RULES + 1, -1, True, 1.0, "1"])
def test_unknown_rules_read_no_program(rules: int) -> None:
    with pytest.raises(ValueError, match=f"rules for repairing sources from 1 to {SOURCE_RULES}, got"):
        read_program("print(1)", rules=rules)


def _read(text: str, rules: int) -> str | None:
    try:
        return read_program(text, rules=rules).text
    except (SyntaxError, EmptyProgramError):
        return None


@pytest.mark.parametrize("rules", REPAIRS_BY_RULES)
def test_kept_texts_are_read_as_each_version_did(rules: int) -> None:
    """The first file was written by the last library that knew no other rules."""
    kept = json.loads((Path(__file__).parent / "kept" / f"rules-{rules}.json").read_text())
    assert {text: _read(text, rules) for text in kept} == kept
