"""A tool keeps alive what its function uses, and nothing else of the function that made it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Annotated, Any

import pydantic
import pytest
from typing_extensions import TypedDict

from ez_ptc import Context, Tool, Toolkit, ToolRegistry, ez_tool, tool

_Made = tuple[object, "weakref.ref[_Big]"]
_Maker = Callable[[Callable[..., Any]], object]

_MAKERS: dict[str, _Maker] = {
    "ez_tool": ez_tool,
    "tool": tool,
    "from_function": Tool.from_function,
    "toolkit": lambda function: Toolkit([function]),
    "registry": lambda function: ToolRegistry().register(ez_tool(function)),
    "schema": lambda function: Tool.from_function(function).schema,
    "approval": ez_tool(requires_approval=lambda _: True),
}


class _Big:
    """A variable that the function does not use."""


def _plain(make: _Maker) -> _Made:
    big = _Big()

    def get(number: int, word: str = "x") -> dict[str, int]:
        """Get."""
        return {word: number}

    return make(get), weakref.ref(big)


def _local_types(make: _Maker) -> _Made:
    big, limit = _Big(), 5

    class Row(TypedDict):
        number: Annotated[int, pydantic.Field(le=limit)]

    def get(row: Row, context: Context[Any]) -> list[Row]:
        """Get."""
        del context
        return [row]

    return make(get), weakref.ref(big)


def _method(make: _Maker) -> _Made:
    big = _Big()

    class Shop:
        def get(self, number: int | None = None) -> int | None:
            """Get."""
            return number

    return make(Shop().get), weakref.ref(big)


@pytest.mark.parametrize("make", _MAKERS.values(), ids=_MAKERS)
@pytest.mark.parametrize("define", [_plain, _local_types, _method])
def test_variables_around_a_function_end_before_its_tool(define: Callable[[_Maker], _Made], make: _Maker) -> None:
    made_tool, variable = define(make)
    gc.collect()
    assert variable() is None
    del made_tool
