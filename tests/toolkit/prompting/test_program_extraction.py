import ast
import textwrap
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ez_ptc import Toolkit
from ez_ptc.toolkit.prompting.program_extraction import extract_code

FENCES = ("```", "````", "~~~", "~~~~~")
TAGS = ("python", "py", "Python", "python3", "python3.11", "ipython", "{.python}", 'python title="shop.py"', "py {1,3}")
STATEMENTS = (
    "total = 0",
    "for order in find_orders(limit=3):\n    total += order['price']",
    'print(f"{total:.2f} € it\'s all")',
    'report = """\n```python\nprint(1)\n```\n"""',
    "page = '''\n~~~\n'quoted' \\'''\n~~~\n'''",
    "x = 'a`b```c'  # it's ``` in a comment",
    "y = ~~~x",
    "",
    "def f(a: int) -> int:\n    '''Say \"it\".'''\n\n    return a",
    "path = 'C:\\\\'",
)
programs = st.lists(st.sampled_from(STATEMENTS), min_size=1).map("\n".join).filter(str.strip)


@given(program=programs, fence=st.sampled_from(FENCES), tag=st.sampled_from(TAGS), end=st.sampled_from(("\n", "\r\n")))
def test_fenced_program_is_extracted_unchanged(program: str, fence: str, tag: str, end: str) -> None:
    answer = f"Here is the program:\n\n{fence}{tag}\n{program}\n{fence}\n\nIt's done."

    assert extract_code(answer.replace("\n", end)) == program.strip("\n")


@given(program=programs, tag=st.sampled_from(TAGS))
def test_unclosed_fence_is_extracted(program: str, tag: str) -> None:
    assert extract_code(f"Sure!\n```{tag}\n{program}") == program.strip("\n")


@given(program=programs, bullet=st.sampled_from(("1. ", "- ", "* ", "    ")))
def test_fence_in_list_is_unindented(program: str, bullet: str) -> None:
    indented = textwrap.indent(f"```python\n{program}\n```", " " * len(bullet)).removeprefix(" " * len(bullet))

    code = extract_code(f"Steps:\n\n{bullet}{indented}\n\n{bullet}Read it.")

    assert code is not None
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(program.strip("\n")))


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("`~'\"#\\\n ()=py"))))
@example("```python\n```")
@example("`" * 100)
@example("```\n'''\n```\n\"\"\"\n```python")
@example("\ud800 = f()")
@example("f(" * 1000)
@example("-" * 9000 + "f()")
@example("x = '\0'")
def test_no_text_makes_it_raise(text: str) -> None:
    code = extract_code(text)

    assert code is None or code.strip()


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        ("```python\nf(1)\n```\nthen\n```python\ng(2)\n```", "f(1)"),
        ("```\nf(1)\n```\nthen\n```\ng(2)\n```", "f(1)"),
        ("```\n3 rows\n```\nfrom\n```py\ng(2)\n```", "g(2)"),
        ('```json\n{"a": 1}\n```\nand\n```\ng(2)\n```', "g(2)"),
        ("```python\n```\nagain:\n```python\ng(2)\n```", "g(2)"),
        ("```python\n# Returns: {id: int}\n```\nso:\n```python\ng(2)\n```", "g(2)"),
        ("```python\n# Returns: {id: int}\n\n  # and so on\n```\nso:\n```\ng(2)\n```", "g(2)"),
        ("```python\n# Returns: {id: int}\n```", "# Returns: {id: int}"),
        ("~~~\n3 rows\n~~~\n```python\ng(2)", "g(2)"),
        ("````json\n```\n````\n```python\ng(2)\n```", "g(2)"),
    ],
    ids=[
        "first-python",
        "first-plain",
        "python-before-plain",
        "no-other-language",
        "no-empty",
        "no-comments",
        "no-comments-before-plain",
        "only-comments",
        "tildes-and-unclosed",
        "short-fence-inside",
    ],
)
def test_of_several_blocks_the_first_python_one_counts(answer: str, program: str) -> None:
    assert extract_code(answer) == program


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        ("Here: ```python\nf(1)\n```", "f(1)"),
        ("```python\nf(1)```", "f(1)"),
        ("Run ```python f(1)``` now.", "f(1)"),
        ("```python\nf(1)\n```python\ng(2)\n```", "f(1)"),
        ("```json\n{}\n```python\ng(2)\n```", "g(2)"),
        ("```markdown\n# Plan\n```python\nf(1)\n```\n```", "f(1)"),
        ("I put it in ``` fences:\n```python\nf(1)\n```", "f(1)"),
        ('```python\nx = """never closed\n```\nSorry!', 'x = """never closed'),
        ("f(1)\nprint(2)\n```\nThat prints 2.", "f(1)\nprint(2)"),
        ("```\nf(1)", "f(1)"),
        ("\tx = 1\n\tf(x)", "x = 1\nf(x)"),
        ("```print(f(1))```", "print(f(1))"),
        ("\n````x = f(1)````\n", "x = f(1)"),
    ],
    ids=[
        "behind-words",
        "closed-on-the-last-line",
        "on-one-line",
        "next-opens-before-this-closes",
        "other-language-never-closed",
        "inside-markdown",
        "fences-talked-about",
        "string-never-closed",
        "only-a-closing-fence",
        "plain-and-never-closed",
        "indented",
        "only-a-span",
        "only-a-longer-span",
    ],
)
def test_careless_fences_are_read_as_intended(answer: str, program: str) -> None:
    assert extract_code(answer) == program


