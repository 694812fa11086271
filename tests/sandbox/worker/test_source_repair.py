"""Programs in forms that Python cannot parse, and programs that came as the text of a program."""

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.worker.source_repair import repair_source


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
