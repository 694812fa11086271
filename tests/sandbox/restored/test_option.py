"""`ProcessSandbox(fresh="restored")`: what it asks of a machine, and what its programs are told."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any, cast

import pytest

from ez_ptc import IsolationUnavailableError, Limits, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.scripts import run_script
from tests.sandbox.worker.lifecycle.parent_filter import around

HOST = """
from ez_ptc import IsolationUnavailableError, ProcessSandbox, Toolkit
for fresh in ("restored", "process"):
    with ProcessSandbox(fresh=fresh) as sandbox:
        try:
            print(Toolkit([], sandbox=sandbox).execute("1 + 1").return_value)
        except IsolationUnavailableError as error:
            print(error)
"""
# Looks for texts of tools in all pages with texts, with each byte one greater: what it looks for is in memory itself,
# and so are parts of the copies that it makes.
SEARCH = """
import ctypes, gc, sys
wanted = [b"tfdsfu!pg!gjstu", b"tfdsfu!pg!tfdpoe"]
greater = bytes(range(1, 256)) + bytes(1)
texts = [part for thing in gc.get_objects() for part in gc.get_referents(thing) if isinstance(part, str)]
places = {end & ~0xFFF for text in texts for end in (id(text), id(text) + sys.getsizeof(text) - 1)}
found, before = set(), (0, b"")
for place in sorted(places):
    page = ctypes.string_at(place, 4096).translate(greater)
    whole = (before[1] if before[0] == place - 4096 else b"") + page
    found |= {word for word in wanted if word in whole}
    before = place, page[-16:]
sorted(word[10:].decode() for word in found)
"""


@ez_tool
def first_tool(x: int) -> int:
    """Tell the secret of first."""
    return x + 1


@ez_tool
def second_tool(x: int) -> int:
    """Tell the secret of second."""
    return x + 2


@pytest.fixture
def sandbox() -> Iterator[ProcessSandbox]:
    with ProcessSandbox(ready=2, fresh="restored") as found:
        yield found


@pytest.mark.parametrize("rule", ["userfaultfd=EPERM", "ptrace=EPERM", "process_vm_readv=EPERM"])
@pytest.mark.sampled(every=3)
def test_machine_that_cannot_restore_names_the_default(rule: str) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("workers are restored on x86-64 only")
    refusal, value = run_script(HOST, before=around(rule)).splitlines()
    assert "cannot be restored" in refusal
    assert "fresh='process'" in refusal
    assert value == "2"


def test_other_machine_names_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with (
        ProcessSandbox(fresh="restored") as sandbox,
        pytest.raises(IsolationUnavailableError, match=r"this machine is aarch64.*fresh='process'"),
    ):
        Toolkit([], sandbox=sandbox).execute("1")


def test_unknown_kind_of_freshness_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected 'process' or 'restored', got 'new'"):
        ProcessSandbox(fresh=cast("Any", "new"))


def test_restored_workers_know_only_their_tools(sandbox: ProcessSandbox) -> None:
    first, second = Toolkit([first_tool], sandbox=sandbox), Toolkit([second_tool], sandbox=sandbox)
    for _ in range(6):
        assert first.execute(SEARCH, 20).return_value == ["gjstu"]
        assert second.execute(SEARCH, 20).return_value == ["tfdpoe"]
        sandbox.cool_down()


@pytest.mark.sampled(every=0)
def test_sessions_and_seeds_work_beside_restored_workers(sandbox: ProcessSandbox) -> None:
    toolkit = Toolkit([first_tool], sandbox=sandbox)
    for _ in range(4):
        assert toolkit.execute("first_tool(1)").return_value == 2
    with toolkit.session() as session:
        session.execute("kept = first_tool(1)")
        assert session.execute("kept").return_value == 2
    seeded = Toolkit([], sandbox=sandbox, limits=Limits(seed=7))
    assert len({seeded.execute("import random\nrandom.random()").return_value for _ in range(3)}) == 1


@pytest.mark.sampled(every=0)
def test_each_restored_program_has_its_limits(sandbox: ProcessSandbox) -> None:
    toolkit = Toolkit([first_tool], sandbox=sandbox, limits=Limits(calls=2, output=50, timeout=5))
    for _ in range(5):
        result = toolkit.execute("print('x' * 100)\n[first_tool(n) for n in range(3)]")
        assert result.truncated["output"] > 0
        assert "more than 2 tool calls" in (result.error or "")
        greedy = toolkit.execute("bytearray(1 << 40)")
        assert "MemoryError" in (greedy.error or "")
