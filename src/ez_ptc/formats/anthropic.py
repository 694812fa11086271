"""The JSON of Anthropic's Messages."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

__all__ = ["describe"]


def describe(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`; `parameters` is a JSON Schema, of which it takes a copy."""
    return {"name": name, "description": description, "input_schema": deepcopy(dict(parameters))}
