"""What is measured: one module a subject, each with the same ``start()``, and their names in the table's order.

A module here imports its library inside :func:`start`: to name a subject, it need not be installed.
"""

import importlib
from typing import Final, Protocol, cast

from benchmarks.peers.subject import Subject

__all__ = ["OLD", "OTHERS", "OURS", "SUBJECTS", "start"]

OURS: Final = "ours"
OLD: Final = "ez_ptc_0_4"
OTHERS: Final = frozenset({"smolagents_local", "restricted_python", "bubblewrap"})
"""Those whose packages live in an environment of their own, because we lock none of what they ask for."""
SUBJECTS: Final[dict[str, str]] = {
    OURS: "ez-ptc",
    "ours_restored": "ez-ptc, restored",
    "wasm": "ez-ptc, WebAssembly",
    "wasm_copied": "WebAssembly, copied",
    "monty": "monty, kept process",
    "monty_once": "monty, own process",
    OLD: "ez-ptc 0.4.0",
    "smolagents_local": "smolagents",
    "restricted_python": "RestrictedPython",
    "cold_python": "cold python",
    "bubblewrap": "bubblewrap",
    "plain_exec": "exec",
}
"""Modules here, and what the table calls them."""


class _Module(Protocol):
    @staticmethod
    def start() -> Subject: ...


def start(name: str) -> Subject:
    """Return the subject ``name``, ready to run programs. Raises ImportError where its library is not installed."""
    module = cast("_Module", cast("object", importlib.import_module(f"{__name__}.{name}")))
    return module.start()
