"""What every subject is asked to do, and the tools that every subject offers to programs.

Standard library only: the peer of the same import name measures itself with these files, in its own environment.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, Protocol

__all__ = ["GRANTED_CALLS", "MEMORY", "SECONDS", "TOOLS", "Subject", "echo", "elapsed", "rows", "text"]

# The limits that this library sets by itself; a peer that has such limits gets the same.
SECONDS: Final = 30.0
MEMORY: Final = 256 << 20
GRANTED_CALLS: Final = 1_000

_TEXT: Final = "x" * 100_000
_DATA: Final = bytes(10_000_000)
_ROWS: Final[list[dict[str, object]]] = [
    {"id": number, "name": f"customer {number}", "city": "Zürich", "total": number * 1.25, "open": number % 3 == 0}
    for number in range(1_290)
]


def echo(value: int) -> int:
    """Return what it was given."""
    return value


def text() -> str:
    """Return 100,000 characters."""
    return _TEXT


def rows() -> list[dict[str, object]]:
    """Return 1,290 rows, 100 KB as JSON."""
    return _ROWS


def data() -> bytes:
    """Return 10 MB."""
    return _DATA


def accept(value: object) -> bool:
    """Take any value."""
    return value is not None


TOOLS: Final[dict[str, Callable[..., object]]] = {
    "echo": echo,
    "text": text,
    "rows": rows,
    "data": data,
    "accept": accept,
}


class Subject(Protocol):
    """A way to run a program that a model has written."""

    @property
    def offers_tools(self) -> bool:
        """Whether programs can call the tools."""
        ...

    def run(self, code: str) -> object:
        """Run a program with nothing left of an earlier one, and return the value of its last expression."""
        ...

    def session(self) -> AbstractContextManager[Callable[[str], object] | None]:
        """Open what runs programs like `run`, but with the names of those before them; None where there is no such."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


def elapsed(action: Callable[[], object]) -> float:
    """Return the seconds that ``action`` takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
