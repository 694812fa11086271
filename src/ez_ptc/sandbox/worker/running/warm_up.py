"""Dummy programs for the warm-up: CPython specializes code that has run, and caches its lookups."""

from __future__ import annotations

from ...protocol.both_ends.limits import worker_limits
from ...protocol.values import codec as values
from .link import reply_body

__all__ = ["RUNS", "answered_run", "large_run", "reply", "small_run"]

# How often a dummy program runs before programs do: CPython 3.11 specializes functions that were called so often.
RUNS = 8
_TYPES = "[[[`x`,`str`,true],[`n`,`int`,true]],[0,2],[false,false],[`list`,3,[`record`,2,0,{`n`:`int`}]],[]]"
_TOOL = ("tool", "tool(x: str, n: int) -> list", "Warm up.", False, _TYPES, False)
_ROWS = [{"n": 1}, {"n": 2}]
_CALLING_PROGRAM = """
total = 0
for row in tool("x", n=1):
    total += row["n"]
print(f"{total} in all")
total
"""
_PROGRAM = """
import json
from collections import defaultdict

def add(rows, key="n"):
    counts = defaultdict(int)
    for row in rows:
        if row[key] > 0 and row.n is not None:
            counts[row["n"]] += row.n * 2
    return dict(counts)

total = 0
for row in tool("x", n=1):
    total += row["n"]
found = sorted([x for x in range(5) if x % 2], key=lambda x: -x)
try:
    text = f"{total:.2f} {', '.join(map(str, found))} {add([])}"
except (KeyError, ValueError) as error:
    text = json.dumps({"error": str(error)})
print(text)
{"total": total, "rows": [{"a": 1, "b": (1, 2.5, None)}]}
"""


def small_run() -> bytes:
    """Return the body of a run frame with the shortest program."""
    return _run("1")


def large_run() -> bytes:
    """Return the body of a run frame with a program of many kinds of statements, which calls a tool once."""
    return _run(_PROGRAM)


def answered_run(*, is_checked: bool) -> bytes:
    """Return the body of a run frame with a program that calls a tool, and the reply to its call.

    It is checked there, unless it `is_checked` already.
    """
    recorded = {"calls": [["1", "v" + values.text(_ROWS)]], "events": []}
    if is_checked:
        return _run(_CALLING_PROGRAM, recorded=recorded, checked=True)
    return _run(_CALLING_PROGRAM, recorded=recorded)


def reply() -> bytes:
    """Return the frame that answers the call of the large program."""
    body = reply_body(1, _ROWS)
    return len(body).to_bytes(4, "big") + body


def _run(code: str, **more: object) -> bytes:
    frame = {
        "t": "run",
        "code": code,
        "tools": [_TOOL],
        "limits": worker_limits(memory=1 << 20, output=1 << 20, frame=1 << 20, cpu=0),
        "messages": {},
        "spin": 0.0,
        **more,
    }
    return values.dumps(frame)
