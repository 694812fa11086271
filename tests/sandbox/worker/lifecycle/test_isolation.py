"""What must hold holds, here and where the kernel gives less; where it cannot hold, nothing runs."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from ez_ptc import Toolkit
from ez_ptc.errors import IsolationUnavailableError
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.host.isolation import check
from ez_ptc.sandbox.protocol.isolation import Layer, Report
from tests.sandbox.scripts import ROOT, run_script
from tests.sandbox.worker.lifecycle.bpf import ALLOW, Filter, refusal
from tests.sandbox.worker.lifecycle.parent_filter import DOCKER, around, assemble
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS

NOBODY = 65534
REQUIRED = {"system call filter", "no files", "probe", "ending programs"}

HOST = """
import asyncio, json
from ez_ptc.errors import IsolationUnavailableError
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.doors import Door

arrived = []

def note(number):
    arrived.append(number)
    return number

PROGRAM = '''
import os, socket, threading
def tried(what, *arguments):
    try:
        return repr(what(*arguments))
    except OSError as error:
        return type(error).__name__
thread = threading.Thread(target=note, args=(2,))
thread.start()
thread.join()
[note(1), os.getuid(), tried(open, "/etc/passwd"), tried(os.listdir, "/"), tried(socket.socket), tried(os.fork)]
'''
sandbox = ProcessSandbox()
call = (PROGRAM, Door(note), Limits())
found = {"layers": {}, "errors": []}
for run in (lambda: sandbox.execute(*call), lambda: asyncio.run(sandbox.aexecute(*call))):
    try:
        result = run()
        found["values"], found["error"] = result.return_value, result.error
    except IsolationUnavailableError as error:
        found["errors"].append(str(error))
found["arrived"] = arrived
if not found["errors"]:
    found["layers"] = {layer.name: layer.held for layer in sandbox.isolation.layers}
sandbox.close()
print(json.dumps(found))
"""
WORKS = [1, NOBODY, "PermissionError", "PermissionError", "PermissionError", "PermissionError"]


def host(*rules: str) -> dict[str, Any]:
    """Run a host of its own in a kernel that gives less, and return what it found."""
    if platform.machine() not in NUMBERS:
        pytest.skip(f"there is no table of system calls for {platform.machine()}")
    return json.loads(run_script(HOST, before=around(*rules)))


def held(found: dict[str, Any]) -> set[str]:
    return {name for name, holds in found["layers"].items() if holds}


def works(found: dict[str, Any]) -> None:
    assert (found["errors"], found["error"], found["values"]) == ([], None, WORKS)
    assert sorted(found["arrived"]) == [1, 1, 2, 2]
    assert held(found) >= REQUIRED


def refuses(found: dict[str, Any], *words: str) -> None:
    assert len(found["errors"]) == 2, found
    for error in found["errors"]:
        assert "none is run" in error
        assert "What to do: " in error
        for word in words:
            assert word in error
    assert found["arrived"] == []


def test_report_states_what_holds(sandbox: ProcessSandbox) -> None:
    report = sandbox.isolation
    assert {layer.name for layer in report.layers if layer.required} == REQUIRED
    assert report.sufficient
    assert {layer.name for layer in report.enforced} >= REQUIRED
    for layer in report.missing:
        assert layer.detail
        assert layer.advice


def test_the_report_can_be_had_without_running_a_program(sandbox: ProcessSandbox) -> None:
    assert check() == sandbox.isolation


@pytest.mark.parametrize("lacking", ["a", "b", None])
def test_report_lacking_requirement_gives_advice(lacking: str | None) -> None:
    layers = [
        Layer(name=name, required=name != "c", held=name not in {lacking, "c"}, detail=f"{name}!", advice=f"do {name}")
        for name in ("a", "b", "c")
    ]
    report = Report(tuple(layers))
    assert report.sufficient == (lacking is None)
    if lacking is None:
        report.require()
        return
    with pytest.raises(
        IsolationUnavailableError, match=rf"{lacking}: {lacking}!\. What to do: do {lacking}\."
    ) as caught:
        report.require()
    assert "do c" not in str(caught.value)


@pytest.mark.sampled(every=0)
def test_a_whole_kernel_gives_everything() -> None:
    """At least what the kernel under the tests gives."""
    works(host())


@pytest.mark.sampled(every=0)
def test_landlock_replaces_namespaces_in_docker() -> None:
    found = host(*DOCKER)
    works(found)
    assert "Landlock" in held(found)
    assert not {name for name in held(found) if "namespace" in name or name == "empty root"}


@pytest.mark.sampled(every=0)
def test_empty_root_replaces_landlock() -> None:
    found = host("landlock_create_ruleset=EOPNOTSUPP")
    if not found["layers"]["empty root"]:
        pytest.skip("this kernel gives no mount namespace")
    works(found)
    assert "Landlock" not in held(found)


@pytest.mark.sampled(every=0)
def test_without_landlock_and_namespaces_nothing_runs() -> None:
    refuses(host("landlock_create_ruleset=ENOSYS", *DOCKER), "no files", "Landlock", "namespaces")


@pytest.mark.parametrize("answer", ["EPERM", "ENOSYS"])
@pytest.mark.sampled(every=2)
def test_without_seccomp_nothing_runs(answer: str) -> None:
    refuses(host(f"seccomp={answer}", f"prctl:22={answer}"), "system call filter", "seccomp")


@pytest.mark.parametrize(
    "rules",
    [
        ["seccomp=0", "prctl:22=0"],
        ["landlock_create_ruleset=0", "landlock_restrict_self=0", "unshare=EPERM"],
        ["landlock_create_ruleset=ENOSYS", "unshare=0", "mount=0", "pivot_root=0"],
    ],
    ids=["seccomp", "Landlock", "namespaces"],
)
@pytest.mark.sampled(every=3)
def test_kernel_that_only_pretends_is_detected(rules: list[str]) -> None:
    refuses(host(*rules))


@pytest.mark.sampled(every=0)
def test_without_the_promise_of_no_new_privileges_nothing_runs() -> None:
    refuses(host("prctl:38=EINVAL"), "new privileges")


MISLED = """
import errno, mmap, signal
from pathlib import Path
from ez_ptc.sandbox.worker.lifecycle import lockdown, probe

