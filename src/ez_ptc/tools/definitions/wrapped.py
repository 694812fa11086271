"""Arguments that a small model wrote within a whole call, or within the schema that it was given."""

from collections.abc import Mapping
from typing import Final, cast

from ez_ptc.schema.arguments.json_text import read_container

__all__ = ["unwrap_arguments"]

_WRAPPERS: Final = ("arguments", "parameters", "args", "kwargs", "params", "input", "tool_input", "properties")
_CONTAINERS: Final = (str, list, dict, type(None))
_NAMES: Final = frozenset({"name", "function", "tool", "tool_name"})


def unwrap_arguments(
    tool: str, arguments: Mapping[str, object], parameters: Mapping[str, object]
) -> tuple[dict[str, object], str] | None:
    """Return the arguments within others and a sentence about it, if it is certain; None for all other arguments.

    The tool has all of the inner names as parameters; it must have none of the outer ones. They may be JSON text.
    """
    keys = [key for key in _WRAPPERS if not _is_empty(arguments.get(key))]
    if len(keys) != 1:
        return None
    inner = arguments[keys[0]]
    if isinstance(inner, str) and (container := read_container(inner)) is not None:
        inner, _ = container
    if not isinstance(inner, dict) or not inner or not cast("dict[str, object]", inner).keys() <= parameters.keys():
        return None
    for key, value in arguments.items():
        if not (
            key == keys[0]
            or (key in _NAMES and value == tool)
            or (key == "type" and value in ("function", "object"))
            or (key in _WRAPPERS and _is_empty(value))
        ):
            return None
    return cast("dict[str, object]", inner), f"the arguments came within {keys[0]!r}"


def _is_empty(value: object) -> bool:
    return type(value) in _CONTAINERS and not value
