"""Lists, sets, tuples, dicts and their abstract kin."""

import collections
import collections.abc
import typing
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Literal

import annotated_types as at
from pydantic import Field

from tests.callables.cases import Case, takes

__all__ = ["CASES"]


class Route(Enum):
    AIR = "air"
    SEA = "sea"


INTEGER = {"type": "integer"}
STRING = {"type": "string"}
INTEGERS = {"type": "array", "items": INTEGER}
SET = {"type": "array", "items": INTEGER, "uniqueItems": True}
COUNTS = {"type": "object", "additionalProperties": INTEGER}
ROUTE = {"type": "string", "enum": ["air", "sea"]}

CASES: Final[list[Case]] = [
    takes(defaultdict, {"type": "object"}, valid=[({"a": 1}, defaultdict(None, {"a": 1}))], invalid=["x"]),
    takes(deque, {"type": "array"}, valid=[([1, "a"], deque([1, "a"]))], invalid=["x"]),
    takes(Iterable, {"type": "array"}, valid=[[1, "a"]], invalid=["x", 5]),
    takes(collections.abc.Reversible[int], INTEGERS, valid=[[1]], invalid=["x", (["x"], "it[0]")]),
    takes(
        list[Annotated[str, "An identifier"]],
        {"type": "array", "items": {**STRING, "description": "An identifier"}},
        valid=[["a"]],
        invalid=[([5], "it[0]")],
    ),
    takes(
        dict[int, Annotated[int, ["x"]]],
        {"type": "object", "additionalProperties": INTEGER},
        valid=[({"1": 1}, {1: 1})],
    ),
    takes(list, {"type": "array"}, valid=[[], [1, "a", None], [[1], {"a": 1}]], invalid=["x", 5, None, {"a": 1}]),
    takes(typing.List, {"type": "array"}, valid=[[1]], invalid=["x", None]),  # noqa: UP006 - its old name works too
    takes(
        list[int],
        INTEGERS,
        valid=[[], [1, 2]],
        lenient=[(["1", 2], [1, 2])],
        invalid=["x", 5, None, (["a", 1, None], "it[0]", "it[2]"), ([[1]], "it[0]")],
    ),
    takes(typing.List[str], {"type": "array", "items": STRING}, valid=[["a"], []], invalid=[([1], "it[0]"), "a"]),  # noqa: UP006 - its old name works too
    takes(
        list[list[int]],
        {"type": "array", "items": INTEGERS},
        valid=[[[1], []]],
        invalid=[([[1], ["x"]], "it[1][0]"), ([1], "it[0]")],
    ),
    takes(list[Any], {"type": "array"}, valid=[[1, "a"]], invalid=[5]),
    takes(
        list[date],
        {"type": "array", "items": {"type": "string", "format": "date"}},
        valid=[(["2024-05-06"], [date(2024, 5, 6)])],
        invalid=[(["x"], "it[0]")],
    ),
    takes(
        list[Route], {"type": "array", "items": ROUTE}, valid=[(["air"], [Route.AIR])], invalid=[(["rail"], "it[0]")]
    ),
    takes(
        list[bytes],
        {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}},
        valid=[(["dGVh"], [b"tea"])],
        invalid=[(["t="], "it[0]")],
    ),
    takes(
        list[str | None],
        {"type": "array", "items": {"anyOf": [STRING, {"type": "null"}]}},
        valid=[["a", None]],
        invalid=[([1], "it[0]")],
    ),
    takes(
        Annotated[list[int], Field(min_length=1, max_length=2)],
        {**INTEGERS, "minItems": 1, "maxItems": 2},
        valid=[[1], [1, 2]],
        invalid=[[], [1, 2, 3], (["x"], "it[0]")],
    ),
    takes(
        Annotated[list[Annotated[int, Field(ge=0)]], at.MinLen(1)],
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
        valid=[[0]],
        invalid=[[], ([-1], "it[0]")],
    ),
    takes(Sequence[int], INTEGERS, valid=[[1, 2]], invalid=["x", None, (["x"], "it[0]")]),
    takes(Sequence[str], {"type": "array", "items": STRING}, valid=[["a"]], invalid=["a", ([1], "it[0]"), None]),
    takes(MutableSequence[int], INTEGERS, valid=[[1, 2]], invalid=["x", (["x"], "it[0]")]),
    takes(Collection[int], INTEGERS, valid=[[1, 2]], invalid=["x", None, (["x"], "it[0]")]),
    takes(Iterable[int], INTEGERS, valid=[[1, 2]], lenient=[(["1"], [1])], invalid=[5, None, (["x"], "it[0]")]),
    takes(typing.Iterable[str], {"type": "array", "items": STRING}, valid=[["a"]], invalid=["a", 5, ([1], "it[0]")]),
    takes(
        typing.Sequence[float],
        {"type": "array", "items": {"type": "number"}},
        valid=[([1, 2.5], [1.0, 2.5])],
        invalid=[(["x"], "it[0]")],
    ),
    takes(collections.abc.Sequence, {"type": "array"}, valid=[[1, "a"]], invalid=["x", 5]),
    takes(set, {"type": "array", "uniqueItems": True}, valid=[([1, "a"], {1, "a"})], invalid=["x", 5, None]),
    takes(
        set[int],
        SET,
        valid=[([1, 2], {1, 2}), ([], set[int]())],
        lenient=[([1, 1], {1})],
        objects=[{1, 2}],
        invalid=["x", None, (["x"], "it[0]")],
    ),
    takes(
        frozenset[str],
        {"type": "array", "items": STRING, "uniqueItems": True},
        valid=[(["a"], frozenset({"a"}))],
        invalid=["a", ([1], "it[0]")],
    ),
    takes(collections.abc.Set[int], SET, valid=[([1], frozenset({1}))], invalid=["x", (["x"], "it[0]")]),
    takes(MutableSet[int], SET, valid=[([1], {1})], invalid=["x", (["x"], "it[0]")]),
    takes(
        set[Route],
        {"type": "array", "items": ROUTE, "uniqueItems": True},
        valid=[(["air", "sea"], {Route.AIR, Route.SEA})],
        invalid=[(["rail"], "it[0]")],
    ),
    takes(tuple, {"type": "array"}, valid=[([1, "a"], (1, "a"))], objects=[((1, 2), (1, 2))], invalid=["x", None]),
    takes(
        tuple[int, str],
        {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2},
        valid=[([1, "a"], (1, "a"))],
        lenient=[(["1", "a"], (1, "a"))],
        invalid=["x", None, ([1], "it[1]"), [1, "a", 2], (["x", 1], "it[0]", "it[1]")],
    ),
    takes(tuple[int, ...], INTEGERS, valid=[([1, 2], (1, 2)), ([], ())], invalid=["x", (["x"], "it[0]")]),
    takes(tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}, valid=[([], ())], invalid=[[1], "x"]),
    takes(
        tuple[float, float] | None,
        {
            "anyOf": [
                {"type": "array", "prefixItems": [{"type": "number"}] * 2, "minItems": 2, "maxItems": 2},
                {"type": "null"},
            ]
        },
        valid=[([1.5, 2.5], (1.5, 2.5)), None],
        invalid=["x", ([1.5, "x"], "it[1]")],
    ),
    takes(
        list[tuple[str, int]],
        {"type": "array", "items": {"type": "array", "prefixItems": [STRING, INTEGER], "minItems": 2, "maxItems": 2}},
        valid=[([["a", 1]], [("a", 1)])],
        invalid=[([["a"]], "it[0][1]"), ([["a", "x"]], "it[0][1]")],
    ),
    takes(deque[int], INTEGERS, valid=[([1, 2], deque([1, 2]))], invalid=["x", (["x"], "it[0]")]),
    takes(dict, {"type": "object"}, valid=[{}, {"a": 1, "b": [None]}], invalid=["x", 5, None, [1]]),
    takes(typing.Dict, {"type": "object"}, valid=[{"a": 1}], invalid=["x"]),  # noqa: UP006 - its old name works too
    takes(
        dict[str, int],
        COUNTS,
        valid=[{}, {"a": 1}],
        lenient=[({"a": "1"}, {"a": 1})],
        invalid=["x", None, [], ({"a": "x", "b": 1, "c": None}, "it.a", "it.c")],
    ),
    takes(dict[str, Any], {"type": "object", "additionalProperties": True}, valid=[{"a": None}], invalid=[[]]),
    takes(
        dict[str, list[int]],
        {"type": "object", "additionalProperties": INTEGERS},
        valid=[{"a": [1]}],
        invalid=[({"a": ["x"]}, "it.a[0]")],
    ),
    takes(
        dict[int, str],
        {"type": "object", "additionalProperties": STRING},
        valid=[({"1": "a"}, {1: "a"})],
        objects=[({1: "a"}, {1: "a"})],
        invalid=[({"x": "a"}, "it.x"), ({"1": 2}, "it['1']")],
    ),
    takes(
        dict[date, Decimal],
        {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "string", "format": "decimal"}]},
            "propertyNames": {"format": "date"},
        },
        valid=[({"2024-05-06": "1.5"}, {date(2024, 5, 6): Decimal("1.5")})],
        invalid=[({"x": "1"}, "it.x")],
    ),
    takes(
        dict[Route, int],
        {"type": "object", "propertyNames": ROUTE, "additionalProperties": INTEGER},
        valid=[({"air": 1}, {Route.AIR: 1})],
        invalid=[({"rail": 1}, "it.rail")],
    ),
    takes(
        dict[Literal["a", "b"], int],
        {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": INTEGER},
        valid=[{"a": 1}],
        invalid=[({"c": 1}, "it.c")],
    ),
    takes(
        dict[str, dict[str, int]],
        {"type": "object", "additionalProperties": COUNTS},
        valid=[{"a": {"b": 1}}],
        invalid=[({"a": {"b": "x"}}, "it.a.b"), ({"a": 1}, "it.a")],
    ),
    takes(Mapping[str, int], COUNTS, valid=[{"a": 1}], invalid=["x", ({"a": "x"}, "it.a")]),
    takes(MutableMapping[str, int], COUNTS, valid=[{"a": 1}], invalid=["x", ({"a": "x"}, "it.a")]),
    takes(typing.Mapping, {"type": "object"}, valid=[{"a": 1}], invalid=["x"]),
    takes(
        defaultdict[str, int],
        COUNTS,
        valid=[({"a": 1}, defaultdict(int, {"a": 1}))],
        invalid=["x", ({"a": "x"}, "it.a")],
    ),
    takes(
        defaultdict[str, list[int]],
        {"type": "object", "additionalProperties": INTEGERS},
        valid=[({"a": [1]}, defaultdict(list, {"a": [1]}))],
        invalid=[({"a": 1}, "it.a")],
    ),
    takes(
        OrderedDict[str, int], COUNTS, valid=[({"a": 1}, OrderedDict({"a": 1}))], invalid=["x", ({"a": "x"}, "it.a")]
    ),
    takes(Counter[str], COUNTS, valid=[({"a": 1}, Counter({"a": 1}))], invalid=["x", ({"a": "x"}, "it.a")]),
    takes(collections.abc.Mapping, {"type": "object"}, valid=[{"a": 1}], invalid=[[1]]),
    takes(
        Annotated[dict[str, int], Field(min_length=1)],
        {**COUNTS, "minProperties": 1},
        valid=[{"a": 1}],
        invalid=[{}, ({"a": "x"}, "it.a")],
    ),
]
