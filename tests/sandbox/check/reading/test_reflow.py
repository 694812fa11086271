"""A program that has all on one line is answered with its lines, where that is all that it lacks."""

import re

import pytest

from ez_ptc import Toolkit

FOLDED: dict[str, tuple[str, str]] = {
    "a loop": ("rows = [1, 2]; for row in rows: print(row)", "rows = [1, 2]\nfor row in rows:\n    print(row)"),
    "a condition in a loop": (
        "for n in range(4): if n % 2: print(n)",
        "for n in range(4):\n    if n % 2:\n        print(n)",
    ),
    "a sum that is printed at the end": (
        "total = 0; for n in range(3): m = add(n, 1); if m > 1: total += m; print(total)",
        "total = 0\nfor n in range(3):\n    m = add(n, 1)\n    if m > 1:\n        total += m\nprint(total)",
    ),
    "a list that is printed at the end": (
        "rows = []; for n in range(3): if n: rows.append(n); print(rows)",
        "rows = []\nfor n in range(3):\n    if n:\n        rows.append(n)\nprint(rows)",
    ),
    "what is printed of each": (
        "top = 1; for n in range(3): if n > top: m = add(n, top); print(m, top)",
        "top = 1\nfor n in range(3):\n    if n > top:\n        m = add(n, top)\n        print(m, top)",
    ),
    "a sum of what tools return": (
        "total = 0; for n in [1, 2]: if n: total += add(n, n); print(total)",
        "total = 0\nfor n in [1, 2]:\n    if n:\n        total += add(n, n)\nprint(total)",
    ),
    "an end of a line in a text": (
        "rows = ['a']; for row in rows: if row: print(row, end='\\n')",
        "rows = ['a']\nfor row in rows:\n    if row:\n        print(row, end='\\n')",
    ),
    "texts with ends of lines of their own": (
        "x = '\u2028\x85\x0c'; for n in x: print(n)",
        "x = '\u2028\x85\x0c'\nfor n in x:\n    print(n)",
    ),
    "what else": (
        "x = add(1, 2); if x > 5: y = 'more'; elif x > 2: y = 'some'; else: y = 'less'; print(y)",
        "x = add(1, 2)\nif x > 5:\n    y = 'more'\nelif x > 2:\n    y = 'some'\nelse:\n    y = 'less'\nprint(y)",
    ),
    "what is tried": (
        "try: x = int('x'); except ValueError: x = 7; finally: print(x)",
        "try:\n    x = int('x')\nexcept ValueError:\n    x = 7\nfinally:\n    print(x)",
    ),
    "a function": (
        "import math; def root(n): r = math.sqrt(n); return r\nprint(root(4))",
        "import math\ndef root(n):\n    r = math.sqrt(n)\n    return r\nprint(root(4))",
    ),
    "colons that open nothing": (
        "d = {'a;b:': lambda x: x[1:]}; for k, f in d.items(): print(k, f('ab'))",
        "d = {'a;b:': lambda x: x[1:]}\nfor k, f in d.items():\n    print(k, f('ab'))",
    ),
    "one line of several": (
        "rows = [3]\nfor row in rows: if row: print(row)\nprint('end')",
        "rows = [3]\nfor row in rows:\n    if row:\n        print(row)\nprint('end')",
    ),
}


CERTAIN = {"a loop", "a condition in a loop", "an end of a line in a text", "texts with ends of lines of their own"} | {
    "what is tried",
    "colons that open nothing",
    "one line of several",
}


@pytest.mark.parametrize("name", sorted(CERTAIN))
def test_folded_program_that_can_only_mean_one_thing_runs(toolkit: Toolkit, name: str) -> None:
    code, lines = FOLDED[name]
    folded, unfolded = toolkit.execute(code), toolkit.execute(lines)
    assert (folded.error, folded.output) == (None, unfolded.output)


UNCERTAIN = {name: folded for name, folded in FOLDED.items() if name not in CERTAIN}


@pytest.mark.parametrize(("code", "lines"), UNCERTAIN.values(), ids=UNCERTAIN.keys())
def test_a_folded_program_is_answered_with_its_lines(toolkit: Toolkit, code: str, lines: str) -> None:
    result = toolkit.execute(code)
    assert "Hint: begin each statement on a line of its own" in (result.error or "")
    proposed = re.search(r"```python\n(.*)\n```", result.error_output, re.DOTALL)
    assert proposed is not None
    assert proposed[1] == lines
    assert toolkit.execute(lines).success


@pytest.mark.parametrize(
    "code",
    [
        "the answer is 3.",
        "print(",
        "x = 1; for",
        "'''",
        "yield 3",
        "f(; for x in y: z",
        "if x: (: else: 1",
        "x = 1; for x in y: z; " * 500,
    ],
)
def test_program_lacking_more_than_newlines_is_not_repeated(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    assert (result.error or "").startswith("SyntaxError: ")
    assert "```" not in result.error_output


def test_text_evaluated_by_program_is_not_repaired(toolkit: Toolkit) -> None:
    assert "```" not in toolkit.execute("eval('for x in y: if x: 1')").error_output


def test_syntax_error_is_reported_once(toolkit: Toolkit) -> None:
    code = "print('a' 5)"
    assert toolkit.answer(code, toolkit.execute(code)).count("SyntaxError") == 1
