"""No two workers, nor a worker and its zygote or host, hold one open file description."""

from __future__ import annotations

import json

import pytest

from tests.sandbox.scripts import run_script

# The kernel itself says whether two descriptors of two processes are one (kcmp).
HOST = """
import contextlib, ctypes, errno, itertools, json, os, platform, sys, threading
from ez_ptc import Limits, ProcessSandbox, Toolkit, ez_tool
from tests.sandbox.processes import descendants

kcmp = {"x86_64": 312, "aarch64": 272}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)

def is_one(first, second):
    found = libc.syscall(kcmp, first[0], second[0], 0, *map(ctypes.c_ulong, (first[1], second[1])))
    if found < 0 and ctypes.get_errno() not in {errno.EBADF, errno.ESRCH}:  # closed, or ended, meanwhile
        raise OSError(ctypes.get_errno(), "kcmp")
    return found == 0

def held():
    found = {}
    for pid in (os.getpid(), *descendants(os.getpid())):
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{pid}/comm") as file:
                name = file.read().strip()
            found[pid] = name, sorted(map(int, os.listdir(f"/proc/{pid}/fd")))
    return found

def shared():
    processes = held()
    workers = {pid: fds for pid, (name, fds) in processes.items() if name == "ez-ptc worker"}
    found = [len(workers)]
    for worker, other in itertools.product(workers, processes):
        if worker < other or other not in workers:
            pairs = itertools.product(workers[worker], processes[other][1])
            pairs = [pair for pair in pairs if is_one((worker, pair[0]), (other, pair[1]))]
            found += [f"{fd} {processes[other][0]} {number}" for fd, number in pairs]
    return found

try:
    is_one((os.getpid(), 0), (os.getppid(), 0))
except OSError:
    print(json.dumps(None))
    sys.exit()

both, done = threading.Barrier(3), threading.Barrier(3)

@ez_tool
def meet() -> None:
    \"\"\"Wait until both programs run, and until all is seen.\"\"\"
    both.wait(60)
    done.wait(60)

how = json.loads(sys.argv[1])
limits = how.pop("limits", {})
with ProcessSandbox(**how) as sandbox:
    kits = [Toolkit([meet], sandbox=sandbox, limits=Limits(**limits, timeout=60)) for _ in range(2)]
    for _ in range(4):
        [kit.execute("1") for kit in kits]
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(kit.session()).execute if sys.argv[2] else kit.execute for kit in kits]
        threads = [threading.Thread(target=run, args=("meet()",)) for run in runs]
        [thread.start() for thread in threads]
        both.wait(60)
        # The zygote itself has those of a worker that it is about to hand over.
        seen = next((found for found in (shared() for _ in range(20)) if len(found) == 1), shared())
        done.wait(60)
        [thread.join() for thread in threads]
print(json.dumps(seen))
"""


@pytest.mark.parametrize("session", ["", "session"])
@pytest.mark.parametrize(
    "how",
    [{}, {"fresh": "restored"}, {"limits": {"seed": 1}}, {"allow_imports": ["docstring_parser"]}],
    ids=["process", "restored", "recorded", "packages"],
)
@pytest.mark.sampled(every=0)
def test_no_open_file_description_is_shared(how: dict[str, object], session: str) -> None:
    if session and "limits" in how:
        pytest.skip("a session has no seed")
    found = json.loads(run_script(HOST, json.dumps(how), session))
    if found is None:
        pytest.skip("this kernel does not compare descriptors, or only for others")
    workers, *shared = found
    assert workers >= 2
    assert shared == []
