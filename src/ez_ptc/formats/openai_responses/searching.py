"""Tools for OpenAI's search, those of a category in a namespace.

Until the model has searched, it sees the name and description of each function that stands alone, and of each namespace
instead of its functions. A call has the function's own name, and its namespace in a field beside it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ez_ptc.formats.describable import Describable
from ez_ptc.formats.json_reader import objects
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.naming.spelling import fit_name
from ez_ptc.formats.openai_responses.tools import NAMES

__all__ = ["Namespaces", "defer", "group_by_category"]

# The type of the tool that searches among tools at OpenAI.
_SEARCH: Final = "tool_search"
_MAX_CATEGORY: Final = 100
_MAX_LISTED: Final = 10


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The namespaces of a request.

    Attributes:
        of_tools: The namespace of each tool in one, both by their names at OpenAI.
        descriptions: The description of each namespace for the model.
    """

    of_tools: Mapping[str, str] = field(default_factory=dict[str, str])
    descriptions: Mapping[str, str] = field(default_factory=dict[str, str])


def group_by_category(tools: Sequence[Describable], deferred: Collection[str], names: Names) -> Namespaces:
    """Return a namespace for each category with several of the deferred tools."""
    categories: dict[str, list[str]] = {}
    for tool in tools:
        if tool.name in deferred and tool.category:
            categories.setdefault(tool.category, []).append(names.to_provider(tool.name))
    taken = {names.to_provider(tool.name) for tool in tools}
    of_tools, descriptions = dict[str, str](), dict[str, str]()
    for category, members in categories.items():
        if len(members) == 1:
            continue
        namespace = base = fit_name(category, NAMES) or "tools"
        while namespace in taken:
            namespace = fit_name(f"{base}_{len(taken)}", NAMES)
        taken.add(namespace)
        of_tools.update(dict.fromkeys(members, namespace))
        descriptions[namespace] = _describe(category, members)
    return Namespaces(of_tools, descriptions)


def defer(
    described: Sequence[dict[str, Any]], names: Collection[str], namespaces: Namespaces, options: object = ()
) -> list[dict[str, Any]]:
    """Return described tools, those with these names for OpenAI's search only, with the tool that searches.

    `options` are further tools of the request: if one that searches is among them, it is the one.
    """
    changed: list[dict[str, Any]] = []
    opened: dict[str, dict[str, Any]] = {}
    for tool in described:
        name = str(tool.get("name"))
        namespace = namespaces.of_tools.get(name)
        searched = {**tool, "defer_loading": True} if name in names else tool
        if namespace is None:
            changed.append(searched)
        elif namespace in opened:
            opened[namespace]["tools"].append(searched)
        else:
            description = namespaces.descriptions[namespace]
            opened[namespace] = {
                "type": "namespace",
                "name": namespace,
                "description": description,
                "tools": [searched],
            }
            changed.append(opened[namespace])
    if any(tool.fields.get("type") == _SEARCH for tool in objects(options, "options.tools")):
        return changed
    return [*changed, {"type": _SEARCH}]


def _describe(category: str, members: Sequence[str]) -> str:
    title = " ".join(category.split())[:_MAX_CATEGORY]
    listed = ", ".join(members[:_MAX_LISTED])
    if len(members) > _MAX_LISTED:
        listed += f" and {len(members) - _MAX_LISTED} more"
    return f"{title}: {listed}"
