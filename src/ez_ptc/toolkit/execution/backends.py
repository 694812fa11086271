"""The choice of a backend: the kernel's sandbox where it isolates programs, else WebAssembly where it is installed.

The environment variable `EZ_PTC_SANDBOX` names one instead, `process` or `wasm`; then no other is tried.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final, Literal

from ez_ptc._component import COMPONENT_PYTHON, HOST_PYTHON
from ez_ptc.errors import IsolationUnavailableError, SandboxError
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.sandbox.host.backend import PooledSandbox
    from ez_ptc.sandbox.protocol.interfaces import Sandbox
    from ez_ptc.sandbox.protocol.isolation import Report

    Backend = Literal["process", "wasm"]

__all__ = ["check_kernel", "check_wasm", "find_python", "make_sandbox", "read_choice", "select"]

_log = logging.getLogger("ez_ptc.sandbox")
_VARIABLE: Final = "EZ_PTC_SANDBOX"


def read_choice() -> Backend | None:
    """Return the backend that the environment names, or None. Raises SandboxError for an unknown name."""
    name = os.environ.get(_VARIABLE, "")
    if name == "process" or name == "wasm":  # noqa: PLR1714 - pyright narrows no set to its literals
        return name
    if name:
        message = (
            f"expected {_VARIABLE} to be process or wasm, got {safe_repr(name)}: correct the variable or remove it"
        )
        raise SandboxError(message)
    return None


def find_python(sandbox: Sandbox | None) -> str:
    """Return the version of Python in which a toolkit's programs run, such as "3.11", without starting a sandbox."""
    if sandbox is None and os.environ.get(_VARIABLE) == "wasm":
        return COMPONENT_PYTHON
    return getattr(sandbox, "python", HOST_PYTHON)


def make_sandbox(packages: Iterable[str]) -> PooledSandbox:
    """Return a sandbox whose programs may import `packages`; its boot has begun, or where there is a choice, ended.

    Raises:
        IsolationUnavailableError: No backend can run programs here, or none that can import the packages.
        SandboxError: `EZ_PTC_SANDBOX` names no backend, or the sandbox cannot be started.
    """
    from ez_ptc._component import is_component_installed
    from ez_ptc.sandbox.host.backend import ProcessSandbox

    choice = read_choice()
    if choice == "wasm":
        return _make_wasm_sandbox(packages, f"{_VARIABLE} is wasm")
    sandbox = ProcessSandbox(allow_imports=packages)
    if choice == "process" or not is_component_installed():
        # Its first program says if it cannot run here.
        sandbox.boot_soon()
        return sandbox
    try:
        _log.debug("isolation of programs: %s", sandbox.isolation)
    except IsolationUnavailableError as error:
        sandbox.close()
        _log.info("programs run in WebAssembly: %s", error)
        return _make_wasm_sandbox(packages, str(error))
    return sandbox


def _make_wasm_sandbox(packages: Iterable[str], reason: str) -> PooledSandbox:
    from ez_ptc.sandbox.wasm.backend import WasmSandbox

    names = ", ".join(sorted(packages))
    if names:
        message = f"programs in WebAssembly can import the standard library only, not {names} ({reason})"
        raise IsolationUnavailableError(message)
    return WasmSandbox()


def check_kernel() -> Report:
    """Boot a kernel sandbox, probe its isolation, and end it. Raises SandboxError if it cannot be started."""
    from ez_ptc.sandbox.host.isolation import check

    return check()


def check_wasm() -> Report:
    """Return the isolation of programs in WebAssembly; without its packages, a report of what to install."""
    from ez_ptc.sandbox.wasm.backend import report_component

    return report_component()


def select(kernel: Report, wasm: Report) -> Backend:
    """Return the backend that programs get by default, given both reports."""
    if not kernel.sufficient and wasm.sufficient:
        return read_choice() or "wasm"
    return read_choice() or "process"
