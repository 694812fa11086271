"""What is compared: one module a subject, each with the same ``start(functions)``, and the environment it needs."""

import importlib
from collections.abc import Callable, Sequence
from typing import Final, Protocol, cast

from benchmarks.model.subject import Subject

__all__ = ["SUBJECTS", "start"]

SUBJECTS: Final[dict[str, str]] = {
    "ours": "",
    "ours_declared": "",
    "ours_tool": "",
    "ez_ptc_0_4": "ez-ptc==0.4.0",
    "smolagents_code": "smolagents==1.26.0",
    "codeact": "langgraph-codeact==0.1.3",
}
"""Modules here, and what their environments have installed; nothing where it is this one."""


class _Module(Protocol):
    @staticmethod
    def start(functions: Sequence[Callable[..., object]]) -> Subject: ...


def start(name: str, functions: Sequence[Callable[..., object]]) -> Subject:
    """Return the subject `name` over functions. Raises ImportError where its package is not installed."""
    module = cast("_Module", cast("object", importlib.import_module(f"{__name__}.{name}")))
    return module.start(functions)
