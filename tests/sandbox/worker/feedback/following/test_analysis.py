"""Programs that run right, as models write them and as their authors try to mislead a check: none is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypedDict

import pytest

from ez_ptc import Toolkit, ez_tool


class Size(TypedDict):
    width: float
    height: float


class Product(TypedDict):
    sku: str
    name: str
    category: str
    price: float
    stock: int
    tags: list[str]
    dimensions: Size


class Order(TypedDict):
    order_id: str
    customer_id: str
    sku: str
    quantity: int
    status: str


class Customer(TypedDict):
    customer_id: str
    name: str
    email: str
    city: str


@dataclass
class Person:
    login: str
    name: str
    manager: str | None


@dataclass
class Event:
    id: int
    title: str
    start: dt.datetime
    duration: dt.timedelta
    people: list[Person]


class Point(NamedTuple):
    x: int
    y: float


LAMP: Product = {
    "sku": "A1",
    "name": "Lamp",
    "category": "home",
    "price": 20.0,
    "stock": 5,
    "tags": ["light", "sale"],
    "dimensions": {"width": 1.0, "height": 2.0},
}
CHAIR: Product = {**LAMP, "sku": "B2", "name": "Chair", "price": 80.5, "stock": 0, "tags": []}
PEN: Product = {**LAMP, "sku": "C3", "name": "Pen", "category": "office", "price": 1.5, "stock": 100}
PRODUCTS = [LAMP, CHAIR, PEN]
ORDERS: list[Order] = [
    {"order_id": "O1", "customer_id": "K1", "sku": "A1", "quantity": 2, "status": "open"},
    {"order_id": "O2", "customer_id": "K2", "sku": "C3", "quantity": 10, "status": "shipped"},
    {"order_id": "O3", "customer_id": "K1", "sku": "C3", "quantity": 1, "status": "open"},
]
CUSTOMERS: list[Customer] = [
    {"customer_id": "K1", "name": "Ann", "email": "ann@x.org", "city": "Rome"},
    {"customer_id": "K2", "name": "Ben", "email": "ben@x.org", "city": "Oslo"},
]
PEOPLE = [Person("ann", "Ann", None), Person("ben", "Ben", "ann")]
EVENTS = [
    Event(1, "Standup", dt.datetime(2024, 1, 1, 9), dt.timedelta(minutes=15), PEOPLE),
    Event(2, "Review", dt.datetime(2024, 1, 2, 14), dt.timedelta(hours=1), PEOPLE[:1]),
]


@ez_tool
def list_products(category: str | None = None) -> list[Product]:
    """List products."""
    return [product for product in PRODUCTS if category in {None, product["category"]}]


@ez_tool
def get_product(sku: str) -> Product:
    """Get a product."""
    return next(product for product in PRODUCTS if product["sku"] == sku)


@ez_tool
def list_orders(status: Literal["open", "shipped"] | None = None) -> list[Order]:
    """List orders."""
    return [order for order in ORDERS if status in {None, order["status"]}]


@ez_tool
def get_customer(customer_id: str) -> Customer:
    """Get a customer."""
    return next(customer for customer in CUSTOMERS if customer["customer_id"] == customer_id)


@ez_tool
def list_customers() -> list[Customer]:
    """List customers."""
    return CUSTOMERS


@ez_tool
def stock_level(sku: str) -> int:
    """Get a product's stock."""
    return get_product(sku)["stock"]


@ez_tool
def search(query: str, limit: int = 10) -> list[str]:
    """Search products by name."""
    return [product["sku"] for product in PRODUCTS if query.lower() in product["name"].lower()][:limit]


@ez_tool
def set_price(sku: str, price: float) -> bool:
    """Set a price."""
    return True


@ez_tool
def send_mail(to: str, subject: str, body: str = "") -> str:
    """Send mail."""
    return "sent"


@ez_tool
def list_events(day: dt.date | None = None) -> list[Event]:
    """List events."""
    return [event for event in EVENTS if day in {None, event.start.date()}]


@ez_tool
def get_event(number: int) -> Event:
    """Get an event."""
    return next(event for event in EVENTS if event.id == number)


