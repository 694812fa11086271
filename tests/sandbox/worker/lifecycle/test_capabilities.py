"""Whatever capabilities the host has: programs run, and each of them can be ended."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

from tests.sandbox.scripts import ROOT
from tests.sandbox.worker.lifecycle.capabilities import NUMBERS, every, having
from tests.sandbox.worker.lifecycle.parent_filter import DOCKER, around
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS as SYSTEM_CALLS
from tests.sandbox.worker.lifecycle.test_isolation import NOBODY, interpreter_of_nobody

WITHOUT = {"all": -1, **{f"without {name}": number for name, number in NUMBERS.items()}}
ONLY = {"none": set[int](), "a hardened container": {NUMBERS["setuid"], NUMBERS["setgid"]}}
PLACES = {"whole": (), "docker": DOCKER}
HOST = """
import anyio, json, os, sys, threading
from ez_ptc import IsolationUnavailableError, Limits, ProcessSandbox, Toolkit, ez_tool
from tests.sandbox.processes import alive, becomes, descendants, inside

workers = []

@ez_tool
def begin(pid: int) -> None:
    \"\"\"Note which worker calls.\"\"\"
    workers.extend(each for each in descendants(os.getpid()) if inside(each) == pid)
    begun.set()

begun = threading.Event()
RUNAWAY = '''
import os
begin(os.getpid())
while True:
    try:
        while True: pass
    except BaseException: pass
'''

def run_away(execute):
    # On a busy machine, the time of a program may be over before its call arrives.
    for _ in range(20):
        begun.clear()
        error = execute(RUNAWAY).error
        if begun.is_set():
            break
    return error

found = {}
try:
    with ProcessSandbox(fresh=sys.argv[1]) as sandbox:
        kit = Toolkit([begin], sandbox=sandbox, limits=Limits(timeout=1, grace=0.2))
        found["values"] = [kit.execute("1 + 1").return_value for _ in range(3)]
        found["errors"] = [run_away(kit.execute), run_away(lambda code: anyio.run(kit.aexecute, code))]
        begun.clear()
        session = kit.session()
        thread = threading.Thread(target=lambda: found.update(closed=run_long(session)))

        def run_long(session):
            try:
                return session.execute(RUNAWAY, timeout=60).error
            except Exception as error:
                return type(error).__name__

        thread.start()
        begun.wait(30)
        session.close()
        thread.join(30)
        found["values"].append(kit.execute("2 + 2").return_value)
        found["ended"] = becomes(lambda: sum(map(alive, workers)), 0, within=60)
        found["workers"] = len(workers)
        found["layers"] = [layer.name for layer in sandbox.isolation.layers if layer.required and not layer.held]
except IsolationUnavailableError as error:
    found["refused"] = str(error)
found["left"] = becomes(lambda: len(descendants(os.getpid())), 0, within=60)
print(json.dumps(found))
"""


def command(user: str, what: str, place: str, *, promise: bool) -> list[str]:
    """Return the words to put before a host: a filter around it, a user, and what it may do."""
    if os.geteuid() != 0:
        pytest.skip("only root can choose capabilities")
    if platform.machine() not in SYSTEM_CALLS:
        pytest.skip(f"there is no table of system calls for {platform.machine()}")
    kept = ONLY[what] if what in ONLY else every() - {WITHOUT[what]}
    words = around(*PLACES[place]) if PLACES[place] else []
    return [*words, *having(0 if user == "root" else NOBODY, kept, promise=promise)]


def run_host(user: str, before: list[str], fresh: str) -> dict[str, object]:
    python = sys.executable if user == "root" else interpreter_of_nobody()
    # Not the standard library of this interpreter: some users may read it.
    places = [place for place in sys.path if place and not place.startswith(sys.base_prefix)]
    done = subprocess.run(
        [*before, python, "-W", "error", "-c", HOST, fresh],
        cwd=ROOT,
        env={"PYTHONPATH": os.pathsep.join(places), "PATH": os.environ.get("PATH", os.defpath)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("promise", [False, True], ids=["plain", "no_new_privs"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", [*WITHOUT, *ONLY])
@pytest.mark.parametrize("user", ["root", "user"])
@pytest.mark.sampled(every=0)
def test_programs_run_and_end_with_any_capabilities(user: str, what: str, place: str, *, promise: bool) -> None:
    found = run_host(user, command(user, what, place, promise=promise), "process")
    late = "TimeoutError: the program timed out after 1 s"
    assert found == {
        "values": [2, 2, 2, 4],
        "errors": [late, late],
        "closed": "SandboxError",
        "ended": True,
        "workers": 3,
        "layers": [],
        "left": True,
    }


@pytest.mark.parametrize("what", ["all", "none", "without kill", "without setuid", "a hardened container"])
@pytest.mark.parametrize("user", ["root", "user"])
@pytest.mark.sampled(every=0)
def test_restored_programs_end_with_any_capabilities(user: str, what: str) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("workers are restored on x86-64 only")
    found = run_host(user, command(user, what, "whole", promise=False), "restored")
    assert (found.get("values"), found.get("ended"), found["left"]) == ([2, 2, 2, 4], True, True), found
