"""Where there can be no further process: what runs goes on, who waits gets a place or a reason, and it passes."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from ez_ptc import Overloaded, SandboxError, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import descendants, families, parent
from tests.sandbox.scripts import run_script

with_prlimit = pytest.mark.skipif(shutil.which("prlimit") is None, reason="there is no prlimit(1) here")
NOBODY = 65534
# A host that opens files until it may open no more, before its sandbox boots and while a program runs.
FULL = """
import contextlib, os, resource
from ez_ptc import SandboxError, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox

resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
sandbox = ProcessSandbox(ready=0, patience=1)
other = Toolkit([], sandbox=sandbox)

def error(room):
    # An ended worker's descriptors are closed in the background: each try takes what has become free.
    held = []
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                while True:
                    held.append(os.open("/dev/null", os.O_RDONLY))
            for _ in range(room):
                os.close(held.pop())
            other.execute("1")
    except SandboxError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        for fd in held:
            os.close(fd)

@ez_tool
def look(room: int) -> list[str | int | None]:
    \"\"\"Look at what becomes of another program where no descriptor is left, and after it.\"\"\"
    said = error(room)
    return [said, other.execute("1 + 1").return_value]

print(error(0))
sandbox.warm_up()
for said, value in Toolkit([look], sandbox=sandbox).execute("[look(0), look(1)]").return_value:
    assert value == 2
    print(said)
sandbox.close()
"""

# A host whose program waits for another one, and for the next.
NESTED = """
from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
sandbox = ProcessSandbox(ready=8)
other = Toolkit([], sandbox=sandbox)

@ez_tool
def add() -> int:
    \"\"\"Add in another program.\"\"\"
    return other.execute("1 + 1").return_value

result = Toolkit([add], sandbox=sandbox).execute("[add() for _ in range(5)]")
print(result.return_value, result.error)
sandbox.close()
"""

# A host in a control group of its own, which asks for more memory than there is.
GREEDY = """
from ez_ptc import Toolkit
with Toolkit([]) as toolkit:
    for program in ("1 + 1", "len(bytearray(b'x') * (200 << 20))", "2 + 2"):
        result = toolkit.execute(program)
        print(result.return_value, result.error)
"""


class Crowd:
    """A sandbox whose zygote can be denied further processes."""

    def __init__(self, patience: float) -> None:
        self.sandbox = ProcessSandbox(ready=0, patience=patience)
        before = descendants(os.getpid())
        assert self.sandbox.isolation.sufficient
        started = families(os.getpid(), without=before)
        (self.zygote,) = (pid for pid in started if parent(pid) in started)

    @contextlib.contextmanager
    def full(self) -> Generator[None]:
        self._allow(0)
        try:
            yield
        finally:
            self._allow(resource.getrlimit(resource.RLIMIT_NPROC)[0])

    def _allow(self, processes: int) -> None:
        """Set the soft limit of the zygote: who has its ids may."""
        most = "unlimited" if processes == resource.RLIM_INFINITY else processes
        command = ["prlimit", "--pid", str(self.zygote), f"--nproc={most}:"]
        if os.geteuid() == 0:
            subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], check=True)
        else:
            subprocess.run(command, check=True)


@pytest.mark.security
@with_prlimit
def test_running_program_continues_if_no_other_can_start() -> None:
    crowd = Crowd(patience=1)
    other = Toolkit([], sandbox=crowd.sandbox)

    @ez_tool
    def look() -> list[object]:
        """Look at what becomes of another program meanwhile, and after it."""
        with crowd.full(), pytest.raises(Overloaded):
            [other.execute("1") for _ in range(10)]  # one or the other worker may be ready
        return [other.execute("1 + 1").return_value]

    result = Toolkit([look], sandbox=crowd.sandbox).execute("[look(), look()]")
    assert (result.return_value, result.error) == ([[2], [2]], None)
    assert crowd.zygote in descendants(os.getpid())
    crowd.sandbox.close()


@with_prlimit
@pytest.mark.sampled(every=2)
async def test_queued_caller_is_rejected_if_nothing_can_free_capacity(anyio_backend: str) -> None:
    crowd = Crowd(patience=60.0)
    toolkit = Toolkit([], sandbox=crowd.sandbox)
    with crowd.full():
        with pytest.raises(SandboxError, match=r"no worker can be made \(.*temporarily unavailable\).*RLIMIT_NPROC"):
            toolkit.execute("1 + 1")
        with pytest.raises(SandboxError, match="no worker can be made"):
            await toolkit.aexecute("1 + 1")
    assert toolkit.execute("1 + 1").return_value == 2
    assert crowd.zygote in descendants(os.getpid())
    crowd.sandbox.close()


@pytest.mark.sampled(every=0)
def test_running_program_continues_if_host_lacks_descriptors() -> None:
    before, *during = run_script(FULL).splitlines()
    assert before.startswith("SandboxError: the sandbox cannot be started ([Errno 24] Too many open files)")
    assert "RLIMIT_NOFILE" in before
    for said in during:
        assert said.startswith("Overloaded: no worker became free within 1 s, 1 programs run, and no more workers")
        assert "[Errno 24] Too many open files" in said


@contextlib.contextmanager
def control_group(controller: str, limit: str, most: int) -> Generator[list[str]]:
    """Make a group with a limit; yield the words that run a command in it, or skip."""
    root = Path("/sys/fs/cgroup") / controller
    group = (root if root.is_dir() else root.parent) / f"ez-ptc-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        (group / limit).write_text(str(most))
    except OSError as error:
        group.rmdir()
        pytest.skip(f"no control group has a limit {limit} here: {error}")
    join = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"
    try:
        yield [sys.executable, "-c", join, os.fspath(group / "cgroup.procs")]
    finally:
        # Its last process may take a moment to be gone.
        pause = threading.Event()
        for _ in range(1_000):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            pause.wait(0.02)


@pytest.mark.sampled(every=0)
def test_process_limited_cgroup_runs_programs_one_at_a_time() -> None:
    with control_group("pids", "pids.max", 12) as before:
        assert run_script(NESTED, before=before) == "[2, 2, 2, 2, 2] None\n"


@pytest.mark.sampled(every=0)
def test_memory_limited_cgroup_ends_only_the_greedy_program() -> None:
    limit = "memory.limit_in_bytes" if Path("/sys/fs/cgroup/memory").is_dir() else "memory.max"
    with control_group("memory", limit, 150 << 20) as before:
        first, second, third = run_script(GREEDY, before=before).splitlines()
    assert (first, third) == ("2 None", "4 None")
    assert second == "None the program was killed: it ran out of memory or CPU time"


@pytest.mark.security
@pytest.mark.parametrize("ready", [0, 2])
def test_zygote_that_hangs_is_replaced(ready: int) -> None:
    """Orders were sent to it again and again, and each counted as a word from it."""
    before = descendants(os.getpid())
    with ProcessSandbox(ready=ready, patience=60) as sandbox, Toolkit([], sandbox=sandbox) as toolkit:
        assert toolkit.execute("1 + 1").return_value == 2
        started = families(os.getpid(), without=before)
        for pid in started:
            if parent(parent(pid)) == os.getpid():
                os.kill(pid, signal.SIGSTOP)
        # Some are ready already.
        for _ in range(ready + 8):
            assert toolkit.execute("1 + 1").return_value == 2
