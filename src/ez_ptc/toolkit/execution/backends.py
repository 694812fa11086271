"""The choice of a backend: the kernel's sandbox where it isolates programs, else WebAssembly where it is installed.

The environment variable `EZ_PTC_SANDBOX`, or the name given to a toolkit, chooses one instead, `process`, `wasm` or
that of another package; then no other is tried.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final, cast

from ez_ptc._component import COMPONENT_PYTHON, HOST_PYTHON
from ez_ptc._extras import load_entry_point
from ez_ptc.errors import IsolationUnavailableError, SandboxError
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ez_ptc.sandbox.protocol.interfaces import Sandbox
    from ez_ptc.sandbox.protocol.isolation import Report

__all__ = [
    "GROUP",
    "check_kernel",
    "check_name",
    "check_other",
    "check_wasm",
    "find_python",
    "make_sandbox",
    "read_choice",
    "select",
]

# The entry points with which other packages add sandboxes: functions called without arguments, or with the packages
# that a toolkit's programs may import as `allow_imports`.
GROUP: Final = "ez_ptc.sandboxes"

_log = logging.getLogger("ez_ptc.sandbox")
_VARIABLE: Final = "EZ_PTC_SANDBOX"
_OURS: Final = ("process", "wasm")
_ALIKE: Final = 0.6
# What a toolkit uses of a sandbox.
_NEEDED: Final = ("isolation", "interpreter", "execute", "aexecute", "session", "close")


def read_choice() -> str | None:
    """Return the backend that the environment names, or None. Raises SandboxError for an unknown name."""
    name = os.environ.get(_VARIABLE, "")
    if not name:
        return None
    names = _names(name)
    if name not in names:
        known = f"{', '.join(names[:-1])} or {names[-1]}"
        message = f"expected {_VARIABLE} to be {known}, got {safe_repr(name)}: correct the variable or remove it"
        raise SandboxError(message)
    return name


def check_name(name: str) -> None:
    """Return if there is a sandbox with this name. Raises ValueError."""
    names = _names(name)
    if name not in names:
        from difflib import get_close_matches

        near = get_close_matches(name, names, n=1, cutoff=_ALIKE)
        hint = f": did you mean {near[0]!r}?" if near else "."
        message = f"there is no sandbox {safe_repr(name)}{hint} There are: {', '.join(names)}"
        raise ValueError(message)


def _names(name: str) -> list[str]:
    """Return the known names; those of other packages only if `name` is not built in."""
    if name in _OURS:
        return [*_OURS]
    # Takes two megabytes, for names that few use.
    from importlib.metadata import entry_points

    return [*_OURS, *dict.fromkeys(point.name for point in entry_points(group=GROUP) if point.name not in _OURS)]


def find_python(sandbox: Sandbox | str | None) -> str:
    """Return the version of Python in which a toolkit's programs run, such as "3.11", without starting a sandbox."""
    if sandbox is None:
        sandbox = os.environ.get(_VARIABLE, "")
    if sandbox == "wasm":
        return COMPONENT_PYTHON
    if isinstance(sandbox, str):
        is_other = sandbox and sandbox not in _OURS and sandbox in _names(sandbox)
        return getattr(_load(sandbox), "python", HOST_PYTHON) if is_other else HOST_PYTHON
    return getattr(sandbox, "python", HOST_PYTHON)


def make_sandbox(packages: Iterable[str], name: str | None = None) -> Sandbox:
    """Return a sandbox whose programs may import `packages`; its boot has begun, or where there is a choice, ended.

    Raises:
        IsolationUnavailableError: No backend can run programs here, or none that can import the packages.
        SandboxError: `EZ_PTC_SANDBOX` names no backend, or the sandbox cannot be started.
    """
    from ez_ptc._component import is_component_installed

    choice = name or read_choice()
    if choice == "wasm":
        return _make_wasm_sandbox(packages, "sandbox is 'wasm'" if name else f"{_VARIABLE} is wasm")
    if choice is not None and choice not in _OURS:
        return _make_other(choice, packages)
    from ez_ptc.sandbox.host.backend import ProcessSandbox

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


def _make_wasm_sandbox(packages: Iterable[str], reason: str) -> Sandbox:
    from ez_ptc.sandbox.wasm.backend import WasmSandbox

    names = ", ".join(sorted(packages))
    if names:
        message = f"programs in WebAssembly can import the standard library only, not {names} ({reason})"
        raise IsolationUnavailableError(message)
    return WasmSandbox()


def _load(name: str) -> Callable[..., object]:
    """Return what another package makes its sandbox with. Raises SandboxError if it cannot be imported."""
    return cast("Callable[..., object]", load_entry_point(GROUP, name, role="sandbox", error=SandboxError))


def _make_other(name: str, packages: Iterable[str]) -> Sandbox:
    """Return the sandbox of another package. Raises SandboxError if it is not one, or cannot import `packages`."""
    from inspect import signature

    make, allowed = _load(name), sorted(packages)
    if not allowed:
        sandbox = make()
    elif "allow_imports" in signature(make).parameters:
        sandbox = make(allow_imports=allowed)
    else:
        message = f"the sandbox {safe_repr(name)} takes no allow_imports, so programs in it cannot import {allowed[0]}"
        raise SandboxError(message)
    # By its class: to ask an object for its isolation starts it.
    lacking = [needed for needed in _NEEDED if not hasattr(type(sandbox), needed)]
    if lacking:
        message = (
            f"expected the sandbox {safe_repr(name)} to have {', '.join(_NEEDED)}, got a {type(sandbox).__name__} "
            f"without {', '.join(lacking)}: see the page on writing a sandbox"
        )
        raise SandboxError(message)
    return cast("Sandbox", sandbox)


def check_kernel() -> Report:
    """Boot a kernel sandbox, probe its isolation, and end it. Raises SandboxError if it cannot be started."""
    from ez_ptc.sandbox.host.isolation import check

    return check()


def check_wasm() -> Report:
    """Return the isolation of programs in WebAssembly; without its packages, a report of what to install."""
    from ez_ptc.sandbox.wasm.backend import report_component

    return report_component()


def check_other(name: str) -> Report | None:
    """Start the sandbox of another package, and return its isolation; None for one of ours. Raises SandboxError."""
    if name in _OURS:
        return None
    sandbox = _make_other(name, ())
    try:
        return sandbox.isolation
    finally:
        sandbox.close()


def select(kernel: Report, wasm: Report) -> str:
    """Return the backend that programs get by default, given both reports."""
    if not kernel.sufficient and wasm.sufficient:
        return read_choice() or "wasm"
    return read_choice() or "process"
