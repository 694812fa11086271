"""Programs as models write them, and the `repr` of what each gives under plain CPython."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, tuple[str, str]] = {
    "class with a metaclass": (
        """
class Registry(type):
    known = []
    def __new__(meta, name, bases, body):
        cls = super().__new__(meta, name, bases, body)
        meta.known.append(name)
        return cls
class Base(metaclass=Registry): pass
class Child(Base): pass
Registry.known
""",
        "['Base', 'Child']",
    ),
    "class that hears of its subclasses": (
        """
class Plugin:
    found = {}
    def __init_subclass__(cls, *, key, **rest):
        super().__init_subclass__(**rest)
        cls.found[key] = cls.__name__
class Csv(Plugin, key="csv"): pass
class Xml(Plugin, key="xml"): pass
Plugin.found
""",
        "{'csv': 'Csv', 'xml': 'Xml'}",
    ),
    "descriptor": (
        """
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, instance, owner): return getattr(instance, self.name)
    def __set__(self, instance, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} must be positive, not {value}")
        setattr(instance, self.name, value)
class Item:
    price = Positive()
    def __init__(self, price): self.price = price
try:
    Item(-1)
except ValueError as error:
    problem = str(error)
[Item(3).price, problem]
""",
        "[3, 'price must be positive, not -1']",
    ),
    "abstract class": (
        """
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
class Square(Shape):
    def __init__(self, side): self.side = side
    def area(self): return self.side ** 2
try:
    Shape()
    made = True
except TypeError:
    made = False
[Square(4).area(), made]
""",
        "[16, False]",
    ),
    "protocol at run time": (
        """
from typing import Protocol, runtime_checkable
@runtime_checkable
class Closable(Protocol):
    def close(self) -> None: ...
class Door:
    def close(self): pass
(isinstance(Door(), Closable), isinstance(3, Closable))
""",
        "(True, False)",
    ),
    "ordering from two methods": (
        """
from functools import total_ordering
@total_ordering
class Version:
    def __init__(self, text): self.parts = tuple(map(int, text.split(".")))
    def __eq__(self, other): return self.parts == other.parts
    def __lt__(self, other): return self.parts < other.parts
[Version("1.10") >= Version("1.9"), max(map(Version, ["2.0", "10.1", "9.9"])).parts]
""",
        "[True, (10, 1)]",
    ),
    "single dispatch": (
        """
from functools import singledispatch
@singledispatch
def show(value): return f"a {type(value).__name__}"
@show.register
def _(value: int): return f"number {value}"
@show.register
def _(value: list): return f"{len(value)} items"
[show(3), show([1, 2]), show("x")]
""",
        "['number 3', '2 items', 'a str']",
    ),
    "flags": (
        """
from enum import Flag, auto
class Can(Flag):
    READ = auto()
    WRITE = auto()
    RUN = auto()
both = Can.READ | Can.RUN
[Can.READ in both, Can.WRITE in both, (both & ~Can.READ).name, both.value]
""",
        "[True, False, 'RUN', 5]",
    ),
    "enum of texts": (
        """
from enum import StrEnum
class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"
[Size("s").name, f"{Size.LARGE}", Size.SMALL == "s"]
""",
        "['SMALL', 'l', True]",
    ),
    "dataclass with slots and keywords": (
        """
from dataclasses import dataclass, field, asdict
@dataclass(slots=True, kw_only=True)
class Order:
    id: int
    tags: list[str] = field(default_factory=list)
one, two = Order(id=1), Order(id=2, tags=["new"])
one.tags.append("old")
[asdict(one), asdict(two)]
""",
        "[{'id': 1, 'tags': ['old']}, {'id': 2, 'tags': ['new']}]",
    ),
    "coroutine by send": (
        """
def average():
    total = count = 0
    mean = None
    while True:
        value = yield mean
        total += value
        count += 1
        mean = total / count
running = average()
next(running)
[running.send(value) for value in (10, 20, 60)]
""",
        "[10.0, 15.0, 30.0]",
    ),
    "generator pipeline": (
        """
def numbers(text):
    for line in text.splitlines():
        yield from line.split()
def evens(words):
    return (int(word) for word in words if int(word) % 2 == 0)
list(evens(numbers("1 2 3\\n4 5 6")))
""",
        "[2, 4, 6]",
    ),
    "generator that cleans up": (
        """
log = []
def source():
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")
items = source()
log.append(next(items))
items.close()
log
""",
        "[1, 'closed']",
    ),
    "closure that counts": (
        """
def counter(start=0):
    def step(by=1):
        nonlocal start
        start += by
        return start
    return step
count = counter(5)
(count(), count(10), count())
""",
        "(6, 16, 17)",
    ),
    "closures of a loop": (
        """
late = [lambda: i for i in range(3)]
early = [lambda i=i: i for i in range(3)]
[[f() for f in late], [f() for f in early]]
""",
        "[[2, 2, 2], [0, 1, 2]]",
    ),
    "decorator with arguments": (
        """
