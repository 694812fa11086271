"""The `repr` of a value that cannot be returned, as bounded text for a model."""

from __future__ import annotations

import re
import reprlib
from typing import cast

from ..protocol.both_ends.quoting import indent_rest, on_one_line

__all__ = ["safe_value_text"]

_MAX_TEXT = 2_000
_MAX_ITEMS = 20
_MAX_LEVELS = 3
_MAX_STRING = 200
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
_ITEMS = ("maxtuple", "maxlist", "maxarray", "maxdict", "maxset", "maxfrozenset", "maxdeque")
_NO_LIBRARIES = ("__main__", "builtins")


def safe_value_text(value: object) -> str:
    """Return the `repr` of a value without memory addresses, cut to 2,000 characters.

    It is on one line, since names in it may be foreign; a library's own class, such as a table, may have further lines,
    indented. Items in Python's containers are cut before they are written. Any other value's own code runs, which may
    raise anything and take time.
    """
    writer = reprlib.Repr()
    for name in _ITEMS:
        setattr(writer, name, _MAX_ITEMS)
    writer.maxlevel, writer.maxstring, writer.maxother = _MAX_LEVELS, _MAX_STRING, _MAX_TEXT
    text = _ADDRESS.sub("", str.__str__(writer.repr(value)))
    if type(value).__repr__ is object.__repr__:  # only a name
        return on_one_line(text, _MAX_STRING)
    module = cast("object", type(value).__module__)
    is_of_library = isinstance(module, str) and module.partition(".")[0] not in _NO_LIBRARIES
    if not is_of_library or not type(value).__name__.isidentifier():
        return on_one_line(text, _MAX_TEXT)
    if len(text) > _MAX_TEXT:
        text = f"{text[:_MAX_TEXT]} [... {len(text) - _MAX_TEXT:,} characters are left out here]"
    return indent_rest(text)
