"""The package with the worker as a WebAssembly component. Looking for it imports nothing of that backend."""

from __future__ import annotations

import importlib.util
import sys

from ez_ptc._distribution import VERSION
from ez_ptc._extras import install_command
from ez_ptc.errors import MissingExtraError, SandboxError

__all__ = [
    "COMPONENT_PYTHON",
    "COMPONENT_VERSION",
    "COMPONENT_WHEEL",
    "HOST_PYTHON",
    "find_component_problem",
    "install_advice",
    "is_component_installed",
    "require_component",
]

COMPONENT_VERSION = VERSION
"""The version of the component's package that has the worker of this version."""
COMPONENT_PYTHON = "3.14"
"""The version of Python in the component, which programs in WebAssembly run in."""
HOST_PYTHON = ".".join(map(str, sys.version_info[:2]))
"""The version of Python of this process, which other programs run in."""
COMPONENT_WHEEL = f"dist/ez_ptc_py_wasm-{COMPONENT_VERSION}-py3-none-any.whl"
"""The file that `make dist` builds in a clone of this repository."""


def find_component_problem() -> MissingExtraError | SandboxError | None:
    """Return an error that says what is missing, unbuilt or of another version, or None."""
    for package in ("wasmtime", "ez_ptc_wasm"):
        if importlib.util.find_spec(package) is None:
            return MissingExtraError(f"{package} is not installed")
    import ez_ptc_wasm

    if ez_ptc_wasm.__version__ != COMPONENT_VERSION:
        return SandboxError(f"expected ez_ptc_wasm {COMPONENT_VERSION}, got {ez_ptc_wasm.__version__}")
    if not (ez_ptc_wasm.COMPONENT.exists() and ez_ptc_wasm.DIGEST.exists()):
        return SandboxError(f"{ez_ptc_wasm.COMPONENT} does not exist")
    return None


def install_advice() -> str:
    """Return what to do to have the engine and the component."""
    component = (
        f"in a clone of ez-ptc, build the component, which is not published, with make dist, then: "
        f"pip install {COMPONENT_WHEEL}"
    )
    if importlib.util.find_spec("wasmtime") is not None:
        return component
    return f"{install_command('wasm') or 'pip install wasmtime'}; {component}"


def is_component_installed() -> bool:
    """Return whether programs can run in WebAssembly here."""
    return find_component_problem() is None


def require_component() -> None:
    """Return if the engine and the component are installed.

    Raises:
        MissingExtraError: One of them is missing.
        SandboxError: The component belongs to another version, or is not built.
    """
    problem = find_component_problem()
    if problem is not None:
        msg = f"{problem}. What to do: {install_advice()}"
        raise type(problem)(msg)
