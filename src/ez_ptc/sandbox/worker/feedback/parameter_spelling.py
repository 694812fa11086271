"""Arguments passed under real parameter names that Python cannot write."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

from ..quoting import MAX_QUOTED, on_one_line

if TYPE_CHECKING:
    from .signatures import Shapes

__all__ = ["spelling_hint"]

_PASSED = re.compile(r"""[(,]\s{0,9}(["']?)([^\s=(),"'][^=(),"'\s]{0,60})\1\s?=(?!=)""")
_MAX_LINE = 1_000


def spelling_hint(error: SyntaxError, shapes: Shapes) -> str | None:
    """Return the spelling of an argument that a line passes as `from=` or `user-id=`, as a hint, or None."""
    line = error.text
    if type(line) is not str:
        return None
    called = [shape for shape in shapes.values() if shape.tool in line[:_MAX_LINE]]
    for match in _PASSED.finditer(line[:_MAX_LINE]):
        if match[2].isidentifier() and not keyword.iskeyword(match[2]):
            continue
        name = "_".join(re.findall(r"\w+", match[2]))
        for tool in called:
            spelling = next((spelling for spelling in (f"{name}_", name) if spelling in tool.named), None)
            if spelling:
                return f"write {on_one_line(spelling, MAX_QUOTED)}=; the tool is {tool.signature}"
    return None
