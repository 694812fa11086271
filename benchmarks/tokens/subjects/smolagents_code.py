"""smolagents' CodeAgent: every tool in the system prompt; a program ends with the answer."""

import importlib
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.tokens.subjects import Peer, PeerTurn

__all__ = ["start"]

_PARAMETER = re.compile(r"^\s*(?::param )?(\w+)(?: \([^)\n]*\))?: (.+)$", re.MULTILINE)
_SECTION = re.compile(r"\n\s*(?::param|:return|Args:|Returns:)")


def start(functions: Sequence[Callable[..., object]]) -> Peer:
    """Return an agent over the functions."""
    return _Smol(functions)


class _Smol:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        library: Any = importlib.import_module("smolagents")
        agent = library.CodeAgent(
            tools=[library.tool(_document(function)) for function in functions], model=library.Model()
        )
        self._prompt: str = agent.system_prompt
        self._tags: tuple[str, str] = agent.code_block_tags

    def turns(self, question: str, names: Sequence[str], code: str, answer: str) -> list[PeerTurn]:
        del question, names
        opening, closing = self._tags
        said = f"{opening}\n{code}\n{closing}"
        told = f"Observation:\nExecution logs:\n{answer}"
        return [(self._prompt, said, told), (self._prompt, f"{opening}\nfinal_answer({answer!r})\n{closing}", "")]


def _document(function: Callable[..., object]) -> Callable[..., object]:
    """Return a function with a line about each parameter and a return type, which smolagents asks for."""
    text = inspect.getdoc(function) or function.__name__
    described = dict(_PARAMETER.findall(text))
    parameters = inspect.signature(function).parameters
    lines = [f"    {name}: {described.get(name, name)}" for name in parameters]
    target = getattr(function, "__func__", function)
    target.__doc__ = "\n".join([_SECTION.split(text)[0].strip(), "", "Args:" if lines else "", *lines])
    target.__annotations__.setdefault("return", Any)
    return function
