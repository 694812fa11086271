"""What one program of a session took away by mistake, the next one has again: its tools and its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ez_ptc import ExecutionResult, Toolkit, ez_tool

if TYPE_CHECKING:
    from collections.abc import Iterator


@ez_tool(read_only=True)
def price(product: str) -> float:
    """Look up a price."""
    return {"a": 1.5}.get(product, 2.5)


@ez_tool(read_only=True)
async def stock(product: str) -> int:
    """Look up the stock."""
    return len(product)


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([price, stock]) as opened:
        yield opened


def run_both(toolkit: Toolkit, first: str, second: str) -> ExecutionResult:
    with toolkit.session() as session:
        session.execute(first)
        return session.execute(second)


LOSSES = {
    "a result": "price = price('a')",
    "a deletion": "price = price('a')\ndel price",
    "an exception": "try: 1/0\nexcept Exception as price: pass",
    "an import": "import json as price",
    "a loop": "for price in [1, 2]: pass",
    "a context": "import contextlib\nwith contextlib.nullcontext(1) as price: pass",
    "an expression": "print(price := 3)",
    "a function's global": "def set_it():\n    global price\n    price = 3\nset_it()",
    "a match": "match 5:\n    case price: pass",
    "a function": "def price(product): return 9",
    "an inner function": "def set_it():\n    global price\n    async def price(product): return 9\nset_it()",
    "a class": "class price: pass",
    "a lambda": "price = lambda product: 9",
    "another function": "from math import sqrt as price",
    "a part of it": "import functools\nprice = functools.partial(price, 'a')",
    "a rest": "match [1, 2]:\n    case [_, *price]: pass",
    "a rest of keys": "match {'a': 1}:\n    case {**price}: pass",
    "a comprehension": "[price := number for number in range(3)]",
    "a built-in name": "import builtins\nbuiltins.price = 3\ndel price, builtins.price",
    "a built-in value": "import builtins\nbuiltins.price = 3\ndel price",
    "two deletions": "del price\ntry: del price\nexcept NameError: pass",
    "every name": "globals().clear()",
    "several": "price, stock = 1, await stock('a')",
    "an error": "price = price('a')\n1/0",
    "all globals": "for name in list(globals()):\n    if not name.startswith('__'): del globals()[name]",
}
CALLS = {
    "price('b')": 2.5,
    "del price\nprice('b')": 2.5,
    "look_up = price\nlook_up('b')": 2.5,
    "tools = {'price': price, 'stock': stock}\ntools['price']('b')": 2.5,
    "def look_up(name, function=price): return function(name)\nlook_up('b')": 2.5,
    "[function('b') for function in (price, price)]": [2.5, 2.5],
    "list(map(price, ['b']))": [2.5],
    "parallel((price, 'b'), (stock, 'bb'))": [2.5, 2],
    "import asyncio\n[*await asyncio.gather(stock('bb'))] + [price('b')]": [2, 2.5],
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_next_program_finds_its_tools_again(toolkit: Toolkit, loss: str, call: str) -> None:
    assert run_both(toolkit, loss, call).return_value == CALLS[call]


def test_value_under_a_tools_name_stays_until_it_is_called(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        session.execute("price = price('a')")

        assert session.execute("price * 2").return_value == 3.0
        assert session.execute("print(price)").output == "1.5\n"
        assert session.execute("price('b')").return_value == 2.5
        assert session.execute("price('a')").return_value == 1.5


def test_function_of_an_earlier_program_finds_its_tool(toolkit: Toolkit) -> None:
    first = "def total():\n    return sum([price(name) for name in 'ab'])\nprice = price('a')"

    assert run_both(toolkit, first, "total()").return_value == 4.0


@pytest.mark.parametrize(
    "first",
    [
        "def one(): return price('b')\ndef two(): return one()\ndef total(): return two()",
        "class Shop:\n    def total(self): return price('b')\ntotal = Shop().total",
        "class Shop:\n    @staticmethod\n    def one(): return price('b')\ndef total(): return Shop.one()",
        "import functools\ntotal = functools.partial(lambda name: price(name), 'b')",
        "def total():\n    def inner(): return price('b')\n    return inner()",
    ],
)
def test_nested_functions_of_earlier_programs_find_their_tool(toolkit: Toolkit, first: str) -> None:
    assert run_both(toolkit, f"{first}\nprice = 3", "total()").return_value == 2.5


@pytest.mark.parametrize("second", ["show()", "print(price)", "row = {'price': price}\nprint(row['price'])"])
def test_data_stay_for_functions_that_only_read_them(toolkit: Toolkit, second: str) -> None:
    first = "price = price('a')\ndef show(): print(price)"

    assert run_both(toolkit, first, second).output == "1.5\n"


def test_replacing_a_tool_by_a_function_is_noted_in_sessions(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        replaced = session.execute("def price(product): return 9\nprint(price('b'))")
        later = session.execute("print(price('b'))")

    assert replaced.output == (
        "9\n[In the next program, price is the tool again: give what is bound to it here another name.]\n"
    )
    assert later.output == "2.5\n"
    assert toolkit.execute("def price(product): return 9\nprint(price('b'))").output == "9\n"


def test_second_deletion_says_what_the_name_is(toolkit: Toolkit) -> None:
    error = toolkit.execute("del price\ndel price").error or ""

    assert "price is a tool: there is no variable of that name to delete" in error


@pytest.mark.parametrize(
    "loss",
    [
        "try: 1/0\nexcept Exception as price: pass",
        "price = price('a')\ndel price",
        "import json as price\ndel price",
        "for price in [1]: pass\ndel price",
        "for name in list(globals()):\n    if not name.startswith('__'): del globals()[name]",
    ],
)
def test_deleted_name_is_the_tool_in_the_same_program(toolkit: Toolkit, loss: str) -> None:
    assert toolkit.execute(f"{loss}\nprice('b')").return_value == 2.5


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("price = price('a')\nprint(price('b'))", "price"),
        ("for price in [1, 2]: pass\nprint(price('b'))", "price"),
        ("def main():\n    price = price('a')\n    return price\nmain()", "price"),
        ("list = [1]\nprint(list('ab'))", "list"),
    ],
)
def test_hint_names_the_name_that_a_program_replaced(toolkit: Toolkit, program: str, name: str) -> None:
    result = toolkit.execute(program)

    assert f"the program itself has bound {name}, a function's name, to a value" in (result.error or "")


def test_call_of_another_value_has_no_such_hint(toolkit: Toolkit) -> None:
    assert "bound" not in (toolkit.execute("n = int('3')\nn()").error or "bound")


REPLACED = {
    "StringIO": "sys.stdout = io.StringIO()\n1/0",
    "both": "sys.stdout = sys.__stdout__ = io.StringIO()\n1/0",
    "stderr": "sys.stderr = io.StringIO()\n1/0",
    "stdin": "sys.stdin = io.StringIO('x')\n1/0",
    "None": "sys.stdout = None\n1/0",
    "deleted": "del sys.stdout, sys.stderr\n1/0",
    "closed": "sys.stdout.close()\nsys.stderr.close()\nsys.stdin.close()",
    "detached": "sys.stdout.detach()\nsys.stderr.detach()",
    "wrapped": "sys.stdout, sys.stderr = map(io.TextIOWrapper, (sys.stdout.buffer, sys.stderr.buffer))\n1/0",
    "suspended": "def f():\n    with contextlib.redirect_stdout(io.StringIO()): yield\nf = f()\nnext(f)",
    "print": "import builtins\nbuiltins.print = builtins.input = None\n1/0",
    "hooks": "sys.displayhook = sys.excepthook = threading.excepthook = None\n1/0",
}
SHOWN = """
import sys, threading
print("out")
print("err", file=sys.stderr)
try: input()
except EOFError: print("end")
sys.displayhook("shown")
thread = threading.Thread(target=lambda: 1/0); thread.start(); thread.join()
"""


@pytest.mark.parametrize("replaced", REPLACED.values(), ids=REPLACED)
def test_next_program_has_its_own_streams_and_hooks(toolkit: Toolkit, replaced: str) -> None:
    result = run_both(toolkit, f"import contextlib, io, sys, threading\nprint('one')\n{replaced}", SHOWN)

    assert result.output == "out\nend\n'shown'\n"
    assert result.error_output.startswith("err\nException in thread")


@pytest.mark.parametrize("end", ["", "\n1/0"], ids=["done", "failed"])
@pytest.mark.parametrize(
    "stream",
    [
        "io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
        "io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8')",
        "codecs.getwriter('utf-8')(sys.stdout.buffer)",
    ],
)
def test_output_of_a_stream_around_the_own_one_arrives(toolkit: Toolkit, stream: str, end: str) -> None:
    result = toolkit.execute(f"import codecs, io, sys\nsys.stdout = {stream}\nprint('één'){end}")

    assert result.output == "één\n"
    assert result.success == (not end)
