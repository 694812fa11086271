"""The module that actors import in these tests."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ez_ptc import Context, ToolError, Toolkit, ez_tool

EFFECTS = "EZ_PTC_RAY_EFFECTS"
"""The variable with the file of effects: an actor is another process, perhaps one that is killed."""


@dataclass(frozen=True)
class Item:
    """An item of the shop."""

    name: str
    price: float


@ez_tool(read_only=True)
def find_item(name: str) -> Item:
    """Find an item."""
    if name != "lamp":
        message = f"no item {name!r}"
        raise LookupError(message)
    return Item(name, 25.5)


@ez_tool
def note(text: str) -> int:
    """Note a text, and return the number of notes."""
    path = Path(os.environ[EFFECTS])
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")
    return len(path.read_text(encoding="utf-8").splitlines())


@ez_tool(read_only=True)
def wait_for_notes(count: int) -> int:
    """Wait until there are so many notes, for half a minute at most."""
    deadline = time.monotonic() + 30
    while (noted := len(Path(os.environ[EFFECTS]).read_text(encoding="utf-8").splitlines())) < count:
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)
    return noted


@ez_tool(requires_approval=True)
def buy(name: str) -> str:
    """Buy an item."""
    return f"bought {name}"


@ez_tool
def nap(seconds: float) -> str:
    """Sleep: a tool that blocks its thread."""
    time.sleep(seconds)
    return "slept"


@ez_tool
def whoami(user: Context[Any]) -> str:
    """Return the user."""
    return str(user)


@ez_tool
def process() -> int:
    """Return the process that runs the tools."""
    return os.getpid()


@ez_tool
def refuse() -> None:
    """Refuse."""
    message = "the shop is closed"
    raise ToolError(message)


toolkit = Toolkit([find_item, note, buy, nap, whoami, process, refuse])
journaled = Toolkit([find_item, note, buy, nap, whoami, process], journal=os.environ.get("EZ_PTC_RAY_JOURNAL"))
importing = Toolkit([find_item], allow_imports=["pydantic"])
number = 7
