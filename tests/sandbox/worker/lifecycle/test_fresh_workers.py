"""What a worker has walked through before its program came leaves nothing behind, and is nobody else's."""

from __future__ import annotations

import pytest

from ez_ptc import ProcessSandbox, Toolkit
from tests.sandbox.tools import TOOLS

DRAWN = (
    "import random\nfrom uuid import uuid4\n[random.random(), random.gauss(), random.choice(range(2**40)), uuid4().hex]"
)
LEFT = """
import linecache, sys
[sorted(name for name in globals() if not name.startswith("__")), linecache.getlines("<program>")[1], sys.stdin.read(),
 [stream.write("") or stream.closed for stream in (sys.stdout, sys.stderr)]]
"""


def test_no_two_programs_draw_the_same_random_numbers(toolkit: Toolkit) -> None:
    drawn = [toolkit.execute(DRAWN) for _ in range(6)]
    assert [each.error for each in drawn] == [None] * 6
    for place in range(4):
        assert len({str(each.return_value[place]) for each in drawn}) == 6


def test_program_finds_its_tools_and_no_warm_up_traces(toolkit: Toolkit) -> None:
    result = toolkit.execute(LEFT)
    assert result.error is None
    names, line, typed, closed = result.return_value
    assert set(names) == {tool.name for tool in TOOLS} | {"linecache", "sys"}
    assert line == "import linecache, sys\n"
    assert (typed, closed) == ("", [False, False])


def test_the_first_call_of_a_program_is_its_first(toolkit: Toolkit) -> None:
    result = toolkit.execute("echo('a')\necho('b')")
    assert [call["path"] for call in result.tool_calls] == ["1", "2"]


@pytest.mark.parametrize("code", ["while True: pass", "import time\ntime.sleep(30)"], ids=["busy", "asleep"])
def test_program_of_ready_worker_can_be_stopped(sandbox: ProcessSandbox, code: str) -> None:
    result = Toolkit(TOOLS, sandbox=sandbox).execute(f"try:\n    exec({code!r})\nfinally:\n    print('ended')", 0.3)
    assert "timed out after 0.3 s" in (result.error or "")
    assert result.output == "ended\n"
