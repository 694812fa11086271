"""The addresses of journals on servers."""

from __future__ import annotations

__all__ = ["is_address"]


def is_address(path: object) -> bool:
    """Return whether a journal's path is the address of a PostgreSQL server."""
    return isinstance(path, str) and path.startswith(("postgresql://", "postgres://"))
