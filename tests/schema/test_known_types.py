"""Types that pydantic describes once, for all tools."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, Literal, TypedDict
from uuid import UUID

import pytest
from pydantic import TypeAdapter

from ez_ptc import ArgumentsError, ez_tool
from ez_ptc.schema.known_types import known_type
from ez_ptc.schema.types import NativeJsonSchema

KNOWN: list[Any] = [
    date,
    int | str,
    str | int,
    str | int | None,
    Literal["a", 1],
    Literal["a", True],
    tuple[int, str],
    tuple[float, ...],
    dict[str, Any],
    dict[int, list[UUID]],
    set[date] | None,
    list[Any],
    Any,
    bytes,
]


def test_known_types_are_what_pydantic_says() -> None:
    for annotation in KNOWN * 2:
        known, adapter = known_type(annotation), TypeAdapter[Any](annotation)
        assert known is not None, annotation
        assert known.described == adapter.json_schema(schema_generator=NativeJsonSchema), annotation
        assert known.core == adapter.core_schema, annotation
        known.described["description"] = "another tool's"


class Order(TypedDict):
    id: int


def test_types_of_users_are_not_known() -> None:
    for annotation in (Order, list[Order], type("Own", (int,), {}), "int", list["Order"], Callable[[], int], complex):
        assert known_type(annotation) is None, annotation


def test_pydantic_describes_a_type_of_many_tools_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(first: date, within: timedelta | int, tags: dict[str, Any] | None = None) -> str:
        """Plan something."""
        return f"{first} {within} {tags}"

    ez_tool(plan)
    monkeypatch.setattr(TypeAdapter, "__init__", None)
    tool = ez_tool(plan, name="plan_again")
    assert tool.call({"first": "2026-05-01", "within": 5}) == "2026-05-01 5 None"
    with pytest.raises(ArgumentsError, match=r"first.*within"):
        tool.call({"first": "May", "within": "x"})
