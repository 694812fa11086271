"""What to say of a name that no tool has."""

import difflib
from collections.abc import Collection
from typing import Final

from ez_ptc.schema.shown import shown

__all__ = ["not_found"]


# A model makes names up, of any length.
_COMPARED: Final = 128


def not_found(name: object, names: Collection[str]) -> str:
    """Return the sentence that lists the names there are, nearest first."""
    near = difflib.get_close_matches(str(name)[:_COMPARED], names, n=len(names) or 1, cutoff=0)
    return f"there is no tool {shown(name)}; there are: {', '.join(near) or 'none'}"
