"""The portable sandbox as on systems that cannot map the interpreter's memory: each instance copies it."""

from benchmarks.peers.subject import Subject
from benchmarks.peers.subjects import wasm

__all__ = ["start"]


def start() -> Subject:
    """Return a toolkit over the tools, as `wasm` does."""
    from ez_ptc.sandbox.wasm.component import Engine

    Engine.maps_images = False
    return wasm.start()
