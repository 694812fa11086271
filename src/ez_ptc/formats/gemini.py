"""The JSON of Gemini's function declarations."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

__all__ = ["describe"]


def describe(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as a function declaration; `parameters` is a JSON Schema, of which it takes a copy.

    Gemini takes a part of JSON Schema there: no `prefixItems`, `uniqueItems`, `const` or `$ref`.
    """
    return {"name": name, "description": description, "parameters": deepcopy(dict(parameters))}
