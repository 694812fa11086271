"""However a program ends, it is a result that a model can act on, and the next program runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from ez_ptc import ProcessSandbox, Toolkit, ez_tool
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.processes import descendants, families, inside

Execute = Callable[..., ExecutionResult]

VALUES: dict[str, tuple[str, str]] = {
    "a generator": ("(n for n in [1])", "generator (make it a list: list(...)) cannot cross"),
    "an endless iterator": ("import itertools\nitertools.count()", "a count"),
    "a lambda": ("lambda: 1", "a function cannot cross"),
    "a class": ("class Shop: pass\nShop", "a class cannot cross"),
    "an object": ("class Shop: pass\nShop()", "a Shop cannot cross"),
    "a module": ("json", "a module cannot cross"),
    "a tool": ("add", "a function cannot cross"),
    "a dict that contains itself": ("d = {}\nd['d'] = d\nd", "refers to itself"),
    "a deep list": ("x = []\nfor i in range(200_000): x = [x]\nx", "nested deeper"),
    "shared lists": ("x = ['lol']\nfor i in range(22): x = [x, x]\nx", "too large"),
    "20 MB": ("'z' * 20_000_000", "at most 16,777,216"),
    "an evil repr": ("class E:\n    def __repr__(self): raise SystemExit(3)\nE()", "an E cannot cross"),
    "an evil attribute": ("class E:\n    def __getattribute__(self, name): raise SystemExit(3)\nE()", "cannot cross"),
    "an evil class": (
        "class E:\n    @property\n    def __class__(self): raise SystemExit(3)\nE()",
        "an E cannot cross",
    ),
    "fields that end": (
        "from dataclasses import *\n@dataclass\nclass E:\n a: int\n def __getattribute__(*a): raise SystemExit\nE(1)",
        "not returned: SystemExit",
    ),
    "an evil truth": (
        "class E:\n    def __bool__(self):\n        while True: pass\n    __eq__ = __len__ = __hash__ = __bool__\nE()",
        "an E cannot cross",
    ),
    "an evil name": (
        "class M(type):\n    __name__ = property(lambda c: 1/0)\nclass E(metaclass=M): pass\nE()",
        "value",
    ),
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(("code", "says"), VALUES.values(), ids=VALUES.keys())
def test_a_value_that_cannot_cross_is_described(toolkit: Toolkit, code: str, says: str) -> None:
    result = toolkit.execute("print('so far')\n" + code)
    assert (result.success, result.output, result.return_value) == (True, "so far\n", None), result.error
    assert says in result.described
    assert len(result.described) < 3_000
    assert result.to_string() == "so far\n"
    assert toolkit.execute(code).to_string() == result.described
    assert toolkit.execute("1 + 1").return_value == 2


SHOWN: dict[str, tuple[str, str]] = {
    "an object": ("import types\ntypes.SimpleNamespace(a=1)", "namespace(a=1)"),
    "a long list": ("[*range(100), (n for n in [])]", "[0, 1, 2"),
    "a long text": ("'ab' * 10_000_000", "'abab"),
    "an address": ("[object()]", "[<object object>]"),
    "an evil repr": ("class E:\n    def __repr__(self): raise SystemExit(3)\nE()", "<E"),
    "a repr that is none": ("class E:\n    def __repr__(self): return 5\nE()", "<E"),
    "a repr without end": ("class E:\n    def __repr__(self): return 'x' * 10_000_000\nE()", "xxxx"),
    "a wide integer in it": ("[10**5000, object()]", "<list>|[1000"),
}


@pytest.mark.parametrize(("code", "begins"), SHOWN.values(), ids=SHOWN.keys())
def test_description_begins_with_python_repr(toolkit: Toolkit, code: str, begins: str) -> None:
    result = toolkit.execute(code)
    assert result.success, result.error
    assert result.described.startswith(tuple(begins.split("|"))), result.described[:100]
    assert "[This is the value of the last expression, which is not returned: " in result.described
    assert len(result.described) < 3_000


def test_repr_of_value_uses_the_program_time(execute: Execute, toolkit: Toolkit) -> None:
    result = execute(toolkit, "class E:\n    def __repr__(self):\n        while True: pass\nE()", 0.5)
    assert result.error == "TimeoutError: the program timed out after 0.5 s"


CROSSING: dict[str, tuple[str, object]] = {
    "an evil text": (
        "class S(str):\n    def __str__(self): raise KeyboardInterrupt\n    __len__ = __str__\nS('x')",
        "x",
    ),
    "an evil dict": ("class D(dict):\n    def items(self):\n        while True: yield 1\nD(a=1)", {"a": 1}),
    "half a character": ("'\\ud800 bad'", "\ud800 bad"),
    "keys of all kinds": (
        "{(1, 2): 3, None: 4, 1.5: 2, True: 0, b'x': 1}",
        {(1, 2): 3, None: 4, 1.5: 2, True: 0, b"x": 1},
    ),
    "the mark": ("{'$': ['t', [1]]}", {"$": ["t", [1]]}),
    "a wide integer": ("10**6000", 10**6000),
    "a terminal's orders": ("'\\x1b[31mred\\x00'", "\x1b[31mred\x00"),
}


@pytest.mark.parametrize(("code", "value"), CROSSING.values(), ids=CROSSING.keys())
def test_a_value_that_looks_dangerous_and_is_data_crosses(toolkit: Toolkit, code: str, value: object) -> None:
    result = toolkit.execute(code)
    assert (result.success, result.return_value) == (True, value)
    assert isinstance(result.to_string(), str)


ENDINGS: dict[str, tuple[str, str]] = {
    "os._exit(0)": ("import os\nos._exit(0)", "ended its process (exit code 0) instead of running to its end"),
    "os._exit(3)": ("import os\nos._exit(3)", "exit code 3"),
    "os.abort()": ("import os\nos.abort()", "or aborted|interpreter abort"),
    "kill": ("import os\nos.kill(os.getpid(), 9)", "PermissionError"),
    "a segfault": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    "another segfault": (
        "def f(): return 1\nf.__code__ = f.__code__.replace(co_code=b'\\x7c\\xff' * 50, co_stacksize=1)\nf()",
        "SIGSEGV|SIGABRT|SIGBUS|Error",
    ),
    "exit code": ("raise SystemExit(7)", "SystemExit: 7"),
    "exit message": ("import sys\nsys.exit('no tea')", "SystemExit: no tea"),
    "an interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "a cancellation": ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
    "an exception of its own": ("class Out(BaseException): pass\nraise Out('x')", "Out: x"),
    "an exception without text": (
        "class E(Exception):\n    def __str__(self): raise self\nraise E",
        "E: <exception str() failed>|E ",
    ),
    "an exception with an endless text": ("raise ValueError('E' * 40_000_000)", "ValueError: EEE"),
    "an exception in a ring": ("e = ValueError('ring')\ne.__cause__ = e.__context__ = e\nraise e", "ValueError: ring"),
    "a group": ("raise ExceptionGroup('many', [ValueError(1), KeyError('k')])", "ExceptionGroup: many"),
    "endless recursion": ("def f(): return f()\nf()", "RecursionError: maximum recursion depth exceeded"),
    "closed output": ("import sys\nsys.stdout.close()\nprint('x')", "ValueError: I/O operation on closed file"),
    "no output": ("import sys\nsys.stdout = None\n1 / 0", "ZeroDivisionError"),
    "a wait for input": ("input('name? ')", "EOFError"),
    "a file": ("open('/etc/passwd')", "PermissionError"),
    "a process": ("import subprocess\nsubprocess.run(['ls'])", "PermissionError|BlockingIOError|OSError"),
    "a connection": ("import socket\nsocket.create_connection(('127.0.0.1', 80), 1)", "PermissionError"),
    "a name to look up": ("import socket\nsocket.getaddrinfo('example.com', 80)", "gaierror|PermissionError|OSError"),
}


@pytest.mark.parametrize(("code", "says"), ENDINGS.values(), ids=ENDINGS.keys())
def test_a_bad_end_is_explained(execute: Execute, toolkit: Toolkit, code: str, says: str) -> None:
    result = execute(toolkit, code, 20)
    assert (result.success, result.status, result.return_value) == (False, "failed", None)
    assert any(words in (result.error or "") for words in says.split("|")), result.error
    assert result.error_output
    # The host keeps it whole; a model reads less.
    assert len(result.error_output) < 1_100_000
    assert len(result.to_string()) <= 30_000
    assert execute(toolkit, "1 + 1").return_value == 2


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGTRAP], ids=lambda number: number.name)
@pytest.mark.sampled(every=3)
def test_abort_is_recognized_by_each_signal_of_platform(number: signal.Signals) -> None:
    """Abort may not signal itself: then it is SIGSEGV on x86-64 and SIGTRAP on aarch64."""
    before = descendants(os.getpid())

    @ez_tool
    def end(pid: int) -> None:
        """End the worker that has this number in its own namespace."""
        [worker] = [each for each in families(os.getpid(), without=before) if inside(each) == pid]
        os.kill(worker, number)

    with ProcessSandbox(ready=0) as own:
        error = Toolkit([end], sandbox=own).execute("import os\nend(os.getpid())", 20).error or ""
    assert "abort" in error
    assert number.name in error


ODD = "class Odd({base}):\n    {body}\nraise Odd{arguments}"
END = "def {name}(self, *a): raise SystemExit"
HOSTILE: dict[str, str] = {
    "a class that ends": ODD.format(
        base="Exception", body="@property\n    " + END.format(name="__class__"), arguments=""
    ),
    "a class that lies": ODD.format(base="Exception", body="__class__ = SystemExit; code = 0", arguments=""),
    "no attribute at all": ODD.format(base="Exception", body=END.format(name="__getattribute__"), arguments=""),
    "a traceback that is none": ODD.format(base="Exception", body="__traceback__ = 5", arguments=""),
    "a line that ends": ODD.format(
        base="SyntaxError", body="@property\n    " + END.format(name="lineno"), arguments="('x')"
    ),
    "a group that ends": ODD.format(
        base="ExceptionGroup", body="@property\n    " + END.format(name="exceptions"), arguments="('x', [OSError()])"
    ),
    "a type that ends": """
