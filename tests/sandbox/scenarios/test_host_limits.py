"""Limits of the host itself, as `ulimit` sets them, which programs cannot exceed."""

from __future__ import annotations

import pytest

from tests.sandbox.scripts import run_script

HOST = """
import resource, sys
from ez_ptc import ProcessSandbox, Toolkit

seconds, mode = int(sys.argv[1]), sys.argv[2]
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
sandbox = ProcessSandbox(fresh=mode)
with sandbox, Toolkit([], sandbox=sandbox, timeout=60) as toolkit, toolkit.session() as session:
    results = [run("6 * 7") for run in (toolkit.execute, toolkit.execute, session.execute, session.execute)]
    print([result.error or result.return_value for result in results])
"""


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("seconds", [20, 60, 100_000])
@pytest.mark.parametrize("mode", ["process", "restored"])
def test_programs_run_under_any_cpu_limit_of_the_host(seconds: int, mode: str) -> None:
    assert run_script(HOST, str(seconds), mode) == "[42, 42, 42, 42]\n"
