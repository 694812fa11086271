"""The package with the worker as a WebAssembly component. Looking for it imports nothing else of this backend."""

from __future__ import annotations

import importlib.util

from ez_ptc.errors import MissingExtraError, SandboxError

__all__ = ["COMPONENT_VERSION", "INSTALL", "is_component_installed", "require_component"]

COMPONENT_VERSION = "1.0.0.dev0"
"""The version of the package `ez-ptc-wasm` that has the worker of this version."""
INSTALL = 'pip install --upgrade "ez-ptc[wasm]"'
"""The command that installs it."""
_PACKAGES = ("wasmtime", "ez_ptc_wasm")


def require_component() -> None:
    """Return if the engine and the component are installed.

    Raises:
        MissingExtraError: One of them is missing.
        SandboxError: The component belongs to another version, or is not built.
    """
    for package in _PACKAGES:
        if importlib.util.find_spec(package) is None:
            message = f"{package} is not installed; install it with: {INSTALL}"
            raise MissingExtraError(message)
    import ez_ptc_wasm

    if ez_ptc_wasm.__version__ != COMPONENT_VERSION:
        message = f"expected ez-ptc-wasm {COMPONENT_VERSION}, got {ez_ptc_wasm.__version__}; install it with: {INSTALL}"
        raise SandboxError(message)
    if not (ez_ptc_wasm.COMPONENT.exists() and ez_ptc_wasm.DIGEST.exists()):
        message = f"{ez_ptc_wasm.COMPONENT} does not exist; in a checkout, build it with: make wasm"
        raise SandboxError(message)


def is_component_installed() -> bool:
    """Return whether programs can run in WebAssembly here."""
    try:
        require_component()
    except (MissingExtraError, SandboxError):
        return False
    return True
