"""Programs and answers cost the host, and the worker before it runs them, time and memory linear in their size."""

from collections.abc import Callable

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.check.reading.reflow import unfold_certain_statements, unfold_statements
from ez_ptc.sandbox.check.reading.source_repair import repair_source
from ez_ptc.sandbox.protocol.records.silent_lacks import explain_lacks
from ez_ptc.toolkit.prompting.program_extraction import extract_code
from tests.costs.growth import check_growth

SHAPES = {
    "python fences": "```python\n",
    "fences and strings": '```\n"""\n',
    "fences in a row": "``` ",
    "tilde fences": "~~~\n",
    "one fence": "`",
    "spans": "```python x```",
    "list items": "1. ```\n",
    "repeated errors": "```\nTraceback (\n```\n",
    "blocks of another language": "```json\n{}\n```\n",
    "triple quotes": "'''",
    "backslashes": "\\",
    "escaped line ends": "a\\n",
    "blank lines": " \n",
    "statements": "f(1)\n",
    "statements on one line": "print(1) ",
    "conditions on one line": "if x: ",
    "parentheses": "(",
    "open calls": "f(\n",
    "tags of thoughts": "<think>",
}
READERS = {
    "extraction": extract_code,
    "repair": repair_source,
    "statements": unfold_statements,
    "certain statements": unfold_certain_statements,
}


@ez_tool(read_only=True)
def look(number: int) -> dict[str, int]:
    """Look a number up."""
    return {"number": number}


@pytest.mark.security
@pytest.mark.parametrize("start", ["", "```python\n"], ids=["bare", "in a fence"])
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_reading_program_takes_linear_time(shape: str, read: Callable[[str], object], start: str) -> None:
    check_growth(lambda size: start + shape * (size // len(shape)), read, start=4_000, most=100_000, bytes_each=800)


@pytest.mark.security
@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("lok{0}({0})\n", id="unknown names"),
        pytest.param("x = look({0}).a{0}\n", id="unknown keys"),
        pytest.param("if x: x = look({0})\n", id="branches"),
        pytest.param("def f{0}(): return f{0}()\n", id="functions"),
        pytest.param("x = look(x)\n", id="assignments"),
        pytest.param("look(k{0}=1)\n", id="unknown arguments"),
    ],
)
def test_checking_program_takes_linear_time(statement: str) -> None:
    toolkit = Toolkit([look])
    check_growth(
        lambda size: "x = 1\n" + "".join(statement.format(number) for number in range(size // 16)),
        toolkit.check,
        start=1_000,
        most=50_000,
        bytes_each=4_000,
    )


@pytest.mark.security
@pytest.mark.parametrize("module", ["math", "os.path", "no_module"])
def test_checking_long_import_takes_linear_time(module: str) -> None:
    check_growth(
        lambda size: f"from {module} import {', '.join(f'n{number}' for number in range(size))}",
        Toolkit([look]).check,
        start=250,
        most=1_000,
        bytes_each=8_000,
    )


@pytest.mark.security
@pytest.mark.parametrize(
    ("start", "shape", "end"),
    [
        pytest.param("", '"\\', "", id="quotes that a backslash at the end leaves open"),
        pytest.param("", '"""\'\\', "", id="triple quotes that a backslash at the end leaves open"),
        pytest.param("```", " ", "`", id="blanks after a fence"),
        pytest.param("```", "a", "`", id="a language"),
        pytest.param("", "~", "`", id="one tilde fence"),
        pytest.param("```", " ", "x", id="a block on one line"),
        pytest.param("x x \u201c", '" ', "\u201d", id="quotes within typographic ones"),
        pytest.param("<|channel|>", "a", "", id="a channel"),
    ],
)
def test_unclosed_text_is_read_in_linear_time(start: str, shape: str, end: str) -> None:
    check_growth(
        lambda size: start + shape * (size // len(shape)) + end,
        repair_source,
        start=4_000,
        most=100_000,
        bytes_each=500,
    )


@pytest.mark.sampled(every=0)
def test_thousands_of_fences_are_read_in_one_pass() -> None:
    check_growth(lambda size: "```python\n" * (size // 10), repair_source, start=20_000, most=100_000, bytes_each=500)


def test_long_chain_of_attributes_is_named_in_one_pass() -> None:
    """Each of its parts is a name that the sandbox might lack."""
    check_growth(
        lambda size: "import glob as x\nx" + ".a" * (size // 2),
        explain_lacks,
        start=1_000,
        most=5_000,
        bytes_each=2_000,
    )
