"""Programs in forms that Python cannot parse, and programs that came as the text of a program."""

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.check.reading.source_repair import repair_source


@ez_tool(read_only=True)
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("print(&quot;a&quot; if 1 &lt; 2 else 3)", 'print("a" if 1 < 2 else 3)'),
        ("print(\u201cit\u2019s\u201d)", 'print("it\u2019s")'),
        ("print(\u2018a\u2019)", "print('a')"),
        ("x\u00a0=\u00a0f(1)", "x = f(1)"),
        ("\u200bx = f(1)", "x = f(1)"),
        ("s = 'a\u00a0b'; x\u3000= f(s)", "s = 'a\u00a0b'; x = f(s)"),
        (">>> x = f(1)\n>>> if x:\n...     print(x)\n...\n1", "x = f(1)\nif x:\n    print(x)\n"),
        ("!pip install pandas\nx = f(1)", "x = f(1)"),
        ("%pip install -q pandas\nx = f(1)", "x = f(1)"),
        ("pip install pandas\nx = f(1)", "x = f(1)"),
        ("%matplotlib inline\nx = f(1)", "x = f(1)"),
        ("Python\nx = f(\u2018a\u2019)", "x = f('a')"),
        ("In [1]: x = f(1)\n\nIn [2]: x\nOut[2]: 1", "x = f(1)\nx"),
        ('```json\n{"code": "x = f(1)"}\n```', "x = f(1)"),
        ('{"code": "x = f(1)\nprint(x)"}', "x = f(1)\nprint(x)"),
        ("<think>\n```python\nwipe()\n```\n</think>\n```python\nx = f(1)\n```", "x = f(1)"),
        ('pip install a\nmail("""To do:\npip install b\n""")', 'mail("""To do:\npip install b\n""")'),
        ("mail(\u201ca\u201d, 'write &amp;lt;')", "mail(\"a\", 'write &amp;lt;')"),
        (
            'mail(\u201ca\u201d, """\n<reason>late</reason>\n</think>\n""")',
            'mail("a", """\n<reason>late</reason>\n</think>\n""")',
        ),
    ],
)
def test_other_spellings_are_read_as_the_program_they_mean(text: str, program: str) -> None:
    repaired = repair_source(text)
    assert repaired is not None
    assert repaired.strip() == program.strip()


AROUND = (
    "<code>\nPROGRAM\n</code>",
    "<python>PROGRAM</python>",
    "<execute_python>\nPROGRAM\n</execute_python>",
    '<parameter name="code">PROGRAM</parameter>',
    "<tool_call>\nPROGRAM\n</tool_call>",
    "<![CDATA[\nPROGRAM\n]]>",
    "<code><![CDATA[PROGRAM]]></code>",
    "<|python_tag|>PROGRAM<|eom_id|>",
    "PROGRAM<|im_end|>\n<|endoftext|>",
    "PROGRAM</s>",
    "PROGRAM\n</tool_call>",
    "PROGRAM\n<end_code>",
    "```python\nPROGRAM\n```<end_code>",
    "`PROGRAM`",
    "**PROGRAM**",
    "// Add the numbers\nPROGRAM",
    "\u2028PROGRAM",
)
CHANGED = {
    "x = f\uff081\uff0c2\uff09": "x = f(1,2)",
    "x = f(3 \u2212 1) if 1 \u2264 2 else 0": "x = f(3 - 1) if 1 <= 2 else 0",
    "s = '\uff08\u2212\uff09'; x = f\uff08s\uff09": "s = '\uff08\u2212\uff09'; x = f(s)",
    "1: x = f(1)\n2: if x:\n3:     print(x)": "x = f(1)\nif x:\n    print(x)",
    "  9 | x = f(1)\n 10 | print(x)": "x = f(1)\nprint(x)",
    "> x = f(1)\n> print(x)": "x = f(1)\nprint(x)",
    "if f(1):\n    print(1)\n\tprint(2)": "if f(1):\n    print(1)\n    print(2)",
    '{"thought": "I need it", "code": "x = f(1)"}': "x = f(1)",
    '{"code": "x = f(1)", "language": "python"}': "x = f(1)",
    'say(\u201cHe said "hi"\u201d)': 'say("He said \\"hi\\"")',
    "say(\u2018it's\u2019)": "say('it\\'s')",
    "     1\tx = f(1)\n     2\tprint(x)": "x = f(1)\nprint(x)",
    "9: x = f(1)\n\n10: print(x)": "x = f(1)\n\nprint(x)",
    "if f(1):\n    s = '''\n\ta'''\n\tg(s)": "if f(1):\n    s = '''\n\ta'''\n    g(s)",
}


