"""The names of tools: as a program writes them, and what to say of one that no tool has."""

import difflib
import keyword
import re
from collections.abc import Collection
from typing import Final

from ez_ptc.schema.shown import shown, shown_names

__all__ = ["not_found", "python_name"]


# A model makes names up, of any length.
_COMPARED: Final = 128


def not_found(name: object, names: Collection[str]) -> str:
    """Return the sentence that lists the names there are, nearest first."""
    near = difflib.get_close_matches(str(name)[:_COMPARED], names, n=len(names) or 1, cutoff=0)
    return f"there is no tool {shown(name)}; there are: {shown_names(near) or 'none'}"


def python_name(name: str) -> str:
    """Return a tool's name as a program can write it: `get_weather` for `get-weather`."""
    name = re.sub(r"\W", "_", name)
    if keyword.iskeyword(name):
        return f"{name}_"
    return name if name.isidentifier() else f"_{name}"
