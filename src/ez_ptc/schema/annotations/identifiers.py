"""Names that Python can write."""

import keyword
from typing import Final

__all__ = ["MAX_LENGTH", "is_writable", "normal_form"]

MAX_LENGTH: Final = 128
"""Characters of the longest name that is written as it is."""


def is_writable(name: str) -> bool:
    """Return whether Python can write a name as a variable or a parameter, and reads the same name."""
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and len(name) <= MAX_LENGTH
        and name != "__debug__"
        and normal_form(name) == name
    )


def normal_form(name: str) -> str:
    """Return a name in the form that Python reads identifiers in: `find` for one that is written with a ligature."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)