@ez_tool
async def find_person(login: str) -> Person | None:
    """Find a person."""
    return next((person for person in PEOPLE if person.login == login), None)


@ez_tool
def now() -> dt.datetime:
    """Get the time."""
    return dt.datetime(2024, 1, 1, 8)


@ez_tool
def hours() -> dict[str, float]:
    """Get the hours by login."""
    return {"ann": 2.0, "ben": 3.5}


@ez_tool
def names() -> list[str]:
    """Get the logins."""
    return ["ann", "ben"]


@ez_tool
def bounds() -> tuple[int, str]:
    """Get the bounds."""
    return (1, "a")


@ez_tool
def where(login: str) -> Point:
    """Get a person's place."""
    return Point(1, 2.5)


@ez_tool
def free(login: str, at: dt.datetime) -> bool:
    """Ask whether a person is free."""
    return True


@ez_tool
def rank(login: str) -> int:
    """Get a person's rank."""
    return 3


@ez_tool
def create_event(title: str, start: dt.datetime, minutes: int = 30) -> int:
    """Create an event."""
    return 7


SHOP = [
    list_products,
    get_product,
    list_orders,
    get_customer,
    list_customers,
    stock_level,
    search,
    set_price,
    send_mail,
]
CALENDAR = [list_events, get_event, find_person, now, hours, names, bounds, where, free, rank, create_event]


@pytest.fixture(scope="module")
def shop() -> Iterator[Toolkit]:
    with Toolkit(SHOP) as toolkit:
        yield toolkit


@pytest.fixture(scope="module")
def calendar() -> Iterator[Toolkit]:
    with Toolkit(CALENDAR) as toolkit:
        yield toolkit


