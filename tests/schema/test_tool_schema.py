"""The schema of a function's annotations alone."""

from dataclasses import dataclass
from typing import Any, Optional

import pytest
from pydantic import TypeAdapter

from ez_ptc import Context, SchemaError, generate_tool_schema


@dataclass
class Parcel:
    grams: int


def test_it_has_the_annotated_parameters_without_defaults() -> None:
    def ship(
        parcel: Parcel,
        untyped: int = 1,
        limit: int = 5,
        *args: int,
        note: Optional[str],  # noqa: UP045 - the old spelling is tested
        **others: str,
    ) -> None:
        """Ship it.

        Args:
            limit: How many
        """

    del ship.__annotations__["untyped"]
    assert generate_tool_schema(ship) == {
        "type": "object",
        "properties": {
            "parcel": TypeAdapter(Parcel).json_schema(),
            "limit": {"type": "integer"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["parcel"],
    }


def test_required_is_there_where_nothing_is() -> None:
    def wait() -> None: ...

    assert generate_tool_schema(wait) == {"type": "object", "properties": {}, "required": []}


def test_context_parameter_is_omitted() -> None:
    def wait(context: Context[str], seconds: int) -> None: ...

    assert list(generate_tool_schema(wait)["properties"]) == ["seconds"]


@pytest.mark.parametrize("value", [5, "wait"])
def test_non_function_is_refused(value: Any) -> None:  # noqa: ANN401 - a caller may not check types
    with pytest.raises(SchemaError, match="expected a function, got"):
        generate_tool_schema(value)
