"""A program that did nothing that anyone sees is told why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ez_ptc import Toolkit, ez_tool

if TYPE_CHECKING:
    from collections.abc import Iterator


@ez_tool(read_only=True)
def price(product: str) -> float:
    """Look up a price."""
    return len(product) * 1.5


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([price]) as opened:
        yield opened


ASYNC_MAIN = "async def main():\n    print(price('a'))\n"
SILENT = {
    "a function": ("def main():\n    print(price('a'))", "defines main() but never calls it"),
    "an asynchronous function": (ASYNC_MAIN, "defines main() but never calls it"),
    "the first of two": ("def first(): second()\ndef second(): print(1)", "defines first() but never calls it"),
    "main among others": ("def helper(): return 1\ndef main(): print(helper())\ndef other(): pass", "defines main()"),
    "a recursive function": ("def down(n):\n    return n and down(n - 1)", "defines down() but never calls it"),
    "with imports": ("import json\nLIMIT = 3\ndef main():\n    print(json.dumps(LIMIT))", "defines main()"),
    "main instead of __main__": ("def main():\n    print(1)\nif __name__ == 'main':\n    main()", "not 'main'"),
    "the other way around": (
        "def main():\n    print(1)\nif '__program__' == __name__:\n    main()",
        "not '__program__'",
    ),
    "a coroutine": (f"{ASYNC_MAIN}main()", "never awaited main()"),
    "a coroutine under a condition": (f"{ASYNC_MAIN}if __name__ == '__main__':\n    main()", "never awaited main()"),
    "a coroutine in a variable": (f"{ASYNC_MAIN}result = main()", "never awaited main()"),
    "coroutines in a list": (f"{ASYNC_MAIN}waiting = [main(), main()]", "never awaited main()"),
    "a coroutine in a function": (f"{ASYNC_MAIN}async def go():\n    main()\nawait go()", "never awaited main()"),
    "a coroutine after a call": (f"n = price('a')\n{ASYNC_MAIN}main()", "never awaited main()"),
}


@pytest.mark.parametrize(("program", "reason"), SILENT.values(), ids=SILENT)
def test_silent_program_is_told_why(toolkit: Toolkit, program: str, reason: str) -> None:
    tool = toolkit.as_tool()

    assert tool(program).startswith("[The program printed nothing: ")
    assert reason in tool(program)
    assert "runtime.py" not in toolkit.execute(program).error_output


IDLE = {
    "imports": "import json\nfrom math import sqrt as root",
    "`pass`": "pass  # nothing to do",
    "text, imports": "'''Get the prices.'''\nimport json",
    "imports, text": 'import json\n"""\nGet the prices.\nPrint them.\n"""',
    "text": '"""Plan:\n1. get the prices\n"""',
}
ASKED = "write Python statements that call the tools and print the result"


def test_program_that_does_nothing_is_told_so(toolkit: Toolkit) -> None:
    for content, program in IDLE.items():
        answer = toolkit.as_tool()(program)
        assert answer == f"[The program is only {content}, and did nothing: {ASKED}.]", program


def test_program_of_comments_is_told_so(toolkit: Toolkit) -> None:
    for program in (
        "# Get the prices",
        "\n  # Get the prices\n\n# Print them\n",
        "```python\n# TODO\n```",
        '```py title="a.py"\n# TODO\n```',
    ):
        assert toolkit.execute(program).error == f"the program is empty: {ASKED}, not only comments", program
    for program in ("", " \n\t\n"):
        assert toolkit.execute(program).error == f"the program is empty: {ASKED}"


def test_text_as_the_answer_stays_the_value(toolkit: Toolkit) -> None:
    assert toolkit.execute("'The total is 5'").return_value == "The total is 5"
    assert toolkit.execute("'one\\n' + 'two'").return_value == "one\ntwo"
    with toolkit.session() as session:
        assert session.execute("import json").described == ""


@pytest.mark.parametrize(
    "program",
    [
        "x = 1",
        "def main():\n    pass\nmain()",
        "def key(n): return -n\nrows = sorted([1, 2], key=key)",
        "import functools\n@functools.cache\ndef main(): pass",
        "if __name__ == '__main__':\n    x = 1",
        "if __name__ == 'main':\n    x = 1\nelse:\n    x = 2",
        "class Shop:\n    def open(self): pass",
    ],
)
def test_other_programs_are_told_no_reason(toolkit: Toolkit, program: str) -> None:
    assert toolkit.as_tool()(program) == "[Done. The program printed nothing.]"


@pytest.mark.parametrize("last", ["5", "print(1)", "price('a')"])
def test_program_with_a_value_output_or_call_keeps_its_answer(toolkit: Toolkit, last: str) -> None:
    assert "never" not in toolkit.as_tool()(f"def main(): pass\n{last}")


def test_session_may_define_functions_for_later(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        assert session.execute("def main(): return 3").described == ""
        assert session.execute("main()").return_value == 3


ASSIGNED = {
    "a name": ("total = price('ab') * 2", "total = 6.0"),
    "an annotated name": ("total: float = price('ab')", "total = 3.0"),
    "a sum": ("total = 1\ntotal += price('ab')", "total = 4.0"),
    "a list": ("prices = [price(name) for name in ('a', 'bb')]", "prices = [1.5, 3.0]"),
    "text with our words": (
        "name = 'x' * int(price('ab')) + '\\n[No output captured'",
        "name = 'xxx\\n\\u005bNo output captured'",
    ),
    "a large list": ("prices = [price('a')] * 10_000", f"prices = [{'1.5, ' * 20}...]"),
    "an object": ("p = price('a')\nclass Shop: pass\nshop = Shop()", "shop = <__main__.Shop object>"),
}


@pytest.mark.parametrize(("program", "text"), ASSIGNED.values(), ids=ASSIGNED)
def test_value_of_the_last_line_is_shown_if_nothing_was_printed(toolkit: Toolkit, program: str, text: str) -> None:
    lines = toolkit.as_tool()(program).splitlines()

    assert lines == [
        text,
        "[The program printed nothing: this is what its last line has set. Use print() for each result you need.]",
    ]


@pytest.mark.parametrize(
    "program",
    [
        "found = [price('a')][1:]",
        "a, b = price('a'), 1",
        "prices = {}\nprices['a'] = price('a')",
        "n = price('a')\nfor n in [1, 2]:\n    m = n",
        "n = price('a')\nn = None",
    ],
)
def test_value_of_no_name_or_of_nothing_is_not_shown(toolkit: Toolkit, program: str) -> None:
    assert "its last line has set" not in toolkit.as_tool()(program)


def test_printed_output_and_returned_values_stay_as_they_are(toolkit: Toolkit) -> None:
    assert toolkit.as_tool()("print(1)\nn = price('a')") == "1\n"
    result = toolkit.execute("n = price('a')")
    assert (result.return_value, result.output) == (None, "")


def test_session_sets_names_for_later(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        assert "its last line has set" not in session.execute("n = price('a')").to_string()
        assert session.execute("print(n)").output == "1.5\n"
