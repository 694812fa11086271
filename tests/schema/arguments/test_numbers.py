"""Numbers are what is written, finite, and no longer than what they are written in."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from tests.schema.arguments.test_decoding import validated


class Infinite(BaseModel):
    model_config = ConfigDict(allow_inf_nan=True)
    it: complex


class StrictComplex(BaseModel):
    model_config = ConfigDict(strict=True)
    it: complex


@pytest.mark.parametrize(
    "sent", ["nan", "inf", "1+infj", "nanj", "1e400", "-1e400j", complex("inf"), complex(0, math.nan)]
)
def test_no_part_of_a_complex_number_is_infinite(sent: object) -> None:
    forms: list[tuple[object, object]] = [
        (complex, sent),
        (complex | None, sent),
        (int | complex, sent),
        (list[complex], [sent]),
        (dict[str, complex], {"a": sent}),
        (dict[complex, int], {sent: 1}),
        (StrictComplex, {"it": sent}),
    ]
    for annotation, shaped in forms:
        with pytest.raises(ValidationError):
            validated(annotation, shaped)
    assert isinstance(validated(Infinite, {"it": sent}), Infinite)


@pytest.mark.parametrize(
    "text",
    [
        "1e1001",
        "1e-1001",
        "3.5E+4200",
        "7e-0004200",
        "1e-4200 ",
        "1e4_200",
        "1e\u0664\u0662\u0660\u0660",
        "1e99999999999",
    ],
)
def test_a_fraction_with_a_huge_exponent_is_refused(text: str) -> None:
    forms: list[tuple[object, object]] = [
        (Fraction, text),
        (Fraction | None, text),
        (set[Fraction], [text]),
        (dict[Fraction, int], {text: 1}),
    ]
    for annotation, shaped in forms:
        with pytest.raises(ValidationError):
            validated(annotation, shaped)


def test_float_keys_equal_written_numbers() -> None:
    keys = ["1/3", "1e-400", "1e400", "0.1000000000000000000000000001", "1E+1000"]
    assert validated(dict[Fraction, int], dict.fromkeys(keys, 1)) == dict.fromkeys(map(Fraction, keys), 1)
