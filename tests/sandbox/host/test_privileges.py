"""A host that gives up its rights after the sandbox has started can still end its programs."""

from __future__ import annotations

import json
import os

import pytest

from tests.sandbox.scripts import run_script

HOST = """
import json, os, sys
from ez_ptc import Limits, ProcessSandbox, SandboxError, Toolkit
from tests.sandbox.processes import becomes, descendants, inside

RUNAWAY = '''
while True:
    try:
        while True: pass
    except BaseException: pass
'''
with ProcessSandbox(fresh=sys.argv[1]) as sandbox:
    kit = Toolkit([], sandbox=sandbox, limits=Limits(timeout=1, grace=0.2))
    ran = {kit.execute("import os\\nos.getpid()").return_value for _ in range(4)}
    if sys.argv[1] == "process":
        # A worker ends after its program has. The host could not end it later, so its keeper would, with the zygote.
        assert becomes(lambda: ran & {*map(inside, descendants(os.getpid()))}, set(), within=60)
    before = descendants(os.getpid())
    os.setgroups([])
    os.setresgid(12345, 12345, 12345)
    os.setresuid(12345, 12345, 12345)
    late = kit.execute(RUNAWAY).error
    print(json.dumps([late, becomes(lambda: len(descendants(os.getpid()) & before), 0, within=60)]))
"""


@pytest.mark.parametrize("fresh", ["process", "restored"])
@pytest.mark.sampled(every=2)
def test_host_without_its_rights_ends_programs(fresh: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    late, is_ended = json.loads(run_script(HOST, fresh))
    assert late == "TimeoutError: the program timed out after 1 s"
    assert is_ended
