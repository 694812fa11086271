"""A sandbox for the whole run, and the ways of running a program in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import anyio
import pytest

from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.toolkit.toolkit import Toolkit
from tests.sandbox.fresh import FRESH
from tests.sandbox.tools import TOOLS


@pytest.fixture(scope="session")
def sandbox() -> Iterator[ProcessSandbox]:
    """The sandbox that the tests share; each program has a process of its own in it, or a restored one."""
    found = ProcessSandbox(fresh=FRESH)
    yield found
    found.close()


@pytest.fixture(scope="session")
def toolkit(sandbox: ProcessSandbox) -> Toolkit:
    """A few plain tools."""
    return Toolkit(TOOLS, sandbox=sandbox)


def _execute_from(where: str) -> Callable[..., ExecutionResult]:
    def run(toolkit: Toolkit, code: str, timeout: float | None = None) -> ExecutionResult:
        if where == "blocking":
            return toolkit.execute(code, timeout)
        return anyio.run(functools.partial(toolkit.aexecute, code, timeout), backend=where)

    return run


@pytest.fixture(params=["blocking", "asyncio"])
def execute(request: pytest.FixtureRequest) -> Callable[..., ExecutionResult]:
    """Run a program: by each of the two drivers."""
    return _execute_from(request.param)


@pytest.fixture(params=["blocking", "asyncio", "trio"])
def execute_everywhere(request: pytest.FixtureRequest) -> Callable[..., ExecutionResult]:
    """Run a program: from a thread, and from each event loop."""
    return _execute_from(request.param)