SHOP_PROGRAMS: list[str] = [
    """\
total = 0
for p in list_products():
    total += p["price"] * p["stock"]
print(f"Total: {total:.2f}")
""",
    """\
products = list_products("home")
cheap = [p for p in products if p["price"] < 50]
for p in sorted(cheap, key=lambda p: p["price"]):
    print(p["name"], p["price"])
""",
    """\
by_category = {}
for p in list_products():
    by_category.setdefault(p.category, []).append(p.name)
for category, found in sorted(by_category.items()):
    print(category, ", ".join(found))
""",
    """\
from collections import defaultdict, Counter
spent = defaultdict(float)
for o in list_orders():
    product = get_product(o["sku"])
    spent[o["customer_id"]] += product["price"] * o["quantity"]
best = max(spent.items(), key=lambda kv: kv[1])
print(get_customer(best[0])["name"], round(best[1], 2))
counts = Counter(o["status"] for o in list_orders())
print(counts.most_common(1)[0][0])
""",
    """\
def describe(p):
    size = p["dimensions"]["width"] * p["dimensions"]["height"]
    return f"{p['name']}: {size:.1f}"
print("\\n".join(describe(p) for p in list_products()))
""",
    """\
customers = {c["customer_id"]: c for c in list_customers()}
for o in list_orders("open"):
    c = customers[o["customer_id"]]
    print(o["order_id"], c["name"], c["email"].split("@")[0])
""",
    """\
low = [p for p in list_products() if p["stock"] < 10]
if low:
    body = "\\n".join(f"{p['sku']}: {p['stock']}" for p in low)
    print(send_mail("boss@x.org", "Low stock", body))
else:
    print("fine")
""",
    """\
for i, p in enumerate(list_products(), 1):
    if p["price"] > 10:
        set_price(p["sku"], round(p["price"] * 0.9, 2))
        print(i, p["sku"])
""",
    """\
skus = search("e", limit=5)
levels = parallel(*[(stock_level, s) for s in skus])
print(dict(zip(skus, levels)), sum(levels))
""",
    """\
best = None
for p in list_products():
    if best is None or p["price"] > best["price"]:
        best = p
print(best["name"] if best else "none")
""",
    """\
try:
    product = get_product("ZZ")
    print(product["name"])
except Exception as error:
    print("missing", type(error).__name__)
print(len(list_products()))
""",
    """\
import statistics
prices = [p["price"] for p in list_products()]
print(statistics.mean(prices), max(prices) - min(prices), sorted(prices)[len(prices) // 2])
""",
    """\
tags = set()
for p in list_products():
    tags.update(p["tags"])
print(sorted(tags), "sale" in tags, len(tags) > 1 and "yes" or "no")
""",
    """\
import json
rows = [{"sku": p["sku"], "value": p["price"] * p["stock"]} for p in list_products()]
rows.sort(key=lambda r: r["value"], reverse=True)
print(json.dumps(rows[:2]))
top = rows[0]
print(top["sku"].lower(), top["value"] + 1)
""",
    """\
orders = list_orders()
i = 0
while i < len(orders):
    o = orders[i]
    if o["status"] == "open":
        first = o
        break
    i += 1
else:
    first = None
print(first["order_id"] if first else "-", i)
""",
    """\
def total(order):
    return get_product(order["sku"])["price"] * order["quantity"]
def report(orders, limit=2):
    lines = []
    for o in orders[:limit]:
        lines.append(f"{o['order_id']}={total(o):.2f}")
    return "; ".join(lines)
print(report(list_orders()), report(list_orders("open"), limit=1))
""",
    """\
matrix = [[p["name"], p["stock"]] for p in list_products()]
width = max(len(row[0]) for row in matrix)
for name, stock in matrix:
    print(name.ljust(width), str(stock).rjust(5))
""",
    """\
name_of = {p.sku: p.name for p in list_products()}
for o in list_orders():
    print(f"{name_of[o.sku]:<10}|{o.quantity:>3}")
pairs = list(name_of.items())
(first_sku, first_name), *rest = pairs
print(first_sku, first_name, len(rest))
""",
    """\
for p in list_products(): print(p.get("discount", 0))
""",
    """\
ps = list_products()
for p in ps:
    for k in ("rank", "score"):
        p[k] = 1
print(ps[0]["rank"])
""",
    """\
rows = list_products()
def mark(r, k):
    r[k] = 1
for r in rows:
    mark(r, "seen")
print(rows[0]["seen"])
""",
    """\
p = get_product("A1")
p.__setitem__("m", 2)
print(p["m"])
""",
    """\
rows = list_products()
alias = rows
alias.append(dict(zip(["w"], [1])))
print(rows[-1]["w"])
""",
    """\
def add(rows):
    rows.append({"zz": 1})
r = list_products()
add(r)
print(r[-1]["zz"])
""",
    """\
def f():
    found: list[Product] = list_products()
    return len(found)
print(f())
""",
    """\
p = get_product("A1")
print(p["discount"] if {"discount"} <= set(p.keys()) else 0)
""",
    """\
p = get_product("A1")
print(p["discount"] if any(k.startswith("disc") for k in p) else 0)
""",
    """\
def has(row, key):
    return key in row
p = get_product("A1")
print(p["discount"] if has(p, "discount") else 0)
""",
    """\
def never():
    return nowhere + list_products()["x"]
print(len(list_products()))
""",
    """\
list_products()
print(1 if True else nowhere)
""",
    """\
list_products()
print("end")
exit()
nowhere()
""",
    """\
def show(x, as_list):
    if as_list:
        for i in x:
            print(i["sku"])
    else:
        print(x["sku"])
show(list_products(), True)
show(get_product("A1"), False)
""",
    """\
def show(x, as_list):
    if as_list:
        print(x[0]["sku"])
    else:
        print(x["sku"])
show(list_products(), True)
""",
    """\
def opt(p, extra=None):
    if extra:
        print(extra["x"])
    return p["name"]
print(opt(get_product("A1")))
""",
    """\
def opt(p, mode="a", extra=None):
    if mode == "b":
        print(extra["x"])
    return p["name"]
print(opt(get_product("A1")))
""",
    """\
x = list_products()
x = x[0]
x = x["name"]
x = len(x)
print(x + 1)
""",
    """\
x = None
for p in list_products():
    if x:
        print(x["name"])
    x = p
""",
    """\
DEBUG = False
if DEBUG:
    print(undefined_thing)
print(len(list_products()))
""",
    """\
grid = [[0] * 3 for _ in range(2)]
grid[0][1] = list_products()[0]["price"]
print(grid, "a" * 3, "%s-%d" % ("x", 2), [1] + [2], {1} | {2})
""",
    """\
class Cart:
    def __init__(self):
        self.items = []
    def add(self, p):
        self.items.append(p)
        return self
    def total(self):
        return sum(p["price"] for p in self.items)
c = Cart()
for p in list_products():
    c.add(p)
print(c.total())
""",
    """\
from functools import reduce
print(reduce(lambda a, b: a + b["stock"], list_products(), 0))
""",
    """\
import heapq
h = []
for p in list_products():
    heapq.heappush(h, (p["price"], p["sku"]))
print(heapq.heappop(h)[1])
""",
    """\
from itertools import groupby
ps = sorted(list_products(), key=lambda p: p["category"])
for k, g in groupby(ps, key=lambda p: p["category"]):
    print(k, [p["name"] for p in g])
""",
    """\
from collections import namedtuple, OrderedDict, deque
Pair = namedtuple("Pair", "a b")
q = deque(Pair(p["sku"], p["stock"]) for p in list_products())
while q:
    item = q.popleft()
    print(item.a, item.b)
d = OrderedDict()
d["x"] = 1
d.move_to_end("x")
""",
    """\
p = get_product("A1")
q = {**p, "rank": 1}
r = p | {"rank": 2}
print(q["rank"], r["rank"], q["name"])
""",
    """\
p = get_product("A1")
p |= {"rank": 2}
print(p["rank"])
""",
    """\
rows = list_products()
for row in rows:
    row["value"] = row["price"] * row["stock"]
print(max(rows, key=lambda r: r["value"])["name"])
""",
    """\
match get_product("A1"):
    case {"name": n, "tags": [first, *rest]}:
        print(n, first, rest)
    case _:
        print("no")
""",
    """\
match list_products():
    case [a, *others]:
        print(a["name"], len(others))
""",
    """\
total = 0
def add(p):
    global total
    total += p["price"]
for p in list_products():
    add(p)
print(total)
""",
    """\
def counter():
    n = None
    def inc():
        nonlocal n
        n = 1 if n is None else n + 1
        return n
    return inc
c = counter()
for p in list_products():
    print(c())
""",
    """\
def gen():
    for p in list_products():
        yield p["name"], p["stock"]
for name, stock in gen():
    print(name, stock)
print(next(gen())[0])
""",
    """\
import functools
@functools.lru_cache
def level(sku):
    return stock_level(sku)
print(level("A1") + level("A1"))
""",
    """\
def deco(f):
    def inner(*a, **k):
        return f(*a, **k) or {}
    return inner
@deco
def load(sku):
    return get_product(sku)
print(load("A1")["name"])
""",
    """\
if (n := len(list_products())) > 1:
    print(n * 2)
""",
    """\
p = get_product("A1")
if isinstance(p, dict):
    print(p["name"])
else:
    print(p.foo)
""",
    """\
v = get_product("A1")["price"]
if isinstance(v, str):
    v = v.strip()
print(v)
""",
    """\
p = get_product("A1")
if "rating" in p and p["rating"] > 3:
    print("x")
print(p["name"])
""",
    """\
p = get_product("A1")
try:
    print(p["rating"])
except KeyError:
    print("none")
""",
    """\
p = get_product("A1")
try:
    print(p.rating)
except (KeyError, AttributeError):
    print("none")
finally:
    print("done")
""",
    """\
import contextlib
with contextlib.suppress(KeyError):
    print(get_product("A1")["rating"])
""",
    """\
data = {"items": list_products(), "n": 0}
data["n"] += 1
data["extra"] = "x"
print(data["items"][0]["name"], data["n"], data["extra"].upper())
""",
    """\
cfg = {"a": 1}
cfg.update(b=2)
cfg.update({"c": "x"})
print(cfg["b"] + cfg["a"], cfg["c"].upper(), len(list_products()))
""",
    """\
def fill(d, key):
    d[key] = 5
cfg = {"a": 1}
fill(cfg, "zz")
print(cfg["zz"], len(list_products()))
""",
    """\
nested = {}
for p in list_products():
    nested.setdefault(p["category"], {}).setdefault("n", 0)
    nested[p["category"]]["n"] += 1
print(nested["home"]["n"])
""",
    """\
from collections import defaultdict
d = defaultdict(lambda: {"n": 0, "skus": []})
for p in list_products():
    d[p["category"]]["n"] += 1
    d[p["category"]]["skus"].append(p["sku"])
for k, v in d.items():
    v["avg"] = v["n"] / 2
    print(k, v["avg"], v["skus"][0])
""",
    """\
from dataclasses import dataclass, field
@dataclass
class Row:
    name: str
    tags: list = field(default_factory=list)
rows = [Row(p["name"], p["tags"]) for p in list_products()]
print(rows[0].name, rows[0].tags)
""",
    """\
from enum import Enum
class Color(Enum):
    RED = 1
print(Color.RED.value, Color.RED.name, len(list_products()))
""",
    """\
a, *b = list_products()
print(a["name"], [x["sku"] for x in b])
""",
    """\
first, second, third = list_products()
print(first["name"], third["sku"])
""",
    """\
for a, b in zip(list_products(), list_orders()):
    print(a["name"], b["order_id"])
""",
    """\
for (i, p), o in zip(enumerate(list_products()), list_orders()):
    print(i + 1, p["name"], o["quantity"])
""",
    """\
print(*[p["name"] for p in list_products()], sep=", ")
print("{} {}".format(1, "a"), "{name}".format(**get_product("A1")))
""",
    """\
def fact(n):
    return 1 if n < 2 else n * fact(n - 1)
print(fact(stock_level("A1")))
""",
    """\
def walk(x):
    if isinstance(x, dict):
        return {k: walk(v) for k, v in x.items()}
    if isinstance(x, list):
        return [walk(v) for v in x]
    return str(x)
print(walk(list_products())[0]["price"].upper())
""",
    """\
ops = {"n": lambda p: p["name"], "s": lambda p: p["stock"] + 1}
for k, f in ops.items():
    print(k, f(get_product("A1")))
""",
    """\
result = {"ok": True}
result = list_products()
print(result[0]["name"])
for result in result:
    print(result["sku"])
""",
    """\
x = 5
x = [x]
x.append(6)
x = {"v": x}
print(x["v"][0], len(list_products()))
""",
    """\
import datetime
today = datetime.date.today()
print((datetime.datetime.now() - datetime.timedelta(days=1)).year > 2000, today.year > 2000, len(list_products()))
""",
    """\
items = list_products()
del items[0]
p = items.pop()
print(p["name"], len(items))
items.insert(0, {"name": "x"})
print(items[0]["name"])
""",
    """\
try:
    import numpy as np
except ImportError:
    np = None
print(np.mean([1]) if np else sum(p["stock"] for p in list_products()))
""",
    """\
import re
m = re.match(r"(\\w+)@(\\w+)", get_customer("K1")["email"])
if m:
    print(m.group(1), m[2])
user, domain = get_customer("K1")["email"].split("@")
print(user, domain)
""",
    """\
def safe(f, *args, default=None):
    try:
        return f(*args)
    except Exception:
        return default
print(safe(get_product, "ZZ", default={"name": "?"})["name"], safe(stock_level, "A1") + 1)
""",
    """\
with_errors = []
for sku in ["A1", "ZZ"]:
    try:
        p = get_product(sku)
    except Exception as e:
        with_errors.append(str(e))
        continue
    print(p["name"])
print(len(with_errors))
""",
    """\
print((lambda ps: ps[0]["name"])(list_products()))
print([*map(lambda p: p["name"].upper(), list_products())])
""",
    """\
acc = []
acc += [p["name"] for p in list_products()]
acc += ("x",)
acc.extend(str(i) for i in range(2))
print("".join(acc))
""",
    """\
prices = {}
for p in list_products():
    prices[p["sku"]] = p["price"]
for sku in prices:
    prices[sku] = f"{prices[sku]:.2f}"
print(prices["A1"].replace(".", ","))
""",
    """\
rows = [list_products()[0], None]
for r in rows:
    print(r["name"] if r else "-")
for r in filter(None, rows):
    print(r["name"])
""",
    """\
rows = [[1, "a"], [2, "b"]]
for n, s in rows:
    print(n + 1, s.upper(), len(list_products()))
""",
    """\
pair = (list_products()[0], 3)
p, n = pair
print(p["name"] * n)
x = y = 0
x, y = y + 1, x
print(x - y)
""",
    """\
def f(*args, **kwargs):
    print(args[0]["name"], kwargs["n"] + 1)
f(get_product("A1"), n=2)
f(*[get_product("A1")], **{"n": 3})
""",
    """\
class R(dict):
    def __getattr__(self, k):
        return self[k]
r = R(get_product("A1"), extra=1)
print(r.extra, r.name)
""",
    """\
class V:
    def __init__(self, x):
        self.x = x
    def __add__(self, o):
        return V(self.x + o.x)
    def __getitem__(self, i):
        return self.x
v = V(1) + V(2)
print(v.x, v["a"], len(list_products()))
""",
    """\
import asyncio
async def one(s):
    return get_product(s)["name"]
print(await asyncio.gather(one("A1"), one("B2")))
""",
    """\
ps = list_products()
ps.sort(key=lambda p: (-p["stock"], p["name"]))
print([p["name"] for p in reversed(ps)], ps[::-1][0]["name"], ps[-1]["sku"])
""",
    """\
ks = list(get_product("A1"))
print(ks[0], [k for k in get_product("A1").keys()], [type(v).__name__ for v in get_product("A1").values()])
""",
    """\
for k, v in get_product("A1").items():
    if isinstance(v, (int, float)):
        print(k, v + 1)
    elif k == "tags":
        print(v[0])
""",
    """\
import random
random.seed(1)
ps = list_products()
random.shuffle(ps)
print(random.choice(ps)["name"] != "", random.randint(1, 2) > 0)
""",
    """\
x = "5"
x = int(x)
print(x + stock_level("A1"), float("2.5") * 2, round(2.567, 1), abs(-3), int(2.7) // 2)
""",
    """\
sep = "-" * 20
print(sep + "\\n" + "x".center(10, "*"), not list_products(), -stock_level("A1"), 3 > 2 > 1)
""",
    """\
def outer():
    rows = []
    def inner(p):
        rows.append({"n": p["name"]})
    for p in list_products():
        inner(p)
    return rows
print(outer()[0]["n"])
""",
    """\
lookup = dict((p["sku"], p) for p in list_products())
print(lookup["A1"]["name"], lookup.get("zz", {}).get("name"))
""",
    """\
top = sorted(list_products(), key=lambda p: p["price"])[-1:]
for p in top:
    print(p["name"])
print(any(p["stock"] == 0 for p in list_products()))
print(next((p["name"] for p in list_products() if p["stock"] > 50), None))
""",
    """\
exec("made = 1")
print(made, len(list_products()))
""",
    """\
xs = [p["price"] for p in list_products()]
xs = xs + [1] if xs else None
print(xs[0] if xs else 0)
""",
    """\
state = {"step": 0}
def bump():
    state["step"] += 1
    state["last"] = get_product("A1")
bump()
print(state["last"]["name"], state["step"] + 1)
""",
    """\
obj = get_product("A1")
for path in ["dimensions", "width"]:
    obj = obj[path]
print(obj)
""",
    """\
value = get_product("A1")
value = value["name"] if value["stock"] > 100 else value["stock"]
print(value)
""",
    """\
names_only = True
rows = list_products()
if names_only:
    rows = [r["name"] for r in rows]
for r in rows:
    print(r.upper() if names_only else r["name"])
""",
    """\
def show(x, mode):
    if mode == "list":
        print(x[0]["sku"])
    else:
        print(x["sku"])
show(list_products(), "list")
show(get_product("A1"), mode="one")
""",
    """\
kind = "list"
x = list_products()
if kind == "one":
    print(x["sku"])
elif kind in ("list", "rows"):
    print(x[0]["sku"])
""",
]