class Meta(type):
    def __getattribute__(cls, name): raise SystemExit
class Odd(Exception, metaclass=Meta): pass
raise Odd
""",
    "a name that ends": """
class Name(str):
    def __format__(self, how): raise SystemExit
class Odd(Exception): pass
Odd.__qualname__ = Name("Odd")
raise Odd("x")
""",
    "notes that end": """
class Notes(list):
    def __iter__(self): raise SystemExit
class Odd(Exception): __notes__ = Notes()
raise Odd
""",
    "an exit code that ends": """
class Code:
    def __hash__(self): raise SystemExit
    __eq__ = __hash__
class Odd(SystemExit): pass
raise Odd(Code())
""",
    "keys that end": """
class Odd(dict):
    def __iter__(self): raise SystemExit
odd = Odd(a=1)
odd["Odd"]
""",
    "traceback taken over": """
import traceback
class Odd(Exception): pass
def end(*a, **k): raise SystemExit
traceback.TracebackException = end
raise Odd
""",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE.keys())
def test_an_exception_that_cannot_be_looked_at_is_named(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute("print('so far')\n" + code)
    assert (result.status, result.output) == ("failed", "so far\n")
    assert "Odd" in (result.error or "")
    assert "exit code" not in (result.error or "")


def test_output_before_crash_is_kept_up_to_last_call(toolkit: Toolkit) -> None:
    result = toolkit.execute("print('before')\nadd(1, 2)\nprint('lost')\nimport os\nos._exit(1)")
    assert result.output == "before\n"
    assert [call["result"] for call in result.tool_calls] == [3]


def test_endless_printing_ends_with_program_time(execute: Execute, toolkit: Toolkit) -> None:
    result = execute(toolkit, "while True:\n    print('x' * 10_000)", 0.5)
    assert result.error == "TimeoutError: the program timed out after 0.5 s"
    assert result.output.startswith("xxx")
    assert len(result.output) == 1 << 20
    assert result.truncated["output"] > 0
    assert execute(toolkit, "1 + 1").return_value == 2
