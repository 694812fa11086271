"""The options of a tool, as keyword arguments."""

from collections.abc import Callable
from typing import Any, TypedDict

from ez_ptc.messages import PendingCall

__all__ = ["FunctionOptions", "HandmadeOptions"]


class HandmadeOptions(TypedDict, total=False):
    """The options of a tool with handwritten parameters. `ez_tool` documents them."""

    return_schema: dict[str, Any] | None
    category: str | None
    requires_approval: bool | Callable[[PendingCall], object]
    idempotent: bool
    read_only: bool | None
    strict: bool | None
    timeout: float | None


class FunctionOptions(HandmadeOptions, total=False):
    """The options of a tool made from a function's signature."""

    name: str | None
    description: str | None
