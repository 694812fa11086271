"""What a model reads of its mistakes: its own lines, and the names it could have used."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ez_ptc
from ez_ptc import Toolkit
from ez_ptc.sandbox.check.report import describe
from ez_ptc.sandbox.check.signatures import Shapes
from ez_ptc.sandbox.protocol.execution import ExecutionResult

Failing = Callable[[str], ExecutionResult]


@pytest.fixture
def failing(toolkit: Toolkit) -> Failing:
    """Run a program that fails."""

    def run(code: str) -> ExecutionResult:
        result = toolkit.execute(code, 20)
        assert not result.success
        return result

    return run


HINTS: dict[str, tuple[str, str]] = {
    "a temporary file": ("import tempfile\ntempfile.mkdtemp()", "no file access in the sandbox"),
    "an encrypted address": (
        "import urllib.request as u\nu.urlopen('https://a.example')",
        "no network access in the sandbox",
    ),
    "a library that misses OpenSSL": (
        "raise ImportError('HTTPS needs TLS: the SSL module is not available.')",
        "no network access in the sandbox",
    ),
    "a pool of processes": (
        "from multiprocessing.pool import ThreadPool",
        "concurrent.futures.ThreadPoolExecutor and parallel() make calls at once",
    ),
    "an address": ("import urllib.request as u\nu.urlopen('http://a.example')", "no network access in the sandbox"),
    "a connection": (
        "import socket\nsocket.create_connection(('127.0.0.1', 80))",
        "no network access and no other processes",
    ),
    "a file as a database": (
        "import sqlite3\nsqlite3.connect('shop.db')",
        'no file access in the sandbox, only sqlite3.connect(":memory:"): get data from the tools',
    ),
    "a file in a database": (
        "import sqlite3\nsqlite3.connect(':memory:').execute(\"ATTACH 'shop.db' AS shop\")",
        "no file access in the sandbox",
    ),
    "a file as an address": (
        "import urllib.request as u\nu.urlopen('file:///etc/passwd')",
        "no file access in the sandbox",
    ),
    "the home folder": ("from pathlib import Path\nPath.home()", "no file access in the sandbox"),
    "a terminal": ("import os\nos.openpty()", "no file access in the sandbox"),
    "an answer": ("input('Name? ')", "no input in the sandbox: get data from the tools"),
    "a password": ("import getpass\ngetpass.getpass()", "no input in the sandbox"),
    "a debugger": ("breakpoint()", "no input in the sandbox"),
    "an environment variable": ("import os\nos.environ['KEY']", "no environment variables in the sandbox"),
    "a removed variable": ("import os\ndel os.environ['KEY']", "no environment variables in the sandbox"),
    "an argument of the command line": ("import sys\nsys.argv[1]", "no command line in the sandbox"),
    "arguments of the command line": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('name')\nparser.parse_args()",
        "no command line in the sandbox, only values that the program contains: get data from the tools",
    ),
    "a user": ("import pwd\npwd.getpwuid(0)", "no user accounts in the sandbox"),
    "a language": ("import locale\nlocale.setlocale(locale.LC_ALL, 'de_DE')", "no locale but C in the sandbox"),
    "a host by its name": ("import socket\nsocket.gethostbyname('a.example')", "no network access in the sandbox"),
    "a name of a host": ("import socket\nsocket.gethostbyaddr('8.8.8.8')", "no network access in the sandbox"),
    "an encrypted connection": ("from http import client\nclient.HTTPSConnection('a.example')", "no network access"),
    "a process by its file": ("import os\nos.posix_spawn('/bin/ls', ['ls'], {})", "no other processes in the sandbox"),
    "a process": ("import os\nos.fork()", "no network access and no other processes in the sandbox"),
    "a key of a record": ("r = get_weather('Rome')\nr['temperature']", "the keys are: temp, city, unit, wind"),
    "a key of a dict": ("d = {'tea': 1, 'cups': 2}\nd['cup']", "the keys are: cups, tea"),
    "a key of an empty dict": ("d = {}\nd['x']", "the dict is empty"),
    "a key in a function": ("def total(order): return order['sum']\ntotal({'total': 3})", "the keys are: total"),
    "a key of a record in a record": ("r = get_weather('Rome')\nr['wind']['direction']", "the keys are: speed, from"),
    "a key in a list": ("rows = [{'id': 1}]\nrows[0]['name']", "the keys are: id"),
    "a key in a loop": ("for row in [{'id': 1}]:\n    print(row['name'])", "the keys are: id"),
    "a number as a key": ("d = {1: 'a'}\nd[2]", "the keys are: 1"),
    "a key of a call": ("get_weather('Rome')['temperature']", "the keys are: temp, city"),
    "an attribute of a record": ("get_weather('Rome').temprature", "temp"),
    "a key of a dict as an attribute": ("d = {'total': 3}\nd.total", 'this is a dict: use ["total"]'),
    "an attribute of a list": ("rows = [get_weather('Rome')]\nrows.temp", "this is a list: loop over it"),
    "an attribute of a text": ("'tea'.uper()", "str has: upper"),
    "a name that is nowhere": ("qqq", "the tools are: add, get_weather, find_order, echo, fail, stop"),
    "a name in another place": ("def f():\n    inner = 1\nf()\ninner", "names defined so far: f"),
    "a module that was not imported": ("statistics.mean([1])", "write `import statistics` first"),
    "a parameter misspelt": ("get_weather(cty='Rome')", "the tool is get_weather(city: str, unit: str = 'celsius')"),
    "a parameter too many": ("get_weather('Rome', 'celsius', 3)", "the tool is get_weather("),
    "a parameter missing": ("add(1)", "the tool is add(a: int, b: int) -> int"),
    "a parameter of the wrong kind": ("add(1, 'two')", "the tool is add(a: int, b: int)"),
    "a function of the program": ("def area(width, height): pass\narea(1)", "the signature is area(width, height)"),
    "a class of the program": ("class Shop:\n    def __init__(self, name): pass\nShop()", "Shop(name)"),
    "a return outside a function": ("x = 1\nreturn x", "a program has no return"),
}


@pytest.mark.parametrize(("code", "hint"), HINTS.values(), ids=HINTS.keys())
def test_mistake_lists_the_valid_names(failing: Failing, code: str, hint: str) -> None:
    result = failing(code)
    for text in (result.error, result.error_output, result.to_string()):
        assert hint in (text or "").partition("Hint: ")[2]


@pytest.mark.parametrize(
    ("code", "meant"),
    [("get_wether('Rome')", "get_weather"), ("orders = [1]\nprint(order)", "orders"), ("pritn(1)", "print")],
)
def test_misspelt_name_gets_nearest_names(failing: Failing, code: str, meant: str) -> None:
    for text in (failing(code).error or "", failing(code).error_output):
        # CPython itself says it since 3.12, in its own way.
        assert f"did you mean {meant}" in text.lower().replace(":", "").replace("'", "")


@pytest.mark.parametrize("code", ["get_wether('Rome')", "print(add(1, get_wether))"])
def test_a_question_is_followed_by_no_semicolon(failing: Failing, code: str) -> None:
    hints = [text or "" for text in (failing(code).error, failing(f"exec({code!r})").error)]
    assert all("the tools are: " in hint and "?;" not in hint for hint in hints)


@pytest.mark.parametrize(
    "code",
    [
        "class D(dict):\n    def __iter__(self): raise SystemExit\n    keys = items = __iter__\nd = D(a=1)\nd['x']",
        "class K:\n    def __repr__(self): raise SystemExit\nd = {K(): 1}\nd['x']",
        "class E:\n    def __dir__(self): raise SystemExit\n    def __getattr__(self, n): raise AttributeError\nE().x",
        "class E:\n    def __dir__(self):\n        while True: pass\nE().x",
        "raise KeyError",
        "raise KeyError(1, 2, 3)",
        "raise NameError",
        "raise AttributeError('x')",
        "raise TypeError('add: nothing')",
        "d = {i: 'x' * 10_000 for i in range(10_000)}\nd['missing']",
        "d = {'x' * 100_000: 1, 'y' * 100_000: 2}\nd['x' * 99_999]",
    ],
)
def test_looking_for_a_hint_breaks_nothing(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code, 0.5)
    assert not result.success
    assert result.error
    assert len(toolkit.answer(code, result)) <= 30_000


def test_a_long_list_of_names_is_cut(failing: Failing) -> None:
    error = failing("d = {f'key {n}': n for n in range(500)}\nd['kee 77']").error or ""
    assert "the keys are: 'key 7" in error
    assert ", and 460 more" in error
    assert len(error) < 3_000


TRACEBACK = """Traceback (most recent call last):
  File "<program>", line 6, in <module>
    print(total([{"price": 2}, {"cost": 3}]))
  File "<program>", line 4, in total
    amount += item["price"]
