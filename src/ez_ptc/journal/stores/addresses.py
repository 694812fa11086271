"""The addresses of journals on servers."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_address", "require_file_name"]

# Also with one slash, as Path writes an address; and the other form that PostgreSQL's programs take.
_SCHEME: Final = re.compile(
    r"\W*([a-z][a-z0-9+.-]{1,20}):/|.*(?::/{2}|\bpassword\s*=)|\W*(postgres[a-z0-9+.-]{,20}):",
    re.IGNORECASE | re.DOTALL,
)


def is_address(path: object) -> bool:
    """Return whether a journal's path is the address of a PostgreSQL server."""
    return isinstance(path, str) and path.startswith(("postgresql://", "postgres://"))


def require_file_name(
    path: str | Path,
    expected: str = "the path of a file or postgresql://USER:PASSWORD@HOST:PORT/DATABASE, as a text, for the journal",
) -> None:
    """Raise JournalError for any other address: as a file's name, it would be shown with its password."""
    match = _SCHEME.match(os.fspath(path))
    if match is None:
        return
    scheme = match[1] or match[2]
    seen = f"an address that begins with {scheme}:" if scheme else "another form of address"
    message = f"expected {expected}, got {seen}"
    raise JournalError(message)