CALENDAR_PROGRAMS: list[str] = [
    """\
for e in list_events():
    end = e.start + e.duration
    print(e.title, e.start.strftime("%H:%M"), end.isoformat(), len(e.people))
""",
    """\
import asyncio
people = await asyncio.gather(*[find_person(n) for n in names()])
print([p.name for p in people if p])
""",
    """\
events = list_events()
gap = events[1].start - events[0].start
print(gap.days, gap.total_seconds() / 3600, (now() - events[0].start).days)
soon = [e for e in events if e.start > now()]
print(min(soon, key=lambda e: e.start).title)
""",
    """\
p = await find_person("ben")
if p is not None and p.manager:
    m = await find_person(p.manager)
    print(m.name if m else "?")
""",
    """\
from datetime import datetime, timedelta, date
start = datetime(2024, 1, 3, 9)
if all(free(n, start) for n in names()):
    print(create_event("Sync", start + timedelta(days=1), minutes=45))
print(date(2024, 1, 1) + timedelta(days=2), (start - timedelta(hours=1)).hour)
""",
    """\
total = sum(hours().values())
for who, h in hours().items():
    print(f"{who:>5} {h / total:.0%}")
longest = max(hours(), key=hours().get)
print(longest.upper(), hours()[longest])
""",
    """\
n, label = bounds()
print(n + 1, label.upper())
x, y = where("ann")
print(x + y, where("ben").x, where("ben")[1])
""",
    """\
attend = {}
for e in list_events():
    for person in e.people:
        attend[person.login] = attend.get(person.login, 0) + 1
print(sorted(attend.items(), key=lambda kv: (-kv[1], kv[0])))
""",
    """\
async def load(login):
    person = await find_person(login)
    return (login, person.name if person else None)
async def main():
    found = []
    for login in names():
        found.append(await load(login))
    return found
for login, name in await main():
    print(login, name)
""",
    """\
ranks = [rank(n) for n in names()]
print(sum(ranks) / len(ranks), [r ** 2 for r in ranks], divmod(ranks[0], 2))
words = " ".join(n.title() for n in names()).split()
print(words[0][:2], words[-1].endswith("n"))
""",
    """\
e = get_event(1)
e.note = "x"
print(e.note, e["title"])
""",
    """\
h = hours()
h["all"] = sum(h.values())
h["note"] = "x"
print(h["all"])
for k in h:
    print(k.upper())
""",
    """\
pt = where("ann")
for v in pt:
    print(v + 1)
print(len(pt), pt._asdict() if hasattr(pt, "_asdict") else pt)
""",
    """\
s = {where("ann"), where("ben")}
print(len(s))
""",
    """\
p = await find_person("zz")
print(p.name if p else "nobody")
q = await find_person("ann")
print(q.manager or "boss", (q.manager or "x").upper())
""",
    """\
e = get_event(2)
lines = [f"{e.start:%d.%m.}"]
lines.append(str(e.duration))
lines.append(f"{e.duration.total_seconds() // 60:.0f}")
print(" ".join(lines), e.start.replace(hour=1).hour, e.start.date() < now().date())
""",
    """\
import datetime as dt
d = now().date()
while d < dt.date(2024, 1, 4):
    print(d.isoformat(), len(list_events(d)))
    d += dt.timedelta(days=1)
""",
    """\
slots = {}
for e in list_events():
    day = e.start.date()
    slots.setdefault(day, []).append((e.start.time(), e.title))
for day in sorted(slots):
    for t, title in sorted(slots[day]):
        print(day, t, title)
""",
    """\
a, b = 1, "x"
a, b = b, a
print(a.upper(), b + 1, rank("ann"))
""",
    """\
total = hours()["ann"] + rank("ann")
total = str(total) + "h"
print(total.endswith("h"))
""",
    """\
import asyncio
async def main():
    p = await find_person("ann")
    return p
person = asyncio.run(main()) if False else await main()
print(person.name)
""",
]


@pytest.mark.parametrize("program", SHOP_PROGRAMS)
def test_right_program_over_records_runs(shop: Toolkit, program: str) -> None:
    assert shop.check(program) == []
    result = shop.execute(program)
    assert result.success, result.error_output


@pytest.mark.parametrize("program", CALENDAR_PROGRAMS)
def test_right_program_over_objects_runs(calendar: Toolkit, program: str) -> None:
    assert calendar.check(program) == []
    result = calendar.execute(program)
    assert result.success, result.error_output
