"""A method of a dict that is read instead of a key of its name, and a tool without a call, are explained as such."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest

from ez_ptc import Toolkit, ez_tool


@dataclass
class Page:
    items: list[str]
    keys: int
    values: dict[str, int]


class Cart(TypedDict):
    items: list[str]


class Shelf(TypedDict):
    pages: list[Page]


@ez_tool(read_only=True)
def read_page() -> Page:
    """Read a page."""
    return Page(["a", "b"], 2, {"x": 1})


@ez_tool(read_only=True)
def read_cart() -> Cart:
    """Read a cart."""
    return {"items": ["a"]}


@ez_tool(read_only=True)
def read_shelf() -> Shelf:
    """Read a shelf."""
    return {"pages": [read_page()]}


@ez_tool(read_only=True)
def read_any() -> Any:  # noqa: ANN401 - its results are not described
    """Read anything."""
    return {"items": ["a"], "keys": 2}


@ez_tool(read_only=True)
def count(items: list[str]) -> int:
    """Count items."""
    return len(items)


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([read_page, read_cart, read_shelf, read_any, count], assist_tool_chaining=True) as opened:
        yield opened


REFUSED = {
    "page = read_page()\nfor item in page.items:\n    print(item)": 'page["items"]',
    "print(len(read_page().items))": 'read_page()["items"]',
    "page = read_page()\nitems = page.items\nprint(items[0])": 'page["items"]',
    "page = read_page()\nprint([item for item in page.items], page.items[0])": 'page["items"]',
    "page = read_page()\nprint(page.keys + 1)": 'page["keys"]',
    "page = read_page()\nprint(page.values['x'])": 'page["values"]',
    "page = read_page()\npage.items.append('c')": 'page["items"]',
    "page = read_page()\nprint(sum(1 for item in page.items), 'a' in page.items)": 'page["items"]',
    "for page in read_shelf().pages:\n    print(sorted(page.items))": 'page["items"]',
    "cart = read_cart()\nprint(len(cart.items))": 'cart["items"]',
}
FAILING = {
    "page = read_any()\nprint(len(page.items))": 'page["items"]',
    "page = read_any()\nprint(page.keys + 1, page.keys)": 'page["keys"]',
    "page = read_page()\nprint(count(page.items))": 'page["items"]',
    "page = read_page()\nprint(json.dumps({'items': page.items}))": 'page["items"]',
    "every = []\nfor page in read_shelf().pages:\n    every.extend(page.items)\nprint(every)": 'page["items"]',
    "print(json.dumps(read_page().items))": 'read_page()["items"]',
}


@pytest.mark.parametrize("program", REFUSED)
def test_key_hidden_by_a_method_is_corrected_before_any_call(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(program)

    assert f"is a method of every dict: the key is {REFUSED[program]}" in (result.error or "")
    assert result.tool_calls == []
    assert toolkit.execute(proposed(toolkit, program)).success


@pytest.mark.parametrize("program", FAILING)
def test_key_hidden_by_a_method_is_corrected_after_its_error(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(program)

    assert f"is a method of every dict: the key is {FAILING[program]}" in (result.error or "")
    assert toolkit.execute(proposed(toolkit, program)).success


@pytest.mark.parametrize(
    "program",
    [
        "page = read_page()\nfor key, value in page.items:\n    print(key)",
        "counts = {'a': count(['x'])}\nfor name in counts.items:\n    print(name)",
        "counts = {'a': count(['x'])}\nprint(len(counts.keys))",
    ],
)
def test_method_that_may_be_meant_is_not_replaced(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(program)

    assert "is a method of every dict: call it, " in (result.error or "")
    assert "```python\n" not in toolkit.answer(program, result)


@pytest.mark.parametrize(
    "program",
    [
        "page = read_page()\nprint(page.items if not callable(page.items) else page['items'])",
        "page = read_page()\nread = page.items\nprint(len(read()))",
        "page = read_page()\nprint(sorted({'a': 1}, key={'a': 1}.get), len(page.items()), [*page.keys()])",
        "cart = dict(read_cart())\nlook = cart.get\nprint(look('items'))",
        "from collections import Counter\nprint(Counter(read_page()['items']).most_common.__func__.__name__)",
        "print([].append.__name__, read_page().get.__self__ is not None)",
        "page = read_page()\ntry:\n    print(page.items[0])\nexcept TypeError:\n    print(page['items'][0])",
    ],
)
def test_method_of_a_record_can_be_used_as_a_value(toolkit: Toolkit, program: str) -> None:
    assert toolkit.execute(program).error is None


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("for item in read_cart:\n    print(item)", "read_cart is a function: call it, read_cart()"),
        ("print(read_cart['items'])", "read_cart is a function: call it, read_cart()"),
        ("print(read_cart.items_left)", "read_cart is a function: call it, read_cart()"),
        ("print(len(count))", "count is a function: call it, count(items)"),
    ],
)
def test_tool_used_as_its_result_is_to_be_called(toolkit: Toolkit, program: str, hint: str) -> None:
    result = toolkit.execute(program)

    assert f"Hint: {hint}" in (result.error or "")
    assert result.tool_calls == []


def test_error_of_a_function_names_it_as_python_does(toolkit: Toolkit) -> None:
    errors = [toolkit.execute(program).error or "" for program in ("read_cart.x", "print(len(read_cart().items))")]

    assert [error.splitlines()[0] for error in errors] == [
        "AttributeError: 'function' object has no attribute 'x'",
        "TypeError: object of type 'builtin_function_or_method' has no len()",
    ]


def test_prompt_names_the_keys_that_are_no_attributes(toolkit: Toolkit) -> None:
    texts = [toolkit.prompt(), toolkit.tool_prompt(), str(toolkit.tool_schema())]
    with Toolkit([count, read_any], assist_tool_chaining=True) as others:
        texts += [others.prompt()]

    stated = 'r.key. NOT r.items, r.keys, r.values: write r["items"], r["keys"], r["values"].'
    assert [stated in text for text in texts] == [True, True, True, False]


def proposed(toolkit: Toolkit, program: str) -> str:
    """Return the program that the answer proposes."""
    answer = toolkit.answer(program, toolkit.execute(program))
    return answer.partition("```python\n")[2].partition("\n```")[0]
