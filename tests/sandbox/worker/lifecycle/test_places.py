"""Places that give less: programs are isolated there too, or none is run, and `ez-ptc doctor` says which and why."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tests.sandbox.scripts import ROOT, run_script
from tests.sandbox.worker.lifecycle.parent_filter import DOCKER, around
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS
from tests.sandbox.worker.lifecycle.test_isolation import HOST, refuses, works

LIMITED = (
    "import os, resource, sys\nresource.setrlimit({name}, ({value}, {value}))\nos.execv(sys.argv[1], sys.argv[1:])"
)
DOCTOR = "import sys; from ez_ptc.cli.app import main; sys.exit(main(['doctor', '--json']))"
STARTS = """
from ez_ptc import SandboxError, Toolkit
with Toolkit([]) as toolkit:
    for _ in range(2):
        try:
            toolkit.execute("1")
        except SandboxError as error:
            said = f"{type(error).__name__}: {error}"
print(said)
"""
KEPT = {
    "few descriptors": ("resource.RLIMIT_NOFILE", 32),
    "a small stack": ("resource.RLIMIT_STACK", 1 << 20),
    "little memory": ("resource.RLIMIT_AS", 400 << 20),
    "a limit of CPU time": ("resource.RLIMIT_CPU", 600),
    "less data than a program may have": ("resource.RLIMIT_DATA", 200 << 20),
    "small files": ("resource.RLIMIT_FSIZE", 32 << 20),
}
TOO_LITTLE = {
    "no files": ("resource.RLIMIT_FSIZE", 0, "RLIMIT_FSIZE allows none of 32 MB"),
    "files that hold a part": ("resource.RLIMIT_FSIZE", 3 << 20, "RLIMIT_FSIZE allows none of 32 MB"),
    "no data": ("resource.RLIMIT_DATA", 64 << 20, "RLIMIT_DATA leaves no memory for programs"),
}
MOUNTS = {
    "no /proc": "mount -t tmpfs none /proc",
    "no /dev/shm": "mount -t tmpfs -o ro none /dev/shm",
    "no folder to write to": (
        "mount --make-rprivate / && mount -o remount,bind,ro / && mount --rbind /tmp /tmp "
        "&& mount -o remount,bind,ro /tmp"
    ),
}


def limited(name: str, value: int) -> list[str]:
    return [sys.executable, "-c", LIMITED.format(name=name, value=value)]


def mounted(how: str) -> list[str]:
    """Return the words that run a command in mounts of its own, or skip."""
    command = ["unshare", "--mount", "sh", "-c", f'{MOUNTS[how]} && exec "$@"', "sh"]
    if os.geteuid() != 0 or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounts can be changed only by root, and not in every container")
    return command


def undisturbed(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command.

    The kernel counts the descriptors that are on their way between any processes of one user against a limit, and all
    sandboxes that root starts have one user: where those of others are too many, wait until they are fewer.
    """

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
        )

    done, pause = run(), threading.Event()
    for _ in range(60):
        if os.strerror(errno.ETOOMANYREFS) not in done.stdout + done.stderr:
            break
        pause.wait(0.5)
        done = run()
    return done


def host(before: Sequence[str]) -> dict[str, Any]:
    """Run a host, and return what it found."""
    done = undisturbed([*before, sys.executable, "-W", "error", "-c", HOST])
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


def doctor(before: Sequence[str]) -> tuple[bool, str]:
    """Return the doctor's verdict, and what is required and missing in its words."""
    pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")
    done = undisturbed([*before, sys.executable, "-W", "error", "-c", DOCTOR])
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["sufficient"] == (done.returncode == 0)
    return found["sufficient"], "; ".join(
        f"{layer['name']}: {layer['detail']} {layer['advice']}"
        for layer in found["layers"]
        if layer["required"] and not layer["held"]
    )


@pytest.mark.parametrize("what", KEPT)
@pytest.mark.sampled(every=0)
def test_host_with_resource_limits_runs_programs(what: str) -> None:
    before = limited(*KEPT[what])
    works(host(before))
    assert doctor(before) == (True, "")


@pytest.mark.parametrize("how", MOUNTS)
@pytest.mark.sampled(every=0)
def test_host_without_parts_of_file_system_runs_programs(how: str) -> None:
    before = mounted(how)
    works(host(before))
    assert doctor(before) == (True, "")


@pytest.mark.sampled(every=0)
def test_in_docker_without_proc_a_host_runs_programs() -> None:
    works(host([*mounted("no /proc"), *around(*DOCKER)]))


@pytest.mark.sampled(every=0)
def test_where_no_process_may_be_started_nothing_runs() -> None:
    if os.geteuid() != 0:
        pytest.skip("a limit on processes would hold for the test itself as well")
    before = limited("resource.RLIMIT_NPROC", 0)
    refuses(host(before), "no process can be started", "RLIMIT_NPROC", "raise the limit")
    sufficient, missing = doctor(before)
    assert not sufficient
    assert "RLIMIT_NPROC" in missing


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        (("vfork=EAGAIN", "clone=EAGAIN"), "the sandbox cannot be started ([Errno 11] "),
        (("clone=EAGAIN", "clone3=EAGAIN"), "can't start new thread"),
    ],
    ids=["process", "thread"],
)
@pytest.mark.sampled(every=0)
def test_host_that_cannot_start_processes_names_the_limits(rules: tuple[str, ...], says: str) -> None:
    if platform.machine() not in NUMBERS:
        pytest.skip(f"there is no table of system calls for {platform.machine()}")
    said = run_script(STARTS, before=around(*rules))
    assert said.startswith(f"SandboxError: {says}")
    assert "RLIMIT_NPROC" in said


@pytest.mark.parametrize(("name", "value", "says"), TOO_LITTLE.values(), ids=TOO_LITTLE.keys())
@pytest.mark.sampled(every=3)
def test_limit_that_prevents_programs_is_named(name: str, value: int, says: str) -> None:
    refuses(host(limited(name, value)), says, "raise the limit")


@pytest.mark.parametrize("call", ["pidfd_open", "pidfd_send_signal"])
@pytest.mark.sampled(every=0)
def test_where_programs_could_not_be_ended_nothing_runs(call: str) -> None:
    """As in a gVisor that lacks them, which lacks Landlock as well."""
    before = around(f"{call}=ENOSYS", "landlock_create_ruleset=ENOSYS")
    refuses(host(before), "ending programs", "pidfd_open(2)")
    sufficient, missing = doctor(before)
    assert not sufficient
    assert missing.startswith("ending programs")


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (("landlock_create_ruleset=ENOSYS", *DOCKER), "no files"),
        (("seccomp=EPERM", "prctl:22=EPERM"), "system call filter"),
        (("prctl:38=EINVAL",), "lockdown"),
        (DOCKER, ""),
        (("clone3=ENOSYS",), ""),
    ],
    ids=["no Landlock", "no seccomp", "no promise", "docker", "no clone3"],
)
@pytest.mark.sampled(every=8)
def test_doctor_reports_missing_kernel_features(rules: tuple[str, ...], missing: str) -> None:
    sufficient, said = doctor(around(*rules))
    assert sufficient == (not missing)
    assert said.startswith(missing)
