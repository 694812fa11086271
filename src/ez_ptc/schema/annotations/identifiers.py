"""Names that are valid Python identifiers."""

import keyword
from typing import Final

__all__ = ["MAX_LENGTH", "is_writable", "normal_form"]

# The maximum length of a name that is used unchanged.
MAX_LENGTH: Final = 128


def is_writable(name: str) -> bool:
    """Return whether a name is a valid variable or parameter name that Python reads unchanged."""
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and len(name) <= MAX_LENGTH
        and name != "__debug__"
        and normal_form(name) == name
    )


def normal_form(name: str) -> str:
    """Return a name in Python's normal form of identifiers: `find` for a name with a ligature."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)