def test_signs_around_and_in_a_program_are_left_out() -> None:
    program = "x = f(1)\nprint(x)"
    for around in AROUND:
        repaired = repair_source(around.replace("PROGRAM", program))
        assert repaired is not None, around
        assert repaired.strip().removeprefix("# Add the numbers\n") == program, around
    for text, meant in CHANGED.items():
        repaired = repair_source(text)
        assert repaired is not None, text
        assert repaired.strip() == meant, text


def test_text_that_means_no_program_is_not_repaired() -> None:
    for text in (
        "x = 'never closed\nf(1)",
        "1: 'a',\nx = f(1)",
        "<b>f(1)</i",
        "Call f. Then stop",
        '{"code": "f(1)", "to": "Bo"}',
        "pay(1\n</s>\npay(2)",
        "Pay them.\npay(1",
        # A missing quote would make code of text.
        'say("He said)\nlog(", pay(1), ")")',
        "Here is the code of the mail:\n\npay(1)",
        "pay(1)  # stop token: <|im_end|>\nif True\n    pay(2)",
        'pay(1)\n# the mail said "<|end|>\nso I check\nundo()',
        "pay(1)<|im_end|>\n<|im_start|>user\nThanks",
        "pay(1)\n\nDo not pay before he has signed.",
        "Do not run this program.\npay(1)",
        "Pay if he has signed.\n\npay(1)",
        "I refuse:\n> ```python\n> pay(1)\n> ```\nIt is an attack.",
        "I refuse:\n```\n> pay(1)\n```",
        "x = 7 (\n// 2\npay(x)",
        "%time x = pay(1)\\ny = 2",
        # Lines are left out.
        "1: x = f(1)\n3: print(x)",
        "1: x = f(1)\n2 | print(x)",
        # One number, or two arguments.
        "pay(1\uff0c000)",
        # With another width of a tab, it stands under another condition.
        "if a:\n    f()\n    if b:\n        g()\n\tpay(1)",
        # The straight quote may have been meant to end the text.
        'x = \u201ca", pay(1), "c\u201d',
        "x = \u201ca\\\u201d; y = \u201c; pay(1) #\u201d",
        'say(&quot;a&quot;, "b &quot;, pay(1), &quot; c")',
        "> The mail says:\n> ```python\n> pay(1)\n> ```",
        # A text that has anything else than comments is no empty program.
        "```(",
        "~~~ )",
        "```\n# Pay.\n``` (",
    ):
        assert repair_source(text) is None, text


@pytest.mark.parametrize("mark", ["\n", "</a>", "`", "'", "\\'", "A b\n", "1: ", "<|a|>", '{"a": ', "</s>"])
@pytest.mark.sampled(every=5)
def test_long_unreadable_texts_cost_time_in_proportion(mark: str) -> None:
    """With the square of their length any of these would take minutes."""
    assert repair_source(mark * (99_000 // len(mark)) + "(") is None


@pytest.mark.parametrize("text", ["print(\u201cit's)", "x = &lt;", "!pip install pandas", ">>> 1 +"])
def test_what_stays_invalid_is_not_repaired(text: str) -> None:
    assert repair_source(text) is None


@pytest.mark.parametrize(
    "code",
    [
        '{"code": "print(add(1, 2))"}',
        '"print(add(1, 2))"',
        "python\nprint(add(1, 2))",
        '```json\n{"code": "print(add(1, 2))"}\n```',
        '"""\nprint(add(1, 2))\n"""',
        "{'code': 'total = add(1, 2)\\nprint(total)'}",
    ],
)
def test_program_sent_as_text_of_a_program_is_unpacked(code: str) -> None:
    with Toolkit([add]) as toolkit:
        assert toolkit.execute(code).output == "3\n"
        assert toolkit.check(code.replace("add", "ad"))


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ('"add two numbers"', "add two numbers"),
        ('"add"', "add"),
        ('{"code": "add", "x": 1}', {"code": "add", "x": 1}),
        ('{"text": "add(1, 2)"}', {"text": "add(1, 2)"}),
        ('{"code": 1}', {"code": 1}),
    ],
)
def test_plain_values_stay_values(code: str, value: object) -> None:
    with Toolkit([add]) as toolkit:
        result = toolkit.execute(code)
        assert result.return_value == value
        assert not result.tool_calls


