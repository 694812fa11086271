"""Reading programs by the first rules, for runs that began with them."""

from __future__ import annotations

import pytest

from ez_ptc.sandbox.check.reading.program import EmptyProgramError, read_program

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
