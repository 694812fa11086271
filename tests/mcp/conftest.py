"""What the tests of MCP share: servers as processes, and a look at those that are left."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SERVERS = Path(__file__).parent / "servers"


@pytest.fixture
def raw_server() -> Callable[[str], list[str]]:
    """Return a function from a scenario to the command of our handwritten server."""
    return lambda scenario: [sys.executable, str(SERVERS / "raw.py"), scenario]


@pytest.fixture(autouse=True)
def no_server_is_left() -> Iterator[None]:
    """Fail a test that leaves the process of a server."""
    yield
    assert not server_processes()


def server_processes() -> list[int]:
    """Return the ids of our children that are servers and still run."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == os.getpid() and str(SERVERS).encode() in command:
            found.append(int(entry.name))
    return found
