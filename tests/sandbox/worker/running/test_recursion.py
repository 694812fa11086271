"""Recursion that goes too deep ends in a RecursionError, whatever limit a program has asked for."""

import textwrap

import pytest

from ez_ptc import Toolkit

DEEP = {
    "a function": "def f(n): return f(n + 1)\nf(0)",
    "a sort": "def f(x): return sorted([1], key=f)\nf(1)",
    "a comparison that sorts": "class A:\n    def __lt__(self, b): return sorted([self, b])\nsorted([A(), A()])",
    "an operator": "class A:\n    def __add__(self, other): return self + other\nA() + 1",
    "a call of an object": "class A:\n    def __call__(self): return self()\nA()()",
    "a map": "def f(x): return list(map(f, [x]))\nf(1)",
    "a partial": "import functools\ndef f(): return functools.partial(f)()\nf()",
    "a regular expression": "def f(found): return re.sub('a', f, 'a')\nf(None)",
    "text": "class A:\n    def __str__(self): return str(self)\nstr(A())",
    "a format": "class A:\n    def __format__(self, spec): return f'{self}'\nf'{A()}'",
    "a generator": "def g(): yield from g()\nlist(g())",
    "code in text": "def f(): exec('f()', {'f': f})\nf()",
    "nested lists as text": "x = []\nfor _ in range(10**6): x = [x]\nrepr(x)",
    "nested lists as JSON": "x = []\nfor _ in range(10**6): x = [x]\njson.dumps(x)",
    "nested lists compared": "x, y = [], []\nfor _ in range(10**6): x, y = [x], [y]\nx == y",
}


@pytest.mark.parametrize("program", DEEP.values(), ids=DEEP.keys())
@pytest.mark.parametrize("limit", [100_000, 2**31 - 1])
@pytest.mark.sampled(every=9)
def test_too_deep_recursion_is_a_program_error(program: str, limit: int, toolkit: Toolkit) -> None:
    result = toolkit.execute(
        f"import sys\nsys.setrecursionlimit({limit})\nprint(sys.getrecursionlimit())\n{program}", 60
    )
    assert result.output == f"{limit}\n"
    assert (result.error or "").startswith("RecursionError: maximum recursion depth exceeded")


def test_program_may_recurse_to_its_own_limit(toolkit: Toolkit) -> None:
    program = "import sys\nsys.setrecursionlimit(30_000)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(20_000))"
    assert toolkit.execute(program).output == "20000\n"


IN_THREADS = """
import threading
came = []
def work():
    try:
        deep()
    except RecursionError as error:
        came.append(str(error).startswith("maximum recursion depth exceeded"))
for _ in range(2):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
came"""


@pytest.mark.parametrize("program", DEEP.values(), ids=DEEP.keys())
@pytest.mark.sampled(every=0)
def test_too_deep_recursion_in_thread_is_an_error(program: str, toolkit: Toolkit) -> None:
    result = toolkit.execute(f"def deep():\n{textwrap.indent(program, '    ')}\n{IN_THREADS}", 60)
    assert result.return_value == [True, True], result.error


def test_program_may_have_many_threads_with_chosen_stacks(toolkit: Toolkit) -> None:
    program = """
import threading
over = threading.Event()
threads = [threading.Thread(target=over.wait) for _ in range(100)]
for thread in threads: thread.start()
over.set()
for thread in threads: thread.join()
def f(n): return n and 1 + f(n - 1)
threading.stack_size(64 << 20)
sys.setrecursionlimit(10**6)
deep = threading.Thread(target=lambda: print(f(20_000)))
deep.start()
deep.join()
(len(threads), threading.stack_size(0))"""
    result = toolkit.execute("import sys\n" + program, 60)
    assert (result.output, result.return_value) == ("20000\n", (100, 64 << 20)), result.error