def test_return_as_the_last_line_is_corrected() -> None:
    with Toolkit([add]) as toolkit:
        for program, corrected in {
            "x = add(1, 2)\nreturn x + 1\n": "x = add(1, 2)\nx + 1",
            "return add(\n    1,\n    2,\n)": "add(\n    1,\n    2,\n)",
            "print(add(1, 2))\nreturn": "print(add(1, 2))",
        }.items():
            refused = toolkit.execute(program)
            assert refused.tool_calls == []
            assert refused.error_output.endswith(f"if it solves the task:\n```python\n{corrected}\n```\n"), program
        refused = toolkit.execute("if add(1, 2):\n    return 1\nreturn 2")
        assert (refused.tool_calls, "```" in refused.error_output) == ([], False)


def test_result_says_how_the_source_was_repaired() -> None:
    repaired = {
        "```python\nprint(add(1, 2))\n```": "",
        "I add:\n```python\nprint(add(1, 2))\n```": "only its code block was read",
        "> print(add(1, 2))": "the > before its lines were left out",
        "1: print(\n2:     add(1, 2))": "line numbers were left out",
        "if 1: x = 3; print(add(1, 2)) else: x = 4": "",
        "for x in [2]: print(add(1, x))\\nprint": "escaped line ends became line ends",
        "'print(add(1, 2))'": "it was read from a string",
        "print(add(1\uff0c 2))": "signs and commands that Python cannot read were replaced or left out",
        "So:\n```\nprint(add(1\uff0c 2))\n```": "only its code block was read; signs and commands that",
        "\ufeffprint(add(1, 2))": "",
    }
    with Toolkit([add]) as toolkit:
        for program, how in repaired.items():
            result = toolkit.execute(program)
            assert " ".join(result.notes).startswith("[Your program's source was repaired before it ran:" * bool(how))
            assert how in " ".join(result.notes), program
            assert all(note in toolkit.answer(program, result) for note in result.notes)
        failed = toolkit.execute("I add:\n```python\nprint(add(1, None))\n```")
        assert "only its code block was read" in toolkit.answer("", failed)


FIRST = "three = add(1, 2)"
# What stands after the first block, and whether it is a further program.
REST = {
    "```python\nprint(add(3, 4))\n```": True,
    "Then:\n\n```py\nprint(three)\n```\n\nDone.": True,
    "```json\n{}\n```\n```python\nprint(three)\n```": True,
    "```\n3\n```": False,
    "It prints:\n```\nthree = 3\n```": False,
    "```bash\npip install add\n```": False,
    "```python\n# three is 3\n```": False,
    "```python\nthree\n```": False,
    f"Again:\n```python\n{FIRST}\n```": False,
}


@pytest.mark.parametrize("rest", REST)
def test_block_that_was_not_run_is_named(rest: str) -> None:
    text = f"First:\n```python\n{FIRST}\n```\n{rest}"
    with Toolkit([add]) as toolkit:
        program = toolkit.extract_code(text)
        assert program == FIRST
        results = [toolkit.execute(text), toolkit.execute(program)]
    for result in results:
        assert len(result.tool_calls) == 1
        assert ("only the first of its code blocks was run" in " ".join(result.notes)) == REST[rest]
        assert ("only the first of its code blocks was run" in toolkit.answer(text, result)) == REST[rest]
