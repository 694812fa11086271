"""A checker, outside of its sandbox: what it answers, and what it keeps of a program."""

from __future__ import annotations

import json

from tests.sandbox.scripts import run_script

CHECK = """
import ast, gc, json, linecache, os, sys
from ez_ptc.sandbox.worker.kernel.pipe import DescriptorPipe
from ez_ptc.sandbox.worker.running.checking import check_programs
from ez_ptc.sandbox.worker.running.link import HostGoneError, Link
from ez_ptc.sandbox.worker.running.tools import Tools

receive, send = os.pipe()
answers, answer = os.pipe()
for number, code in enumerate(json.loads(sys.argv[1]), 1):
    body = json.dumps({"number": number, "code": code}).encode()
    os.write(send, len(body).to_bytes(4, "big") + body)
del body, code
os.close(send)
link = Link(DescriptorPipe(receive, answer))
tools = Tools(link, None, lambda: None)
types = "[[[`x`,`int`,true]],[0,1],[false,false],[`int`],[]]"
namespace = tools.functions([("tool", "tool(x: int) -> int", "A tool.", False, types, False)])
names = dict(namespace)
try:
    check_programs(link, tools, namespace)
except HostGoneError:
    pass
gc.collect()
objects = gc.get_objects()
containers = [thing for thing in objects if type(thing) in (dict, list, set, tuple) and thing is not globals()]
kept = [type(thing).__name__ for thing in objects if isinstance(thing, ast.stmt | ast.expr)]
kept += [repr(thing)[:80] for thing in containers if sys.argv[2][::-1] in thing]
kept += [name for name in linecache.cache if "program" in name]
print(json.dumps([os.read(answers, 1000).decode(), kept, names == namespace]))
"""
PROGRAMS = [
    "left_over = tool(1)\nprint(left_over)",
    "left_over = tool('one')",
    # Names of an earlier program are unknown.
    "tool(left_over)",
    "def left_over(x: int) -> None:\n    tool(x)\nleft_over(1)",
    "tool = len\ntool('left_over')",
    # Its worker says why it cannot be read.
    "tool(",
    "",
    # Compilers warn of it, on standard error.
    "tool(1)\n'\\d'",
    "tool" + "(" * 150 + "left_over" + ")" * 150,
    "tool(1, 2)",
    "tool(1)",
]


def test_checker_answers_each_program_and_keeps_nothing_of_it() -> None:
    letters, kept, is_unchanged = json.loads(run_script(CHECK, json.dumps(PROGRAMS), "left_over"[::-1]))
    assert letters == "p1r2r3p4p5p6p7p8r9r10p11"
    assert kept == []
    assert is_unchanged