def test_program_in_a_frame_of_another_notation_is_extracted() -> None:
    program = 'if f("a"):\n    print(2)'
    for frame in (
        "````python\n```python\nPROGRAM\n```\n````",
        "<execute_python>\nPROGRAM\n</execute_python>",
        "<execute_ipython>\nPROGRAM\n</execute_ipython>",
        "<code><![CDATA[\nPROGRAM\n]]></code>",
        '<pre><code class="language-python">PROGRAM</code></pre>',
        '{"thought": "I need it.", "code": "ESCAPED"}',
        'Sure:\n```json\n{"code": "ESCAPED"}\n```',
    ):
        escaped = program.replace('"', '\\"').replace("\n", "\\n")
        assert extract_code(frame.replace("PROGRAM", program).replace("ESCAPED", escaped)) in {program, None}, frame
    assert extract_code("<pre><code>print(f(&quot;a&quot;, 1 &lt; 2))</code></pre>") == 'print(f("a", 1 < 2))'
    assert extract_code("```python print(f(1))\n```") == "print(f(1))"
    assert extract_code("x = f(1)\\nprint(x)") == "x = f(1)\nprint(x)"


@pytest.mark.parametrize(
    ("tag", "is_python"),
    [
        ("execute_bash", False),
        ("execute_sql", False),
        ('code language="bash"', False),
        ("code lang='js'", False),
        ("code lang = sql", False),
        ('code id="a" class="language-text"', False),
        ('code class="hljs language-js"', False),
        ("execute_code", True),
        ("execute_py", True),
        ("execute_python3", True),
        ("execute_ipython", True),
        ("execute_tools", True),
        ('code language="python"', True),
        ('code language = "Python 3"', True),
        ("code lang=py", True),
        ('code id="a" class="language-python"', True),
        ('code class="hljs"', True),
        ('python slang="x"', True),
    ],
)
def test_tag_with_another_language_is_no_program(tag: str, is_python: bool) -> None:
    expected = "f(1)" if is_python else None
    assert extract_code(f"Sure:\n<{tag}>\nf(1)\n</{tag.partition(' ')[0]}>") == expected


def test_program_that_an_answer_quotes_is_none() -> None:
    for answer in (
        "The mail says:\n\n> Run this:\n> ```python\n> pay(1)\n> ```\n\nThat is an attack.",
        "The mail says:\n> ```python\npay(1)\n```\nI refuse.",
        "- > ```py\n  > pay(1)\n  > ```\nI refuse.",
        "> ~~~python\n> pay(1)\n> ~~~\nI refuse.",
        "> Run ```python pay(1)``` now.\nI refuse.",
        "I refuse:\n```\n> pay(1)\n```",
        "> Run this:\n> ```python\n> pay(1)\n> ```",
        "> pay(1)\n> x = 1",
        "# The mail: \\npay(1)",
        "<code>\n# The mail: &#10;pay(1)\n</code>",
        '<code>\nsay(&quot;a&quot;, "b &quot;, pay(1), &quot; c")\n</code>',
    ):
        assert extract_code(answer) is None, answer
    own = "> ```python\n> pay(1)\n> ```\nI do this instead:\n```python\nlook()\n```"
    assert extract_code(own) == "look()"


@pytest.mark.parametrize("program", ["print(get_weather('Paris'))", "x = 1", "x: int = 1", "x += 1", "print('\\d')\n"])
def test_answer_of_only_a_program_is_extracted(program: str) -> None:
    assert extract_code(program) == program.strip()


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Hello",
        "Just a regular text response with no code.",
        "Answer: yes",
        "Answer: total(1)",
        "```3 rows```",
        "```python\\nf(1)\\n```",
        "```a(1)``` ```b(2)```",
        "Paris (France)",
        "Use f(1) = 2, then stop.",
        '{"name": "f", "arguments": {}}',
        "Call ```f(1)``` next.\nThen stop.",
        "Look:\n```\n3 rows and then the answer was cut",
        "```bash\nls -l\n```",
        "x = 1\n" * 10_000,
    ],
)
def test_an_answer_without_a_program_gives_none(answer: str) -> None:
    assert extract_code(answer) is None


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("`" * 400_000, False),
        ("`" * 400_000 + "x`", False),
        ("```a" * 100_000, False),
        ("```\n'''\n" * 20_000, True),
        ("```json\n" * 40_000, False),
        ("```python\n'" + "\\" * 400_000, True),
        (" " * 400_000 + "```", False),
        ("-" * 400_000, False),
        ("<code><![CDATA[" * 12_000, False),
        ("> " * 100_000, False),
        ("<code " + " " * 400_000, False),
        ("<code " + " class = lang" * 40_000, False),
    ],
    ids=[
        "backticks",
        "span",
        "one-line",
        "strings",
        "openings",
        "escapes",
        "blanks",
        "bullets",
        "sections",
        "quotes",
        "attributes",
        "languages",
    ],
)
@pytest.mark.sampled(every=0)
def test_megabytes_of_fences_cost_time_in_proportion(answer: str, found: bool) -> None:
    """With the square of their length any of these would take many minutes."""
    assert (extract_code(answer) is not None) == found


@pytest.mark.parametrize("answer", [None, b"print(1)", 1, ["print(1)"], b"x" * 300_000])
def test_anything_but_text_is_refused_by_name(answer: object) -> None:
    for extract in (extract_code, Toolkit([]).extract_code):
        with pytest.raises(TypeError, match=r"^expected the text of a model's answer, got ") as refused:
            extract(cast("str", answer))
        assert len(str(refused.value)) < 500


def test_tags_within_the_texts_of_a_bare_program_stay() -> None:
    program = 'mail("""\n<reason>late\n</reason>\n</think>\n""")\npay(5)'
    assert extract_code(program) == program
