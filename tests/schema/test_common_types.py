"""The commonest types are what pydantic says of them."""

from typing import Annotated, Any, Dict, List, Literal, Optional  # noqa: UP035 - old names work too

import pytest
from pydantic import TypeAdapter

from ez_ptc.schema.common_types import plain_type
from ez_ptc.schema.types import NativeJsonSchema

PLAIN: list[object] = [
    str,
    int,
    float,
    bool,
    list[str],
    List[int],  # noqa: UP006 - its old name works too
    list[list[bool]],
    int | None,
    Optional[str],  # noqa: UP045 - its old spelling works too
    list[int] | None,
    list[int | None],
    list,
    dict,
    dict[str, int],
    Dict[str, list[str]],  # noqa: UP006 - its old name works too
    list[dict[str, bool | None]],
    Literal["a"],
    Literal["b", "a"],
    list[Literal["a", "b"]] | None,
]


@pytest.mark.parametrize("annotation", PLAIN, ids=str)
def test_plain_type_matches_pydantic(annotation: Any) -> None:  # noqa: ANN401 - any value may come
    plain = plain_type(annotation)
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)

    assert plain is not None
    assert plain.core == adapter.core_schema
    assert plain.described == adapter.json_schema(schema_generator=NativeJsonSchema)


OTHERS: list[object] = [
    List,  # noqa: UP006 - its old name works too
    Dict,  # noqa: UP006 - its old name works too
    dict[int, int],
    dict[str, Any],
    int | str,
    int | str | None,
    list[Any],
    Literal["a", 1],
    Literal[True],
    Annotated[int, "how many"],
    None,
    Any,
    type("Own", (int,), {}),
    "int",
]


@pytest.mark.parametrize("annotation", OTHERS, ids=str)
def test_of_other_types_pydantic_is_asked(annotation: object) -> None:
    assert plain_type(annotation) is None


def test_returned_schema_belongs_to_caller() -> None:
    one, other = plain_type(int), plain_type(int)

    assert one is not None
    assert other is not None
    one.described["description"] = "changed"
    assert other.described == {"type": "integer"}
