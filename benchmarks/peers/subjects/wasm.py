"""This library with its portable sandbox: programs in WebAssembly."""

from benchmarks.peers.subject import Subject
from benchmarks.peers.subjects.ours import start_with

__all__ = ["start"]


def start() -> Subject:
    """Return a toolkit over the tools. Raises MissingExtraError, an ImportError, if WebAssembly is not installed."""
    from ez_ptc import WasmSandbox

    sandbox = WasmSandbox()
    sandbox.warm_up()
    return start_with(sandbox)
