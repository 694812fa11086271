"""The keys of a result that only the docstring of its tool lists.

They serve the wording of a prompt and its worked example. A docstring may be wrong, so no check uses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ez_ptc.schema.annotations.docstrings import result_names

if TYPE_CHECKING:
    from ez_ptc.tools.tool import Tool

__all__ = ["docstring_schema"]

_TYPES: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def docstring_schema(tool: Tool[..., Any]) -> dict[str, Any] | None:
    """Return the JSON Schema of a dict as the tool's docstring lists its keys below "Returns"; None without such keys.

    A tool with a return schema has none. One name of a dict names the whole result, and is no key.
    """
    if tool.return_schema is not None or not tool.signature.rpartition(" -> ")[2].lower().startswith("dict"):
        return None
    names = result_names(tool.docstring)
    if not names or (len(names) == 1 and all(text.lower().startswith("dict") for text in names.values())):
        return None
    properties = {name: {"type": _TYPES[text]} if text in _TYPES else {} for name, text in names.items()}
    return {"type": "object", "properties": properties}
