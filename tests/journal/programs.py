"""Tools whose effects are lines of a file, and programs that call them in every way a program can."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, Final

from ez_ptc import Context, DidNotHappen, Happened, Limits, PendingCall, Tool, ez_tool

__all__ = ["LIMITS", "PROGRAMS", "Effects"]

# A seed, so that the output of two runs is equal, clocks and random numbers included.
LIMITS: Final = Limits(seed=7, timeout=120)

PROGRAMS: Final = {
    "sequential": """
import random, time
print(effect("a"), charge("b"), look("c"))
print(effect("d"), random.random(), time.time())
print(transfer("e", 5))
print(effect("f"))
""",
    "parallel": """
import random
print(parallel(*[lambda n=n: effect(n) for n in "abc"], lambda: charge("d"), lambda: look("e")))
print(parallel(lambda: transfer("f", 5), lambda: effect("g")), random.random())
print(effect("h"))
""",
    "gather": """
import asyncio, uuid

async def branch(name):
    first = await asyncio.to_thread(effect, name)
    return first, await asyncio.to_thread(effect, name + "2")

async def main():
    print(await asyncio.gather(branch("a"), branch("b"), asyncio.to_thread(charge, "c")))
    print(await asyncio.gather(asyncio.to_thread(transfer, "d", 5), branch("e")), uuid.uuid4())

asyncio.run(main())
""",
    "threads": """
import concurrent.futures, threading
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    print(list(pool.map(effect, "abc")))
    futures = [pool.submit(charge, "d"), pool.submit(transfer, "e", 5), pool.submit(effect, "f")]
    print([future.result() for future in futures])
found = []
thread = threading.Thread(target=lambda: found.append(effect("g")))
thread.start()
thread.join()
print(found, look("h"))
""",
}


class Effects:
    """A file with a line for each effect, and the tools that append to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def happen(self, line: str) -> None:
        """Append a line, at once or not at all."""
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(fd, f"{line}\n".encode())
        os.close(fd)

    def lines(self) -> Counter[str]:
        """Return how often each line is there."""
        return Counter(self.path.read_text().splitlines()) if self.path.exists() else Counter()

    def distinct(self) -> Counter[str]:
        """Return the same, but charges with the same key as one: whoever is charged knows the key."""
        lines = self.lines()
        charges = {line for line in lines if line.startswith("charge ")}
        assert len({line.split()[1] for line in charges}) == len(charges), "a charge was repeated with another key"
        return Counter({line.rpartition(" key ")[0] or line: 1 if line in charges else lines[line] for line in lines})

    def settle(self, call: PendingCall) -> Happened | DidNotHappen:
        """Say what happened to a call with an unknown outcome, by looking at the file."""
        name, arguments = call.tool, call.arguments
        line = (
            f"transfer {arguments['name']} {arguments['amount']}"
            if name == "transfer"
            else f"{name} {arguments['name']}"
        )
        if line in self.lines():
            return Happened(f"{arguments['name']}!")
        return DidNotHappen()

    def tools(self, *, is_async: bool = False) -> list[Tool[..., Any]]:
        """Return the tools; some of them asynchronous, if that is wanted."""

        @ez_tool
        def effect(name: str) -> str:
            """Do something that must happen once."""
            self.happen(f"effect {name}")
            return f"{name}!"

        @ez_tool(name="effect")
        async def async_effect(name: str) -> str:
            """Do something that must happen once."""
            self.happen(f"effect {name}")
            return f"{name}!"

        @ez_tool(idempotent=True)
        def charge(name: str, context: Context) -> str:
            """Do something that may be repeated with the same key."""
            self.happen(f"charge {name} key {context.idempotency_key}")
            return f"{name}!"

        @ez_tool(read_only=True)
        def look(name: str) -> str:
            """Look at something."""
            return f"{name}?"

        @ez_tool(requires_approval=True)
        def transfer(name: str, amount: int) -> str:
            """Do something that must be approved."""
            self.happen(f"transfer {name} {amount}")
            return f"{name}!"

        return [async_effect if is_async else effect, charge, look, transfer]
