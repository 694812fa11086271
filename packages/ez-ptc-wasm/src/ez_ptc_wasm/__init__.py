"""The component that ez-ptc runs programs in where it cannot have a kernel sandbox: CPython in WebAssembly."""

from importlib.metadata import version
from pathlib import Path

__all__ = ["COMPONENT", "DIGEST", "__version__"]

__version__ = version("ez-ptc-py-wasm")
COMPONENT = Path(__file__).with_name("worker.wasm")
"""The component. In a checkout, `make wasm` builds it."""
DIGEST = COMPONENT.with_name("worker.sha256")
"""The SHA-256 of the component, as hexadecimal digits."""