import functools
def retry(times):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args):
            for attempt in range(1, times + 1):
                try:
                    return function(*args, attempt)
                except RuntimeError:
                    continue
            raise RuntimeError(f"failed {times} times")
        return wrapper
    return decorate
@retry(3)
def flaky(name, attempt):
    if attempt < 3:
        raise RuntimeError
    return f"{name} after {attempt}"
[flaky("upload"), flaky.__name__]
""",
        "['upload after 3', 'flaky']",
    ),
    "positional and keyword only": (
        """
def area(width, height, /, *, unit="cm"):
    return f"{width * height} {unit}2"
try:
    area(width=1, height=2)
except TypeError:
    refused = True
[area(2, 3), area(2, 3, unit="m"), refused]
""",
        "['6 cm2', '6 m2', True]",
    ),
    "deep recursion": (
        """
import sys
sys.setrecursionlimit(20_000)
def depth(n): return n and 1 + depth(n - 1)
depth(5_000)
""",
        "5000",
    ),
    "memoised fibonacci": (
        """
from functools import lru_cache
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(120)
""",
        "5358359254990966640871840",
    ),
    "finally and return": (
        """
def which():
    for word in ("first", "second"):
        try:
            return word
        finally:
            seen.append(word)
seen = []
[which(), seen]
""",
        "['first', ['first']]",
    ),
    "exception chain": (
        """
class ConfigError(Exception): pass
def load(text):
    try:
        return int(text)
    except ValueError as error:
        error.add_note("while reading the port")
        raise ConfigError("bad port") from error
try:
    load("80a")
except ConfigError as error:
    found = [str(error), type(error.__cause__).__name__, error.__cause__.__notes__]
found
""",
        "['bad port', 'ValueError', ['while reading the port']]",
    ),
    "exception groups by kind": (
        """
found = []
try:
    raise ExceptionGroup("many", [ValueError(1), ExceptionGroup("in", [KeyError("k"), ValueError(2)])])
except* ValueError as group:
    found.append(sum(len(e.exceptions) if isinstance(e, ExceptionGroup) else 1 for e in group.exceptions))
except* KeyError:
    found.append("key")
found
""",
        "[2, 'key']",
    ),
    "exit stack": (
        """
from contextlib import ExitStack, contextmanager
log = []
@contextmanager
def step(name):
    log.append(f"+{name}")
    yield
    log.append(f"-{name}")
with ExitStack() as stack:
    for name in "abc":
        stack.enter_context(step(name))
log
""",
        "['+a', '+b', '+c', '-c', '-b', '-a']",
    ),
    "match on records": (
        """
def route(event):
    match event:
        case {"type": "order", "items": [first, *rest], **extra} if not rest:
            return f"one {first}, {sorted(extra)}"
        case {"type": "order", "items": [_, _, *_] as items}:
            return f"{len(items)} items"
        case {"type": ("cancel" | "refund") as kind}:
            return kind
        case (int() | float()) as amount:
            return f"amount {amount}"
    return "?"
[route({"type": "order", "items": ["tea"], "id": 1}), route({"type": "order", "items": [1, 2, 3]}),
 route({"type": "refund"}), route(2.5), route(None)]
""",
        "[\"one tea, ['id']\", '3 items', 'refund', 'amount 2.5', '?']",
    ),
    "comprehension of pairs": (
        """
sizes, colours = ["s", "m"], ["red", "blue"]
{(size, colour): len(size + colour) for size in sizes for colour in colours if colour != "blue" or size == "m"}
""",
        "{('s', 'red'): 4, ('m', 'red'): 4, ('m', 'blue'): 5}",
    ),
    "nested default dicts": (
        """
from collections import defaultdict
tree = defaultdict(lambda: defaultdict(int))
for city, kind, amount in [("Rome", "tea", 2), ("Rome", "cups", 1), ("Oslo", "tea", 4), ("Rome", "tea", 3)]:
    tree[city][kind] += amount
{city: dict(kinds) for city, kinds in tree.items()}
""",
        "{'Rome': {'tea': 5, 'cups': 1}, 'Oslo': {'tea': 4}}",
    ),
    "priority queue": (
        """
import heapq
graph = {"a": {"b": 7, "c": 3}, "b": {"d": 2}, "c": {"b": 1, "d": 8}, "d": {}}
best, queue = {}, [(0, "a")]
while queue:
    cost, node = heapq.heappop(queue)
    if node in best:
        continue
    best[node] = cost
    for other, step in graph[node].items():
        heapq.heappush(queue, (cost + step, other))
best
""",
        "{'a': 0, 'c': 3, 'b': 4, 'd': 6}",
    ),
    "topological order": (
        """
from graphlib import TopologicalSorter
list(TopologicalSorter({"ship": {"pack"}, "pack": {"pick"}, "pick": {"order"}}).static_order())
""",
        "['order', 'pick', 'pack', 'ship']",
    ),
    "bisect and insort": (
        """
from bisect import bisect_left, insort
grades = [60, 70, 80, 90]
insort(grades, 75)
[grades, "FDCBA"[bisect_left([60, 70, 80, 90], 85)]]
""",
        "[[60, 70, 75, 80, 90], 'B']",
    ),
}
