"""Programs that see how they are run: each prints the same in plain CPython and in the sandbox."""

__all__ = ["AS_MAIN", "TO_THE_END"]

AS_MAIN = {
    "the name of the module": """
import sys
print(__name__, sys.modules["__main__"].__name__, vars(sys.modules["__main__"]) is globals())
print(__doc__, __package__, __spec__)
""",
    "a docstring": '''
"""What it does."""
import __main__
print(__doc__, __main__.__doc__)
''',
    "names of the module": """
first = 1
def second(): pass
print(sorted(name for name in globals() if not name.startswith("__")))
print(sorted(dir()) == sorted(globals()), sorted(vars()) == sorted(globals()))
""",
    "an import from itself": """
value = 3
import __main__
from __main__ import value as again
__main__.value += 1
print(again, value, __main__.value)
""",
    "postponed annotations in a dataclass": """
from __future__ import annotations
from dataclasses import InitVar, dataclass, field, fields
from typing import ClassVar
import typing
import dataclasses

@dataclass
class Order:
    total: int
    kind: ClassVar[str] = "order"
    other: typing.ClassVar[int] = 3
    rate: InitVar[float] = 2.0
    rest: dataclasses.KW_ONLY = None
    def __post_init__(self, rate):
        self.total *= rate

print([each.name for each in fields(Order)], Order(2), Order(2, rate=4).total)
""",
    "type hints": """
from __future__ import annotations
import typing
class Node:
    next: Node | None
    items: list[Order]
class Order: pass
def find(node: Node, count: int = 1) -> list[Order]: ...
print(typing.get_type_hints(Node))
print(typing.get_type_hints(find)["return"] == list[Order])
""",
    "single dispatch by annotations": """
from functools import singledispatch
class Shape: pass
@singledispatch
def area(shape): return 0
@area.register
def _(shape: Shape): return 1
@area.register
def _(shape: int) -> int: return 2
print(area(Shape()), area(3), area("x"))
""",
    "pickles of its own classes": """
import copy, pickle
from dataclasses import dataclass
from enum import Enum
from collections import namedtuple
@dataclass
class Point:
    x: int
class Colour(Enum):
    RED = 1
Pair = namedtuple("Pair", "a b")
def double(n): return 2 * n
for each in (Point(1), Colour.RED, Pair(1, 2), [Point(2)]):
    again = pickle.loads(pickle.dumps(each))
    print(again, again == each, copy.deepcopy(each) == each)
print(pickle.loads(pickle.dumps(double))(4), pickle.loads(pickle.dumps(Point)) is Point)
""",
    "its own source": """
import inspect
def double(n):
    # Twice as much.
    return 2 * n
class Shop:
    def sell(self):
        return double(1)
print(inspect.getsource(double))
print(inspect.getsource(Shop))
print(inspect.getsource(Shop.sell), inspect.getcomments(double), inspect.getsourcelines(Shop)[1])
print(inspect.getmodule(double).__name__, inspect.getmodule(Shop) is inspect.getmodule(double))
""",
    "doctests": '''
import doctest
def double(n):
    """Twice as much.

    >>> double(2)
    4
    >>> double(3)
    7
    """
    return 2 * n
def test_all():
    found = doctest.testmod(report=False, verbose=False)
    return found
import io, contextlib
with contextlib.redirect_stdout(io.StringIO()) as text:
    found = test_all()
print(found, "Expected:\\n    7" in text.getvalue(), "__main__.double" in text.getvalue())
''',
    "unit tests that pass": """
import unittest, sys
class Sums(unittest.TestCase):
    def test_sum(self): self.assertEqual(1 + 1, 2)
    def test_error(self):
        with self.assertRaises(ZeroDivisionError): 1 / 0
result = unittest.main(exit=False, argv=["x"]).result
print(result.testsRun, result.wasSuccessful())
""",
    "unit tests that fail": """
import unittest
class Sums(unittest.TestCase):
    def test_sum(self): self.assertEqual(1 + 1, 3)
    def test_other(self): pass
result = unittest.main(exit=False, argv=["x"]).result
print(result.testsRun, len(result.failures), result.wasSuccessful())
print(unittest.defaultTestLoader.loadTestsFromName("__main__.Sums.test_sum").countTestCases())
""",
    "unit tests that end the program": """
import unittest
class Sums(unittest.TestCase):
    def test_sum(self): self.assertEqual(1 + 1, 2)
if __name__ == "__main__":
    print("tests")
    unittest.main()
print("never")
""",
    "classes know their module": """
class Shop:
    class Inner: pass
def f(): return lambda: 0
print(Shop.__module__, Shop.Inner.__qualname__, f.__module__, f().__qualname__, repr(Shop))
import warnings, logging
print(logging.getLogger(__name__).name)
""",
    "a thread, a class and a name that changes": """
import threading
count = 0
def work():
    global count
    for _ in range(100): count += 1
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
import __main__
print(count, __main__.count)
""",
    "coroutines at the top": """
import asyncio, __main__
async def find(n):
    await asyncio.sleep(0)
    __main__.found = n
    return n
print(asyncio.run(find(3)), found)
""",
    "exec and eval": """
exec("value = 1")
exec("value = 2", {})
scope = {}
exec("def f(): return __name__", scope)
print(value, eval("value + 1"), "__builtins__" in scope, scope["f"]())
import types
module = types.ModuleType("mine")
exec("x = 1\\nclass A: pass", vars(module))
print(module.x, module.A.__module__)
""",
    "named tuples and typed dictionaries": """
from typing import NamedTuple, TypedDict, NewType
class Pair(NamedTuple):
    a: int
    b: str = "x"
class Row(TypedDict):
    a: int
print(Pair(1), Pair.__module__, Row(a=1), Row.__annotations__, NewType("Id", int).__module__)
""",
    "help": """
def double(n: int) -> int:
    "Twice as much."
    return 2 * n
help(double)
help(len)
""",
    "arguments of the command line": """
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int, default=3)
print(parser.parse_args(), len(sys.argv))
""",
}

