"""The page on security lists what two programs could share in the kernel; each row has its test or its filter rule."""

from __future__ import annotations

import errno
import re

import pytest

from tests.sandbox.scripts import ROOT
from tests.sandbox.worker.lifecycle.bpf import Filter, refusal
from tests.sandbox.worker.lifecycle.system_calls import NUMBERS
from tests.sandbox.worker.lifecycle.test_filters import FILTERS, MACHINES, POLICIES, names

# What reaches the objects of the rows that say "no call".
REFUSED = names(
    "fcntl flock mmap shmget shmat msgget semget mq_open memfd_create keyctl add_key request_key unshare setns "
    "inotify_init1 inotify_add_watch fanotify_init sysinfo sched_setaffinity sched_setscheduler sched_getscheduler "
    "getpriority setpriority ioprio_set kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo timer_create "
    "timerfd_create signalfd4 mlock mlockall process_vm_readv ptrace kcmp mincore utimensat fstat statx sendmsg "
    "recvmsg sendfile splice tee vmsplice io_uring_setup userfaultfd bpf perf_event_open getsockopt setsockopt getpgid "
    "getsid membarrier prctl semtimedop"
)


def rows() -> list[str]:
    section = (ROOT / "docs" / "security.md").read_text(encoding="utf-8").split("## What two programs could share")[1]
    return [line for line in section.split("\n## ")[0].splitlines() if line.startswith("| ")][1:]


def test_every_row_names_tests_that_exist() -> None:
    assert len(rows()) > 10
    for row in rows():
        tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert tests, row
        for path, name in tests:
            assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), (path, name)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "zygote"])
def test_no_call_reaches_what_could_be_shared(policy: str, machine: str) -> None:
    filter_ = Filter.parse((FILTERS / f"{policy}.{machine}.bpf").read_bytes())
    numbers = {name: NUMBERS[machine][name] for name in REFUSED if name in NUMBERS[machine]}
    assert len(numbers) > 20
    answers = {name: filter_.answer(machine, number) for name, number in numbers.items()}
    assert set(answers.values()) <= {refusal(errno.EPERM), refusal(errno.EACCES)}, answers
