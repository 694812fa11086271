"""What a host does with its signals changes nothing: whether it ignores, blocks or handles them, or inherits that."""

from __future__ import annotations

import json
import sys

import pytest

from tests.sandbox.scripts import run_script

HOST = """
import json, os, signal, sys
{setting}
from ez_ptc import Limits, ProcessSandbox, Toolkit, ez_tool
from tests.sandbox.processes import all_gone, descendants

@ez_tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

BUSY = "n = 0\\ntry:\\n    while True:\\n        n += 1\\nfinally:\\n    print('ended')"
ASLEEP = "import time\\ntry:\\n    time.sleep(60)\\nfinally:\\n    print('ended')"
SIGNALS = "import signal\\n[signal.pthread_sigmask(signal.SIG_BLOCK, []) == set(),"
SIGNALS += " [n.name for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN]]"
said = []
sandbox = ProcessSandbox(ready=2)
toolkit = Toolkit([add], sandbox=sandbox, limits=Limits(timeout=20, grace=10))
short = Toolkit([add], sandbox=sandbox, limits=Limits(timeout=20, grace=10, cpu_time=1))
said.append(toolkit.execute("add(1, 2)").return_value)
for code in (BUSY, ASLEEP):
    result = toolkit.execute(code, 0.2)
    said.append([result.output, result.error])
result = short.execute(BUSY)
said.append([result.output, result.error])
with toolkit.session() as session:
    session.execute("kept = 1")
    said.append(session.execute("kept").return_value)
said.append(toolkit.execute("import os\\nos._exit(3)").error)
said.append(toolkit.execute("import ctypes\\nctypes.string_at(0)").error)
said.append(Toolkit([add], sandbox=sandbox, limits=Limits(seed=1)).execute("add(1, 2)").return_value)
said.append(toolkit.execute(SIGNALS).return_value)
started = descendants(os.getpid())
sandbox.close()
said.append(all_gone(started, within=60))
del sandbox, toolkit, short, session
again = ProcessSandbox(ready=1)
said.append(Toolkit([add], sandbox=again).execute("add(2, 3)").return_value)
again.close()
print(json.dumps(said))
"""
EXPECTED = [
    3,
    ["ended\n", "TimeoutError: the program timed out after 0.2 s"],
    ["ended\n", "TimeoutError: the program timed out after 0.2 s"],
    ["ended\n", "TimeoutError: the program used up its 1 s of CPU time"],
    1,
    "the program ended its process (exit code 3) instead of running to its end",
    "the program crashed the interpreter (SIGSEGV): it nested or recursed too deeply, or aborted",
    3,
    # As every Python has them.
    [True, ["SIGPIPE", "SIGXFSZ"]],
    True,
    5,
]
IGNORED = "for number in {}: signal.signal(number, signal.SIG_IGN)"
BLOCKED = "signal.pthread_sigmask(signal.SIG_BLOCK, {})"
ALL = "{*signal.valid_signals()} - {signal.SIGKILL, signal.SIGSTOP}"
SETTINGS = {
    "all ignored": IGNORED.format(ALL),
    "all blocked": BLOCKED.format(ALL),
    "all reaped": """
def reap(number, frame):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, reap)
""",
}
FURTHER = {
    "nothing": "",
    "SIGCHLD ignored": IGNORED.format("[signal.SIGCHLD]"),
    "SIGALRM and SIGXCPU ignored": IGNORED.format("[signal.SIGALRM, signal.SIGXCPU]"),
    "SIGINT, SIGTERM and SIGHUP ignored": IGNORED.format("[signal.SIGINT, signal.SIGTERM, signal.SIGHUP]"),
    "SIGIO ignored": IGNORED.format("[signal.SIGIO]"),
    "SIGCHLD blocked": BLOCKED.format("[signal.SIGCHLD]"),
    "SIGALRM and SIGXCPU blocked": BLOCKED.format("[signal.SIGALRM, signal.SIGXCPU]"),
    "SIGPIPE as it is elsewhere": "signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
}


def inherited(setting: str) -> list[str]:
    """Return the words that start a host from a process with such signals, as a daemon's parent may have them."""
    return [sys.executable, "-c", f"import os, signal, sys\n{setting}\nos.execv(sys.argv[1], sys.argv[1:])"]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.sampled(every=3)
def test_signal_handling_of_host_changes_nothing(setting: str) -> None:
    assert json.loads(run_script(HOST.replace("{setting}", SETTINGS[setting]))) == EXPECTED


@pytest.mark.sampled(every=0)
def test_inherited_state_of_host_changes_nothing() -> None:
    before = inherited("\n".join((SETTINGS["all ignored"], SETTINGS["all blocked"])))
    assert json.loads(run_script(HOST.replace("{setting}", ""), before=before)) == EXPECTED


@pytest.mark.security
@pytest.mark.parametrize("setting", FURTHER)
def test_inherited_or_own_signals_of_host_change_nothing(setting: str) -> None:
    assert json.loads(run_script(HOST.replace("{setting}", FURTHER[setting]))) == EXPECTED
    assert json.loads(run_script(HOST.replace("{setting}", ""), before=inherited(FURTHER[setting]))) == EXPECTED