TO_THE_END = {
    "exit": "print('before')\nexit()\nprint('after')",
    "quit": "print('before')\nquit(0)\nprint('after')",
    "sys.exit": "import sys\nprint('before')\nsys.exit()\nprint('after')",
    "exit in a function that cleans up": """
def work():
    try:
        exit()
    finally:
        print("cleaned up")
work()
""",
    "callbacks at exit": """
import atexit
@atexit.register
def last(): print("last")
atexit.register(print, "first", "of all", sep="-")
dropped = atexit.register(lambda: print("never"))
atexit.unregister(dropped)
print("program")
""",
    "callbacks after exit": """
import atexit, sys
atexit.register(lambda: print("at the end", value))
value = 3
sys.exit(0)
""",
    "a callback that fails": """
import atexit
atexit.register(print, "goes on")
atexit.register(lambda: 1 / 0)
print("program")
""",
    "a callback that registers another": """
import atexit
def first():
    print("first")
    atexit.register(print, "second")
atexit.register(first)
print("program")
""",
    "a log that is written at the end": """
import atexit, logging.handlers, sys
logging.getLogger().addHandler(logging.handlers.MemoryHandler(9, target=logging.StreamHandler(sys.stdout)))
atexit.register(print, "at the end")
logging.warning("kept")
""",
    "finalizers": """
import weakref
class Shop: pass
shop = Shop()
weakref.finalize(shop, print, "closed")
other = Shop()
weakref.finalize(other, print, "never").atexit = False
print("program")
""",
    "the last __del__": """
class Shop:
    def __init__(self, name): self.name = name
    def __del__(self): print("closed", self.name)
a = Shop("a")
b = Shop("b")
Shop("dropped")
print("program")
""",
    "the __del__ of a cycle": """
class Node:
    def __del__(self): print("gone")
node = Node()
node.self = node
print("program")
""",
    "a __del__ that uses the module": """
import math
PRICE = 3
class Shop:
    def __del__(self): print("closed", math.pi > 3, PRICE)
shop = Shop()
""",
    "a generator that is left": """
def numbers():
    try:
        yield 1
        yield 2
    finally:
        print("closed")
it = numbers()
print(next(it))
""",
    "a thread that goes on": """
import threading, atexit
atexit.register(print, "at exit")
go = threading.Event()
def work():
    go.wait(10)
    print("thread")
threading.Thread(target=work).start()
print("program")
go.set()
""",
    "an executor that was not shut down": """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
pool.submit(print, "in the pool")
print("program") if pool.submit(int, 3).result() == 3 else None
""",
    "a module again": """
import importlib, json, sys, math, dataclasses, collections, string
json.extra = 1
again = importlib.reload(json)
print(again is json, json.loads("[1]"), json.extra)
del sys.modules["json"]
import json as other
print(other is json, other.loads("[1]"), hasattr(other, "extra"))
for name in ("math", "dataclasses", "collections", "string", "_json", "_struct", "zlib", "array", "time", "itertools"):
    before = importlib.import_module(name)
    del sys.modules[name]
    after = importlib.import_module(name)
    print(name, after.__name__, importlib.reload(after) is after, sys.modules[name] is after)
""",
    "modules that are not there": """
import importlib.util
print(importlib.util.find_spec("nothing"), importlib.util.find_spec("json.nothing"))
for name in ("nothing", "json.nothing", "nothing.more", "json.decoder.more"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(error, error.name)
try:
    import nothing
except ImportError as error:
    print(type(error).__name__, error)
""",
    "a finder of its own": """
import sys, importlib.abc, importlib.machinery
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name.startswith("made") else None
    def exec_module(self, module): module.value = module.__name__ * 2
sys.meta_path.append(Finder())
import made, made_other
print(made.value, made_other.value)
""",
    "a module of its own": """
import sys, types
module = types.ModuleType("shop")
exec("def sell(): return 'sold'", vars(module))
sys.modules["shop"] = module
import shop
from shop import sell
print(shop.sell(), sell())
""",
    "deep recursion": """
import sys
def depth(n):
    try:
        return depth(n + 1)
    except RecursionError:
        return n
print(900 < depth(0) < 1000, sys.getrecursionlimit())
sys.setrecursionlimit(5000)
print(4900 < depth(0) < 5000, sys.getrecursionlimit())
def total(n): return 0 if n == 0 else n + total(n - 1)
sys.setrecursionlimit(20_000)
print(total(15_000))
""",
    "the limits of recursion": """
import sys
for limit in (0, -1, 1 << 40):
    try:
        sys.setrecursionlimit(limit)
    except (ValueError, OverflowError) as error:
        print(type(error).__name__, error)
""",
    "time zones": """
import os, time
from datetime import datetime, timezone
from zoneinfo import ZoneInfo
for zone in ("Europe/Zurich", "America/New_York", "Asia/Kolkata", "UTC", "EST5EDT"):
    os.environ["TZ"] = zone
    time.tzset()
    print(time.tzname, time.timezone, time.altzone, time.localtime(1720000000)[:5], time.localtime(1700000000).tm_zone)
    print(datetime.fromtimestamp(1720000000), datetime.fromtimestamp(1700000000).astimezone().isoformat())
    print(datetime.fromtimestamp(1720000000, ZoneInfo(zone)))
""",
    "no time zone is set": """
import time
from datetime import datetime, timezone
now = datetime.now(timezone.utc)
print(now.astimezone().utcoffset() == now.astimezone().tzinfo.utcoffset(None))
""",
}
