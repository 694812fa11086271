"""What to say of a name that no tool has."""

import difflib
from collections.abc import Collection

__all__ = ["not_found"]


def not_found(name: object, names: Collection[str]) -> str:
    """Return the sentence that lists the names there are, nearest first."""
    near = difflib.get_close_matches(str(name), names, n=len(names) or 1, cutoff=0)
    return f"there is no tool {name!r}; there are: {', '.join(near) or 'none'}"
