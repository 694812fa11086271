"""ez-ptc 0.4.0: every tool in the prompt, a program in the text."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.tokens.subjects import Peer, PeerTurn

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Peer:
    """Return a toolkit over the functions."""
    return _Old(functions)


class _Old:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        library: Any = importlib.import_module("ez_ptc")
        toolkit = library.Toolkit([library.ez_tool(function) for function in functions], assist_tool_chaining=True)
        self._prompt: str = toolkit.prompt()

    def turns(self, question: str, names: Sequence[str], code: str, answer: str) -> list[PeerTurn]:
        del question, names
        return [(self._prompt, f"```python\n{code}\n```", answer), (self._prompt, answer, "")]
