"""The peers: one module each, with `start(functions)`, and the packages that its environment has."""

import importlib
from collections.abc import Callable, Sequence
from typing import Final, Protocol, cast

__all__ = ["SUBJECTS", "Peer", "PeerTurn", "start"]

SUBJECTS: Final[dict[str, str]] = {
    "ez_ptc_0_4": "ez-ptc==0.4.0",
    "smolagents_code": "smolagents==1.26.0",
    "pydantic_ai_code": "pydantic-ai-harness==0.36.0 pydantic-ai-slim==2.68.0 pydantic-monty==1.4.0",
    "fastmcp_code": "fastmcp[code-mode]==4.1.2",
}
"""Modules here, and what their environments have installed."""

PeerTurn = tuple[str, str, str]
"""What a request sends of instructions and tools, what the model says, and what it is told."""


class Peer(Protocol):
    """Some tools in a peer."""

    def turns(self, question: str, names: Sequence[str], code: str, answer: str) -> list[PeerTurn]:
        """Return the requests of a task, which needs tools of these names, whose program prints the answer."""
        ...


class _Module(Protocol):
    @staticmethod
    def start(functions: Sequence[Callable[..., object]]) -> Peer: ...


def start(name: str, functions: Sequence[Callable[..., object]]) -> Peer:
    """Return the peer `name` over functions. Raises ImportError where its package is not installed."""
    module = cast("_Module", cast("object", importlib.import_module(f"{__name__}.{name}")))
    return module.start(functions)
