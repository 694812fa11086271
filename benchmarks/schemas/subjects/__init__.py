"""What is measured: one module a subject, each with the same ``start()``, and their names in the table's order.

A module here imports its library inside :func:`start`: to name a subject, it need not be installed.
"""

import importlib
from typing import Final, Protocol, cast

from benchmarks.schemas.subject import Subject

__all__ = ["OURS", "PYDANTIC", "SUBJECTS", "start"]

OURS: Final = "ours"
PYDANTIC: Final = "pydantic_call"
SUBJECTS: Final[dict[str, tuple[str, str]]] = {
    OURS: ("ez-ptc", "ez-ptc-py"),
    PYDANTIC: ("pydantic validate_call", "pydantic"),
    "msgspec_struct": ("msgspec convert", "msgspec"),
    "openai_agents": ("openai-agents", "openai-agents"),
    "langchain": ("langchain-core", "langchain-core"),
    "fastmcp_tool": ("fastmcp", "fastmcp"),
}
"""Modules here, each with what the table calls it and the package it measures."""


class _Module(Protocol):
    @staticmethod
    def start() -> Subject: ...


def start(name: str) -> Subject:
    """Return the subject ``name``. Raises ImportError where its library is not installed."""
    module = cast("_Module", cast("object", importlib.import_module(f"{__name__}.{name}")))
    return module.start()
