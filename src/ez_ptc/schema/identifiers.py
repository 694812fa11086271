"""Names that Python can write."""

import keyword
from typing import Final
from unicodedata import normalize

__all__ = ["MAX_LENGTH", "is_writable"]

MAX_LENGTH: Final = 128
"""Characters of the longest name that is written as it is."""


def is_writable(name: str) -> bool:
    """Return whether Python can write a name as a variable or a parameter, and reads the same name."""
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and len(name) <= MAX_LENGTH
        and name != "__debug__"
        and (name.isascii() or normalize("NFKC", name) == name)
    )
