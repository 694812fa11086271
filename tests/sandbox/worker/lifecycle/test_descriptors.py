"""A worker holds its link to the host, and streams that lead nowhere: no descriptor of the zygote's or the host's."""

from __future__ import annotations

import json
import resource

import pytest

from tests.sandbox.scripts import run_script

# A host with many files open, as any server is one: what it starts later has high numbers.
HOST = """
import json, os, resource, sys
from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import descendants, inside

most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (1024 if most == resource.RLIM_INFINITY else min(most, 1024), most))
held = [os.open("/dev/null", os.O_RDONLY) for _ in range(int(sys.argv[1]))]

@ez_tool
def look(pid: int) -> list[list[str]]:
    \"\"\"Return what the worker with this id in its own namespace has open.\"\"\"
    found = []
    for each in descendants(os.getpid()):
        if inside(each) == pid:
            folder = f"/proc/{each}/fd"
            places = {fd: os.readlink(f"{folder}/{fd}") for fd in sorted(os.listdir(folder))}
            found.append([f"{fd} {place.partition(':')[0]}" for fd, place in places.items()])
    return found

# Not its process id, which a seed pins.
PROGRAM = "import threading\\nlook(threading.get_native_id())"
seen = []
for how in ({}, {"limits": Limits(seed=1)}, {"allow_imports": ["docstring_parser"]}):
    with Toolkit([look], **how) as toolkit:
        seen.append(toolkit.execute(PROGRAM).return_value)
        with toolkit.session() as session:
            seen.append(session.execute(PROGRAM).return_value if "limits" not in how else seen[-1])
for fd in held:
    os.close(fd)
print(json.dumps(seen))
"""
HOLDS = [["0 /dev/null", "1 /dev/null", "2 /dev/null", "3 socket"]]


@pytest.mark.parametrize("number", [0, 100, 700])
@pytest.mark.sampled(every=3)
def test_worker_holds_only_its_link(number: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < number + 100:
        pytest.skip(f"a process may have {most} descriptors here")
    assert json.loads(run_script(HOST, str(number))) == [HOLDS] * 6