KeyError: 'price'
Hint: the keys are: cost
"""


def test_traceback_shows_lines_of_the_program(failing: Failing) -> None:
    code = """def total(items):
    amount = 0
    for item in items:
        amount += item["price"]
    return amount
print(total([{"price": 2}, {"cost": 3}]))
"""
    lines = failing(code).error_output.splitlines(keepends=True)
    carets = [line for line in lines if set(line) <= set(" ~^\n")]
    assert "".join(line for line in lines if line not in carets) == TRACEBACK
    assert [line.index("^") > 0 for line in carets] == [True, True]


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_traceback_shows_failing_line_despite_multiline_texts(failing: Failing, end: str) -> None:
    assert "line 3, in <module>\n    1 / n\n" in failing(f"x = 'a{end}b{end}'\nn = 0\n1 / n").error_output


def test_the_error_is_one_line_and_its_hint(failing: Failing) -> None:
    assert failing("d = {'a': 1}\nd['b']").error == "KeyError: 'b'\nHint: the keys are: a"


def test_an_error_caught_and_raised_again_shows_both(failing: Failing) -> None:
    code = "try:\n    int('x')\nexcept ValueError as error:\n    raise LookupError('no such order') from error"
    output = failing(code).error_output
    assert output.index("ValueError: invalid literal") < output.index("direct cause") < output.index("LookupError: no")


def test_a_syntax_error_points_at_its_place(failing: Failing) -> None:
    output = failing("x = 1\nprint('a' 5)").error_output
    assert 'File "<program>", line 2\n' in output
    assert "print('a' 5)" in output
    assert "^" in output


STUMBLES: dict[str, str] = {
    "in a tool": "fail('value')",
    "in a tool with a path": "fail('os')",
    "in a tool of another thread": "parallel((fail, 'value'))",
    "in a lambda of parallel": "parallel((lambda: 1 / 0,))",
    "in parallel itself": "parallel(5)",
    "in arguments": "add(1, 'x')",
    "in an argument that cannot cross": "add(print, 1)",
    "in a record": "get_weather('Rome').x",
    "in json": "json.loads('{')",
    "in re": "re.compile('(')",
    "in asyncio": "async def main(): raise ValueError('x')\nasyncio.run(main())",
    "in gather": "await asyncio.gather(asyncio.to_thread(fail, 'value'))",
    "in a task group": "async with asyncio.TaskGroup() as g: g.create_task(asyncio.to_thread(fail, 'own'))",
    "in a task nobody waits for": "async def f(): 1 / 0\nt = asyncio.ensure_future(f())\nawait asyncio.sleep(0)\n1 / 0",
    "in a thread": "import threading\nt = threading.Thread(target=fail, args=('value',))\nt.start()\nt.join()\n1 / 0",
    "in a pool": "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(fail, 'own').result()",
    "in dataclasses": "from dataclasses import dataclass\n@dataclass\nclass D:\n    x: list = []",
    "in an import": "import numpy",
    "in another import": "import ez_pt",
    "in an import of ours": "import ez_sandbox.worker.running.runtime\nez_sandbox.worker.running.runtime.nothing",
    "in an import by name": "import importlib\nimportlib.import_module('pandas')",
    "in a file": "open('/etc/passwd')",
    "in a folder": "import os\nos.listdir('.')",
    "in a path": "from pathlib import Path\nPath.home()\nPath('x').read_text()",
    "in a process": "import subprocess\nsubprocess.run(['ls'])",
    "in a connection": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1')",
    "in tempfile": "import tempfile\ntempfile.NamedTemporaryFile()",
    "in exit": "import sys\nsys.exit('no')",
    "in a warning": "import warnings\nwarnings.warn('old')\n1 / 0",
    "in a coroutine nobody awaits": "async def f(): pass\nf()\nimport gc\ngc.collect()\n1 / 0",
    "in a destructor": "class D:\n    def __del__(self): 1 / 0\nd = D()\ndel d\n1 / 0",
    "in logging": "import logging\nlogging.error('x %d', 'y')\nlogging.exception('z')\n1 / 0",
    "in a traceback of its own": "import traceback\ntry: fail('own')\nexcept Exception: traceback.print_exc()\n1 / 0",
    "in a stack of its own": "import traceback\ntraceback.print_stack()\n1 / 0",
    "in inspect": "import inspect\ninspect.getsource(json)",
    "in the source of a tool": "import inspect\nprint(add.__code__.co_filename)\ninspect.getsource(add)",
    "in the last value": "class E:\n    __slots__ = ('x',)\nE()",
}  # fmt: skip


@pytest.mark.parametrize("code", STUMBLES.values(), ids=STUMBLES.keys())
def test_model_text_reveals_no_host_path(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code, 20)
    assert result.success is bool(result.described)
    places = {sys.prefix, sys.base_prefix, str(Path(ez_ptc.__file__).parent), str(Path(os.__file__).parent)}
    places -= {
        "/usr",
        "/usr/local",
    }  # A system's own interpreter has one of them; CPython's texts name them everywhere.
    for text in (result.output, result.error_output, result.error or "", result.described):
        for place in places | {"site-packages", f"{Path.home()}/"}:
            assert place not in text
    assert "/srv/private" not in result.output


# They print what they like, which is theirs to judge; the report on their failure is ours.
OWN_WORDS = {"in a traceback of its own", "in a stack of its own", "in the source of a tool", "in an import of ours"}


REPORTED = {name: code for name, code in STUMBLES.items() if name not in OWN_WORDS}


@pytest.mark.parametrize("code", REPORTED.values(), ids=REPORTED.keys())
def test_report_names_no_file_but_the_program(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code, 20)
    text = f"{result.error_output}{result.error}"
    assert set(re.findall(r'File "([^"]*)"', text)) <= {"<program>"}
    for word in ("ez_sandbox", "ez_ptc", "__ez_", "stubs.py", "runtime.py", "<sandbox>"):
        assert word not in text


def test_a_program_reads_no_path_of_the_host_anywhere(toolkit: Toolkit) -> None:
    """Not in modules, not in code objects, not in the interpreter's own settings."""
    code = """
import gc, sys, types
texts = set()
gc.unfreeze()
loaders = [getattr(getattr(module, "__spec__", None), "loader_state", None) for module in sys.modules.values()]
for found in gc.get_objects() + list(sys.modules.values()) + loaders:
    if found is sys.modules["__main__"]:
        continue  # this program
    if isinstance(found, (types.ModuleType, type)):
        texts |= {str(v) for v in list(vars(found).values()) if isinstance(v, (str, list, dict)) and len(str(v)) < 5000}
    elif isinstance(found, types.SimpleNamespace):
        texts |= {str(value) for value in vars(found).values()}
    elif isinstance(found, types.FunctionType):
        texts.add(found.__code__.co_filename)
texts |= {str(value) for value in vars(sys).values() if not isinstance(value, types.ModuleType)}
sorted(text for text in texts if PLACE in text)[:3]
"""
    for place in (str(Path(os.__file__).parent), str(Path(ez_ptc.__file__).parent), str(Path.home()) + "/"):
        assert toolkit.execute(f"PLACE = {place[:3]!r} + {place[3:]!r}\n{code}", 20).return_value == []


def test_repeated_frames_are_formatted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython parses a frame's line whenever it formats it: a million times, if a program recurses so deeply."""
    formatted = 0
    format_frame = traceback.StackSummary.format_frame_summary

    def count(self: traceback.StackSummary, frame_summary: traceback.FrameSummary, **options: Any) -> str:
        nonlocal formatted
        formatted += 1
        return format_frame(self, frame_summary, **options)

    monkeypatch.setattr(traceback.StackSummary, "format_frame_summary", count)
    code = compile("def f(): f()\nf()", "<program>", "exec")
    with pytest.raises(RecursionError) as caught:
        exec(code, {})
    _, text = describe(caught.value, Shapes({}), {})
    assert re.search(r"Previous line repeated \d{3} more times", text)
    assert formatted == 2
