"""Numbers, text and truth values, with and without constraints."""

from typing import Annotated, Any, Final, Literal, LiteralString

import annotated_types as at
import typing_extensions
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    StrictInt,
    StringConstraints,
    conint,
    constr,
)
from typing_extensions import Doc

from tests.callables.cases import Case, takes

__all__ = ["CASES"]

INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
STRING = {"type": "string"}
BOOLEAN = {"type": "boolean"}


def _even(value: int) -> int:
    if value % 2:
        message = "an even number is wanted"
        raise ValueError(message)
    return value


def _lowered(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


CASES: Final[list[Case]] = [
    takes(typing_extensions.Required[int], INTEGER, valid=[1], invalid=["x"]),
    takes(
        int,
        INTEGER,
        valid=[0, 5, -3, 10**30, (3.0, 3)],
        lenient=[("5", 5), ("-7", -7), ("5.0", 5)],
        invalid=[None, "x", "", "1.5", 1.5, [], [1], {}, True, False],
    ),
    takes(
        float,
        NUMBER,
        valid=[1.5, -0.25, (4, 4.0), (10**15, 1e15)],
        lenient=[("1.5", 1.5), ("1e3", 1000.0)],
        invalid=[None, "x", "", [], {"a": 1}, True],
    ),
    takes(
        bool,
        BOOLEAN,
        valid=[True, False],
        lenient=[("true", True), ("false", False), ("True", True), (1, True), (0, False)],
        invalid=[None, "maybe", 2, 1.5, [], "", {}],
    ),
    takes(
        str,
        STRING,
        valid=["", "tea", "5", "null", "[1]", '{"a": 1}', "a\nb", "é😀"],
        invalid=[None, 5, 1.5, True, ["a"], {"a": "b"}],
    ),
    takes(
        complex,
        {**STRING, "format": "complex"},
        valid=[("1+2j", 1 + 2j), ("3j", 3j)],
        objects=[1j, (2, 2 + 0j)],
        invalid=["x", None, True, [1, 2]],
    ),
    takes(None, {"type": "null"}, valid=[None], invalid=[0, "x", False, []]),
    takes(Any, {}, valid=[None, 1, "x", [1, {"a": None}], {"a": 1}, True]),
    takes(object, {}, valid=[None, 1, "x", [1], {"a": [True]}]),
    takes(LiteralString, STRING, valid=["tea"], invalid=[1, None]),
    takes(Annotated[int, "How many"], {**INTEGER, "description": "How many"}, valid=[4], invalid=["x"]),
    takes(Annotated[int, Doc("How many")], {**INTEGER, "description": "How many"}, valid=[4], invalid=["x"]),
    takes(
        Annotated[int, Field(ge=1, le=10, description="Cups")],
        {**INTEGER, "minimum": 1, "maximum": 10, "description": "Cups"},
        valid=[1, 10, 5],
        lenient=[("7", 7)],
        invalid=[0, 11, "x", None],
    ),
    takes(Annotated[int, at.Gt(0)], {**INTEGER, "exclusiveMinimum": 0}, valid=[1], invalid=[0, -1, "x"]),
    takes(
        Annotated[int, at.Interval(ge=2, lt=5)],
        {**INTEGER, "minimum": 2, "exclusiveMaximum": 5},
        valid=[2, 4],
        invalid=[1, 5, None],
    ),
    takes(Annotated[int, at.MultipleOf(5)], {**INTEGER, "multipleOf": 5}, valid=[0, 5, 10], invalid=[4, "4"]),
    takes(
        Annotated[Annotated[int, Field(ge=1)], Field(le=3), "Stars"],
        {**INTEGER, "minimum": 1, "maximum": 3, "description": "Stars"},
        valid=[1, 3],
        invalid=[0, 4],
    ),
    takes(PositiveInt, {**INTEGER, "exclusiveMinimum": 0}, valid=[1], invalid=[0, "x"]),
    takes(NonNegativeInt, {**INTEGER, "minimum": 0}, valid=[0], invalid=[-1]),
    takes(PositiveFloat, {**NUMBER, "exclusiveMinimum": 0}, valid=[0.5, (1, 1.0)], invalid=[0, -1.5]),
    takes(StrictInt, INTEGER, valid=[5], invalid=["5", 5.5, True, None]),
    takes(conint(ge=3), {**INTEGER, "minimum": 3}, valid=[3], invalid=[2]),
    takes(
        constr(min_length=2, pattern="^a"),
        {**STRING, "minLength": 2, "pattern": "^a"},
        valid=["ab"],
        invalid=["a", "bb", 5],
    ),
    takes(
        Annotated[str, Field(min_length=1, max_length=3)],
        {**STRING, "minLength": 1, "maxLength": 3},
        valid=["a", "abc"],
        invalid=["", "abcd", None],
    ),
    takes(
        Annotated[str, Field(pattern=r"^[A-Z]{2}-\d+$")],
        {**STRING, "pattern": r"^[A-Z]{2}-\d+$"},
        valid=["AB-12"],
        invalid=["ab-12", "AB12", ""],
    ),
    takes(
        Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)],
        STRING,
        valid=[(" Tea ", "tea")],
        invalid=[3],
    ),
    takes(
        Annotated[str, at.Len(2, 4)], {**STRING, "minLength": 2, "maxLength": 4}, valid=["abc"], invalid=["a", "abcde"]
    ),
    takes(
        Annotated[float, Field(gt=0, lt=1)],
        {**NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        valid=[0.5],
        invalid=[0, 1, "half"],
    ),
    takes(Annotated[float, Field(allow_inf_nan=False)], NUMBER, valid=[0.5], invalid=["inf", "nan"]),
    takes(Annotated[int, AfterValidator(_even)], INTEGER, valid=[2], lenient=[("4", 4)], invalid=[3, "x"]),
    takes(
        Annotated[Literal["a", "b"], BeforeValidator(_lowered)],
        {**STRING, "enum": ["a", "b"]},
        valid=["a"],
        lenient=[("A", "a")],
        invalid=["c", 1],
    ),
    takes(Annotated[int, Field(examples=[1, 2])], {**INTEGER, "examples": [1, 2]}, valid=[1], invalid=["x"]),
    takes(
        Annotated[str, Field(json_schema_extra={"format": "hostname"})],
        {**STRING, "format": "hostname"},
        valid=["example.org"],
        invalid=[1],
    ),
]
