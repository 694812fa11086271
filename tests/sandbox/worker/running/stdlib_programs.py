"""More of the same as in `programs`, over the standard library."""

from __future__ import annotations

__all__ = ["STDLIB_PROGRAMS"]

STDLIB_PROGRAMS: dict[str, tuple[str, str]] = {
    "months in a calendar": (
        """
from datetime import date, timedelta
day, found = date(2024, 1, 31), []
while day < date(2024, 6, 1):
    found.append(day.isoformat())
    day = (day.replace(day=1) + timedelta(days=62)).replace(day=1) - timedelta(days=1)
found
""",
        "['2024-01-31', '2024-02-29', '2024-03-31', '2024-04-30', '2024-05-31']",
    ),
    "a clock that goes forward": (
        """
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo
berlin = ZoneInfo("Europe/Berlin")
before = datetime(2024, 3, 31, 1, 30, tzinfo=berlin)
after = datetime.fromtimestamp(before.timestamp() + 3600, berlin)
[before.utcoffset() == timedelta(hours=1), after.isoformat()]
""",
        "[True, '2024-03-31T03:30:00+02:00']",
    ),
    "dates that cross": (
        """
from datetime import date, datetime, time, timedelta, timezone
[date(2024, 2, 29), datetime(2024, 1, 1, tzinfo=timezone.utc), time(9, 30), timedelta(days=-1, seconds=5)]
""",
        (
            "[datetime.date(2024, 2, 29), datetime.datetime(2024, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), "
            "datetime.time(9, 30), datetime.timedelta(days=-1, seconds=5)]"
        ),
    ),
    "money": (
        """
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
with localcontext() as context:
    context.prec = 28
    total = sum(Decimal(price) * count for price, count in [("19.99", 3), ("0.05", 7)])
[total, total.quantize(Decimal("0.1"), rounding=ROUND_HALF_EVEN)]
""",
        "[Decimal('60.32'), Decimal('60.3')]",
    ),
    "fractions": ("from fractions import Fraction\nstr(sum(Fraction(1, n) for n in range(1, 11)))\n", "'7381/2520'"),
    "complex numbers": ("import cmath\nstr(complex(3, 4) * 1j), round(abs(3 + 4j), 3)\n", "('(-4+3j)', 5.0)"),
    "statistics of a table": (
        """
import csv, io, statistics
text = "name,hours\\nann,7.5\\nbob,8\\nann,6.5\\n"
rows = list(csv.DictReader(io.StringIO(text)))
hours = {}
for row in rows:
    hours.setdefault(row["name"], []).append(float(row["hours"]))
{name: statistics.fmean(values) for name, values in hours.items()}
""",
        "{'ann': 7.0, 'bob': 8.0}",
    ),
    "json both ways": (
        """
import json
text = json.dumps({"b": [1, None, True], "a": {"é": 1.5}}, sort_keys=True, ensure_ascii=False)
[text, json.loads(text)["a"], json.loads("[1e3]")]
""",
        '[\'{"a": {"é": 1.5}, "b": [1, null, true]}\', {\'é\': 1.5}, [1000.0]]',
    ),
    "toml": (
        """
import tomllib
settings = tomllib.loads('[server]\\nport = 80\\nhosts = ["a", "b"]\\nsince = 2024-01-02')
settings["server"]
""",
        "{'port': 80, 'hosts': ['a', 'b'], 'since': datetime.date(2024, 1, 2)}",
    ),
    "xml": (
        """
import xml.etree.ElementTree as ET
root = ET.fromstring("<shop><item sku='t1'>tea</item><item sku='c9'>cups</item></shop>")
{item.get("sku"): item.text for item in root.iter("item")}
""",
        "{'t1': 'tea', 'c9': 'cups'}",
    ),
    "hashes": (
        """
import base64, hashlib, hmac
digest = hashlib.sha256(b"tea").hexdigest()[:16]
signed = hmac.new(b"key", b"tea", hashlib.sha1).hexdigest()[:8]
[digest, signed, base64.b64encode(b"tea & cups").decode()]
""",
        "['a9f74d1ec36ebdeb', 'e8a2ed20', 'dGVhICYgY3Vwcw==']",
    ),
    "bytes in a struct": (
        """
import struct
packed = struct.pack(">HIb", 513, 70000, -2)
[packed.hex(), struct.unpack(">HIb", packed), int.from_bytes(packed[:2], "little")]
""",
        "['020100011170fe', (513, 70000, -2), 258]",
    ),
    "a zip in memory": (
        """
import io, zipfile
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("a.txt", "tea " * 100)
with zipfile.ZipFile(buffer) as archive:
    found = [(info.filename, info.file_size) for info in archive.infolist()], archive.read("a.txt")[:4]
found
""",
        "([('a.txt', 400)], b'tea ')",
    ),
    "a database in memory": (
        """
import sqlite3
db = sqlite3.connect(":memory:")
db.execute("create table sales (city text, amount real)")
db.executemany("insert into sales values (?, ?)", [("Rome", 2.5), ("Oslo", 4), ("Rome", 1)])
db.execute("select city, sum(amount) from sales group by city order by 2 desc").fetchall()
""",
        "[('Oslo', 4.0), ('Rome', 3.5)]",
    ),
    "words of a text": (
        """
import re
from collections import Counter
text = "The tea, the cups and THE pot. Tea?"
Counter(re.findall(r"[a-z]+", text.lower())).most_common(2)
""",
        "[('the', 3), ('tea', 2)]",
    ),
    "a pattern with looks around": (
        r"""
import re
[re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", "1234567"), re.findall(r"(?i)\bERROR\b(?!:)", "error: x, Error y")]
""",
        "['1,234,567', ['Error']]",
    ),
    "differences of texts": (
        """
import difflib
lines = difflib.unified_diff(["a", "b"], ["a", "c"], lineterm="", n=0)
[*list(lines)[2:], *difflib.get_close_matches("wether", ["weather", "feather", "leather"], n=1)]
""",
        "['@@ -2 +2 @@', '-b', '+c', 'weather']",
    ),
    "normal forms of texts": (
        """
import unicodedata
[len(unicodedata.normalize("NFD", "é")), unicodedata.name("☕"), "ǅ".swapcase(), "İ".lower().encode()]
""",
        "[2, 'HOT BEVERAGE', 'ǅ', b'i\\xcc\\x87']",
    ),
    "seeded random numbers": (
        "import random\nrandom.seed(1)\n[random.randint(1, 6) for _ in range(5)]\n",
        "[2, 5, 1, 3, 1]",
    ),
    "an iterator in batches": (
        """
from itertools import islice
def batches(items, size):
    items = iter(items)
    while batch := tuple(islice(items, size)):
        yield batch
list(batches(range(7), 3))
""",
        "[(0, 1, 2), (3, 4, 5), (6,)]",
    ),
    "operators": (
        """
from operator import attrgetter, itemgetter, methodcaller
rows = [{"n": "b", "v": 1}, {"n": "a", "v": 2}]
[sorted(rows, key=itemgetter("n"))[0]["v"], methodcaller("split", ",")("a,b"), attrgetter("real")(3)]
""",
        "[2, ['a', 'b'], 3]",
    ),
    "threads and a lock": (
        """
import threading
total, lock = 0, threading.Lock()
def work():
    global total
    for _ in range(100):
        with lock:
            total += 1
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
total
""",
        "800",
    ),
    "a pool of threads": (
        """
from concurrent.futures import ThreadPoolExecutor, as_completed
with ThreadPoolExecutor(4) as pool:
    squares = list(pool.map(lambda n: n * n, range(5)))
    done = sorted(future.result() for future in as_completed([pool.submit(pow, 2, n) for n in range(3)]))
[squares, done]
""",
        "[[0, 1, 4, 9, 16], [1, 2, 4]]",
    ),
    "a queue between tasks": (
        """
import asyncio
async def produce(queue):
    for n in range(3):
        await queue.put(n)
    await queue.put(None)
async def consume(queue):
    found = []
    while (item := await queue.get()) is not None:
        found.append(item * 10)
    return found
async def main():
    queue = asyncio.Queue(maxsize=1)
    _, found = await asyncio.gather(produce(queue), consume(queue))
    return found
asyncio.run(main())
""",
        "[0, 10, 20]",
    ),
    "await at the top": (
        """
import asyncio
async def double(n):
    await asyncio.sleep(0)
    return n * 2
results = [await double(n) for n in range(3)]
async with asyncio.timeout(5):
    results.append(await double(21))
results
""",
        "[0, 2, 4, 42]",
    ),
    "a semaphore over tasks": (
        """
import asyncio
running = most = 0
async def work(gate):
    global running, most
    async with gate:
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
async def main():
    gate = asyncio.Semaphore(2)
    await asyncio.gather(*(work(gate) for _ in range(6)))
asyncio.run(main())
most
""",
        "2",
    ),
    "paths without files": (
        """
from pathlib import PurePosixPath
path = PurePosixPath("/srv/data/orders.2024.csv")
[path.stem, path.suffixes, str(path.with_suffix(".json")), path.parts[1], path.is_relative_to("/srv")]
""",
        "['orders.2024', ['.2024', '.csv'], '/srv/data/orders.2024.json', 'srv', True]",
    ),
    "arguments of a command": (
        """
import argparse, shlex
parser = argparse.ArgumentParser()
parser.add_argument("city")
parser.add_argument("--days", type=int, default=1)
vars(parser.parse_args(shlex.split("'New York' --days 3")))
""",
        "{'city': 'New York', 'days': 3}",
    ),
    "the syntax tree of an expression": (
        """
import ast
tree = ast.parse("price * (1 + tax)", mode="eval")
[sorted(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)), ast.unparse(tree)]
""",
        "[['price', 'tax'], 'price * (1 + tax)']",
    ),
    "a pickled copy": (
        """
import copy, pickle
old = {'a': [1, {2}]}
new = pickle.loads(pickle.dumps(old))
old['a'].append(3)
[new, copy.deepcopy(old) == old]
""",
        "[{'a': [1, {2}]}, True]",
    ),
    "names that need no import": ("[json.dumps([1]), math.floor(2.5), bool(re.match('a', 'abc'))]", "['[1]', 2, True]"),
    "a program that prints and has no value": ("print('done')\nx = 1\n", "None"),
}
