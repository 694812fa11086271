"""The choice of a backend, where the component is not installed; `tests/sandbox/wasm` has the rest."""

from __future__ import annotations

import re

import pytest

from ez_ptc import Toolkit
from tests.sandbox.scripts import run_script
from tests.sandbox.worker.lifecycle.parent_filter import around

# As if nothing of the extra was installed.
ERROR = """
import sys
sys.modules["wasmtime"] = sys.modules["ez_ptc_wasm"] = None
from ez_ptc import Toolkit
try:
    print(Toolkit([]).execute("1"))
except Exception as error:
    print(type(error).__name__, error)
"""
# The sandbox that toolkits share, before any program.
BOOTED = """
import os
from ez_ptc.toolkit.execution.shared_sandbox import SandboxAccess
from tests.sandbox.processes import becomes, descendants
access = SandboxAccess(None, frozenset())
access.open()
print(becomes(lambda: len(descendants(os.getpid())) > 1, True, within=60))
access.close()
"""
WITHOUT_SECCOMP = ("seccomp=EPERM", "prctl:22=EPERM")


def assert_both_parts_are_named(message: str) -> None:
    """The engine by its requirement, the component by the file to build; neither by a name of ours on an index."""
    assert re.search(r'pip install "wasmtime[^"]*>=[^"]*"; ', message)
    assert re.search(r"make dist, then: pip install dist/ez_ptc_py_wasm-[^/]*\.whl$", message.strip())


def test_chosen_backend_that_is_missing_names_what_to_install() -> None:
    said = run_script(ERROR, env={"EZ_PTC_SANDBOX": "wasm"})
    assert said.startswith("MissingExtraError wasmtime is not installed")
    assert_both_parts_are_named(said)


@pytest.mark.parametrize("choice", ["", "process"])
@pytest.mark.sampled(every=2)
def test_refusal_by_the_kernel_names_both_ways(choice: str) -> None:
    said = run_script(ERROR, before=around(*WITHOUT_SECCOMP), env={"EZ_PTC_SANDBOX": choice})
    assert said.startswith("IsolationUnavailableError programs cannot be isolated here")
    assert "What to do: " in said
    assert_both_parts_are_named(said)


def test_unknown_backend_is_an_error() -> None:
    said = run_script(ERROR, env={"EZ_PTC_SANDBOX": "docker"})
    assert said.startswith("SandboxError expected EZ_PTC_SANDBOX to be process or wasm, got 'docker'")


def test_toolkit_tells_the_backend_and_its_isolation() -> None:
    with Toolkit([]) as toolkit:
        report = toolkit.isolation
    assert (report.backend, report.sufficient) == ("process", True)


def test_shared_sandbox_boots_while_the_first_program_is_prepared() -> None:
    assert run_script(BOOTED) == "True\n"
