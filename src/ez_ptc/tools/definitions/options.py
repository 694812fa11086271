"""What a developer may say of a tool, by name."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

__all__ = ["FunctionOptions", "HandmadeOptions", "SynonymOptions"]


class HandmadeOptions(TypedDict, total=False):
    """What a tool that is made by hand may be told besides its name, description, parameters and function."""

    return_schema: dict[str, Any] | None
    category: str | None
    requires_approval: bool
    idempotent: bool
    read_only: bool | None
    strict: bool | None
    timeout: float | None


class SynonymOptions(HandmadeOptions, total=False):
    """The same with the other names of `parameters` and `function`."""

    schema: Mapping[str, Any]
    fn: Callable[..., object]


class FunctionOptions(HandmadeOptions, total=False):
    """What a tool that is made from a function may be told."""

    name: str | None
    description: str | None
