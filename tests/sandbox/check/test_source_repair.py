"""Programs as models write them into the `code` of a call are understood; what has a mistake is not run in part."""

from dataclasses import dataclass

import pytest
from typing_extensions import TypedDict

from ez_ptc import Toolkit, ez_tool


class Order(TypedDict):
    """What was ordered."""

    id: int
    total: float


@dataclass
class Customer:
    """Who ordered it."""

    name: str


@ez_tool
def find_orders(customer: Customer) -> list[Order]:
    """Find the orders of a customer."""
    return [{"id": len(customer.name), "total": 2.5}]


@pytest.fixture(scope="module")
def toolkit() -> Toolkit:
    return Toolkit([find_orders])


FIND = "orders = find_orders({'name': 'Ada'})\nprint(len(orders))"
ONE_LINE = "print(len(find_orders({'name': 'Ada'})))"
FORMS = {
    "a fence": f"```python\n{FIND}\n```",
    "a fence without a language": f"```\n{FIND}\n```",
    "a fence of tildes": f"~~~py\n{FIND}\n~~~",
    "a fence that is not closed": f"```python\n{FIND}",
    "a fence that nothing opened": f"{FIND}\n```",
    "a fence on one line": f"```python {ONE_LINE} ```",
    "an indented fence": "   ```python\n   " + FIND.replace("\n", "\n   ") + "\n   ```",
    "words around a fence": f"I will look for it.\n\n```python\n{FIND}\n```\n\nThis prints 1.",
    "another block before": f"```json\n{{'a': 1}}\n```\n\n```python\n{FIND}\n```",
    "a fence in a fence": f"```python\nNameError: name 'x' is not defined\n```python\n{FIND}\n```\n```",
    "an error before the program": f"```\nTraceback (most recent call last):\nKeyError: 2\n```\n```python\n{FIND}\n```",
    "a fence in a string": f"```python\ntext = '''\n```js\n```\n'''\n{FIND}\n```",
    "an even indentation": "    " + FIND.replace("\n", "\n    "),
    "an indentation of all but the first line": FIND.replace("\n", "\n    "),
    "tabs": "\t" + FIND.replace("\n", "\n\t"),
    "escaped ends of lines": FIND.replace("\n", "\\n"),
    "escaped ends of lines and quotes": FIND.replace("\n", "\\n").replace("'", '\\"'),
    "an escaped fence": f"```python\\n{FIND}\\n```".replace("\n", "\\n"),
    "a byte order mark": f"\ufeff{FIND}",
    "ends of lines of Windows": f"```python\r\n{FIND}\r\n```".replace("\n", "\r\n").replace("\r\r", "\r"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_program_is_understood_in_any_form(form: str, toolkit: Toolkit) -> None:
    result = toolkit.execute(FORMS[form])
    assert (result.output, result.error) == ("1\n", None)


BROKEN = {
    "an example in a docstring": f"def f(:\n    '''\n    ```python\n    {ONE_LINE}\n    ```\n    '''",
    "a string that does not end": f"x = '''\n```python\n{ONE_LINE}\n```\n",
    "a block with a mistake before another": f"```python\nx = find_orders(\n```\nThen:\n```python\n{ONE_LINE}\n```",
    "a program with a mistake before a block": f"x = find_orders(\n```python\n{ONE_LINE}\n```",
    "a fence in a comment": f"# ```python\n# {ONE_LINE}\n# ```\nprint(",
    "a block of another language": f"```bash\n{ONE_LINE}\n```",
    "a condition in a comment": f"# if is_wanted:\n    {ONE_LINE}",
    "a mistake in a fence": f"```python\n{FIND})\n```",
    "uneven indentation": f"a = 1\n    {ONE_LINE}\nb = 2",
}


@pytest.mark.parametrize("form", BROKEN)
def test_program_with_mistake_never_starts(form: str, toolkit: Toolkit) -> None:
    result = toolkit.execute(BROKEN[form])
    assert (result.output, result.tool_calls) == ("", [])
    assert "SyntaxError" in (result.error or "") or "IndentationError" in (result.error or "")


def test_error_lines_count_within_the_fence(toolkit: Toolkit) -> None:
    result = toolkit.execute(f"```python\n{FIND}\n1 / 0\n```")
    assert '  File "<program>", line 3, in <module>\n    1 / 0\n' in result.error_output


ANNOTATED = {
    "a record": "def first(orders: list[Order]) -> Order: return orders[0]\nprint(first(FOUND).id)",
    "a variable": "orders: list[Order] = FOUND\nprint(orders[0].id)",
    "a class of a parameter": "def of(customer: Customer | None) -> int: return 1\nprint(of(None))",
    "names of typing": "def f(a: Optional[Order], b: List[int]) -> Dict[str, Any]: return 1\nprint(f(0, 0))",
    "a field": "class Total:\n    orders: List[Order]\n    n: int = 1\nprint(Total.n)",
    "what is never computed": "def f():\n    x: Nowhere = FOUND\n    return x[0].id\nprint(f())",
    "postponed": "from __future__ import annotations\nx: Nowhere = FOUND\nprint(x[0].id)",
}


@pytest.mark.parametrize("form", ANNOTATED)
def test_shown_types_can_be_used_in_annotations(form: str, toolkit: Toolkit) -> None:
    result = toolkit.execute(ANNOTATED[form].replace("FOUND", "find_orders({'name': 'x'})"))
    assert (result.output, result.error) == ("1\n", None)


@pytest.mark.parametrize(
    "program",
    [
        "def f(rows: DataFrame): ...",
        "print(Order)",
        "Order(id=1)",
        "def f(a: List[int]): return List\nf(1) if Optional else 2",
        "class Order: pass\ndef f(o: Order): ...\nprint(Order[1])",
    ],
)
def test_other_names_are_those_of_python(program: str, toolkit: Toolkit) -> None:
    error = toolkit.execute(program).error or ""
    assert error.startswith(("NameError", "TypeError: type 'Order' is not subscriptable"))
