"""Programs whose parts run side by side, in the nine ways there are, and tools that take their time."""

from __future__ import annotations

import random
import time
from typing import Any, Final

import anyio

from ez_ptc import Tool, ez_tool
from tests.journal.programs import Effects

__all__ = ["PATTERNS", "slow_tools"]

_BEGINNING: Final = """
import asyncio, threading, queue, uuid, random, time
from concurrent.futures import ThreadPoolExecutor, as_completed, wait, FIRST_COMPLETED
"""
_END: Final = "\nprint(pay(1))\n"

_BODIES: Final = {
    "as_completed": """
with ThreadPoolExecutor(4) as ex:
    for f in as_completed([ex.submit(find, i) for i in range(6)]): print(note(f.result()))
""",
    "wait": """
with ThreadPoolExecutor(4) as ex:
    todo = {ex.submit(find, i) for i in range(6)}
    while todo:
        done, todo = wait(todo, return_when=FIRST_COMPLETED)
        for f in done: print(note(f.result()))
""",
    "asyncio.as_completed": """
async def m():
    for f in asyncio.as_completed([afind(i) for i in range(6)]): print(await anote(await f))
asyncio.run(m())
""",
    "asyncio.wait": """
async def m():
    todo = {asyncio.create_task(afind(i)) for i in range(6)}
    while todo:
        done, todo = await asyncio.wait(todo, return_when=asyncio.FIRST_COMPLETED)
        for t in done: print(await anote(t.result()))
asyncio.run(m())
""",
    "task_group": """
out = []
async def one(i):
    out.append((await afind(i), time.time(), random.random(), str(uuid.uuid4())))
    await anote(len(out))
async def m():
    async with asyncio.TaskGroup() as g:
        for i in range(6): g.create_task(one(i))
asyncio.run(m())
print(out)
""",
    "timeouts": """
async def one(i):
    try:
        async with asyncio.timeout(0.03): return await afind(i)
    except TimeoutError: return await anote(100 + i)
async def two(i):
    try: return await asyncio.wait_for(asyncio.to_thread(find, i), 0.03)
    except asyncio.TimeoutError: return await anote(200 + i)
async def m(): print(await asyncio.gather(*map(one, range(4)), *map(two, range(4, 8))))
asyncio.run(m())
""",
    "queues": """
q = queue.Queue(); out = queue.Queue()
def w():
    while (x := q.get()) is not None: out.put((find(x), time.monotonic()))
ts = [threading.Thread(target=w) for _ in range(3)]
[t.start() for t in ts]
for i in range(8): q.put(i)
for _ in ts: q.put(None)
[t.join() for t in ts]
while not out.empty(): print(out.get(), note(out.qsize()))
async def worker(q, r):
    while True:
        x = await q.get()
        r.append(await afind(x)); q.task_done()
async def m():
    q = asyncio.Queue(); r = []
    ws = [asyncio.create_task(worker(q, r)) for _ in range(3)]
    for i in range(10, 16): q.put_nowait(i)
    await q.join()
    for t in ws: t.cancel()
    print(r)
asyncio.run(m())
""",
    "lists": """
out = []
def branch(i):
    out.append((i, find(i), time.time(), uuid.uuid4().hex, random.random(), __import__('secrets').token_hex(4)))
    out.append(note(len(out)))
parallel(*[(branch, i) for i in range(6)])
print(out)
""",
    "sets": """
class A:
    def __init__(s, i): s.i = i
async def m():
    fs = {ex.submit(find, i) for i in range(4)}
    ts = {asyncio.create_task(afind(i)) for i in range(4, 8)}
    await asyncio.wait(ts)
    for f in fs: print(note(f.result()))
    for t in ts: print(await anote(t.result()))
with ThreadPoolExecutor(4) as ex: asyncio.run(m())
for a in {A(i) for i in range(5)}: print(note(a.i + 20))
""",
}
PATTERNS: Final = {name: _BEGINNING + body + _END for name, body in _BODIES.items()}


def slow_tools(effects: Effects, chance: random.Random) -> list[Tool[..., Any]]:
    """Return tools that take a random time, and one that waits for an approval."""

    @ez_tool(read_only=True)
    def find(i: int) -> int:
        """Find something."""
        time.sleep(chance.random() * 0.06)
        return i

    @ez_tool
    def note(i: int) -> str:
        """Note something, once."""
        time.sleep(chance.random() * 0.01)
        effects.happen(f"note {i}")
        return f"noted {i}"

    @ez_tool(read_only=True)
    async def afind(i: int) -> int:
        """Find something."""
        await anyio.sleep(chance.random() * 0.06)
        return i

    @ez_tool
    async def anote(i: int) -> str:
        """Note something, once."""
        effects.happen(f"anote {i}")
        return f"noted {i}"

    @ez_tool(requires_approval=True)
    def pay(i: int) -> str:
        """Pay, after an approval."""
        effects.happen(f"pay {i}")
        return f"paid {i}"

    return [find, note, afind, anote, pay]
