"""The runs of a journal that is kept as a file of each version: ``python -m tests.journal.kept_runs FILE`` writes it.

The tools of `continuing_tools` resume them later, and fail if a call that has its record would run again.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta
from typing import Annotated, Any, Final

from ez_ptc import Journal, Sensitive, Tool, Toolkit, ez_tool

__all__ = ["STATES", "continuing_tools", "main"]

STATES: Final = {
    "done": "done",
    "failed": "failed",
    "abandoned": "failed",
    "threads": "paused",
    "branches": "paused",
    "secret": "paused",
    "killed": "outcome_unknown",
}
"""The states of the kept runs, by their ids; a session has two more, of which the second is paused."""

_PROGRAMS: Final = {
    "pruned": "effect('p')",
    "done": "print(effect('a'), look('b'), len(effect('x' * 5000)))",
    "failed": "print(effect('a'))\neffect('b')['key']",
    "abandoned": "print(transfer('a', 1))",
    "threads": """
from concurrent.futures import ThreadPoolExecutor, as_completed
with ThreadPoolExecutor(3) as pool:
    print([future.result() for future in as_completed([pool.submit(effect, name) for name in "abc"])])
print(transfer("d", 5))
""",
    "branches": """
import random, time, uuid
print(parallel(*[lambda name=name: (effect(name), random.random(), time.time(), str(uuid.uuid4())) for name in "abc"]))
print(parallel(lambda: transfer("d", 5), lambda: look("e")), random.random())
""",
    "secret": "print(look('door'), unlock('door', str(2000 + 17)))",
    "killed": "print(effect('a'))\nprint(effect('killed'))",
}


@ez_tool
def effect(name: str) -> str:
    """Do something that must happen once; die before the result of 'killed'."""
    if name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{name}!"


@ez_tool(read_only=True)
def look(name: str) -> str:
    """Look at something."""
    return f"{name}?"


@ez_tool(requires_approval=True)
def transfer(name: str, amount: int) -> str:
    """Do something that must be approved."""
    return f"{name} {amount}!"


@ez_tool(requires_approval=True)
def unlock(door: str, code: Annotated[str, Sensitive]) -> str:
    """Unlock a door."""
    return f"{door} {len(code)}!"


def continuing_tools() -> list[Tool[..., Any]]:
    """Return the same tools, of which only those that wait for an approval may run."""

    @ez_tool(name="effect")
    def repeated_effect(name: str) -> str:
        """Do something that must happen once; die before the result of 'killed'."""
        message = f"{name} would happen twice"
        raise AssertionError(message)

    @ez_tool(name="look", read_only=True)
    def repeated_look(name: str) -> str:
        """Look at something."""
        if name == "e":  # beside a call that waits, it may be asked for again
            return "e?"
        message = f"{name} was looked at before"
        raise AssertionError(message)

    return [repeated_effect, repeated_look, transfer, unlock]


def main(path: str) -> None:
    """Write the runs to a new file of the present version."""
    pid = os.fork()
    if not pid:
        with Toolkit([effect, look, transfer, unlock], journal=Journal(path)) as toolkit:
            toolkit.execute(_PROGRAMS["killed"], run_id="killed")
        os._exit(1)
    os.waitpid(pid, 0)
    with Journal(path) as journal, Toolkit([effect, look, transfer, unlock], journal=journal) as toolkit:
        for name, program in _PROGRAMS.items():
            if name != "killed":
                toolkit.execute(program, run_id=name)
            if name == "pruned":
                journal.prune(timedelta(0))
        journal.abandon("abandoned", "no use")
        with toolkit.session() as session:
            session.execute("first = effect('s')")
            session.execute("print(first, transfer('t', 2))")


if __name__ == "__main__":
    main(*sys.argv[1:])