map_page = mmap.mmap

def as_musl_says(*arguments):
    try:
        return map_page(*arguments)
    except PermissionError:
        raise OSError(errno.ENOMEM, "Out of memory")

mmap.mmap = as_musl_says
locks = lockdown.Lockdown(str(Path(lockdown.__file__).parent / "filters"), {"zygote": "zygote", "worker": "worker"})

def confine():
    locks.give_up_privileges()
    for step in locks.confining:
        assert (step() or 0) >= 0

allowed, subject = probe.probe_worker(locks, confine)
signal.pidfd_send_signal(subject, signal.SIGKILL)
print(allowed)
"""


def test_c_library_reporting_enomem_does_not_mislead_probe() -> None:
    if platform.machine() not in NUMBERS:
        pytest.skip(f"there is no filter for {platform.machine()}")
    assert run_script(MISLED) == "[]\n"


NAMES = """
import os, platform, socket
{os.uname().nodename, platform.node(), platform.uname().node, socket.gethostname()}
"""


def test_the_hosts_name_is_not_known_to_programs(sandbox: ProcessSandbox) -> None:
    if "uts namespace" not in {layer.name for layer in sandbox.isolation.layers if layer.held}:
        pytest.skip("the kernel gives no namespace for names")
    before = os.uname().nodename
    assert Toolkit([], sandbox=sandbox).execute(NAMES).return_value == {"sandbox"}
    assert os.uname().nodename == before


def interpreter_of_nobody() -> str:
    """Return an interpreter like this one that any user can start, or skip."""
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, *filter(None, map(shutil.which, _names(version)))):
        try:
            code = "import sys; print('%d.%d' % sys.version_info[:2])"
            found = subprocess.run(
                [path, "-c", code],
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                cwd="/",
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        except PermissionError:
            continue
        if found.stdout.strip() == version:
            return path
    pytest.skip(f"there is no Python {version} that nobody may start")


def _names(version: str) -> Iterable[str]:
    folders = ("/usr/local/bin", "/usr/bin")
    return [f"{folder}/python{version}" for folder in folders]


@pytest.mark.parametrize("rules", [(), DOCKER], ids=["whole", "docker"])
@pytest.mark.sampled(every=2)
def test_unprivileged_host_can_run_programs(rules: tuple[str, ...]) -> None:
    python = interpreter_of_nobody()
    done = subprocess.run(
        [python, "-m", "tests.sandbox.worker.lifecycle.parent_filter", *rules, "--", python, "-c", HOST],
        cwd=ROOT,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": os.defpath},
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    works(json.loads(done.stdout))


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_around_host_answers_by_its_rules(machine: str) -> None:
    """Or the tests above would test nothing."""
    numbers = NUMBERS[machine]
    blob = assemble(["unshare=EPERM", "prctl:22=EINVAL", "clone&0x7e020000=EPERM", "seccomp=0"], machine)
    answers = {
        ("unshare", 0): refusal(1), ("unshare", 5): refusal(1),
        ("prctl", 22): refusal(22), ("prctl", 38): ALLOW,
        ("clone", 0x20000000): refusal(1), ("clone", 0x01200011): ALLOW,
        ("seccomp", 1): refusal(0), ("mount", 0): ALLOW,
    }  # fmt: skip
    found = Filter.parse(blob)
    assert {key: found.answer(machine, numbers[key[0]], key[1]) for key in answers} == answers
