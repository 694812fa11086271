"""The table of docs/programs/values.md: each example arrives as it says, in every direction."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ez_ptc import Limits, Toolkit
from ez_ptc.formats.content import as_json
from tests.sandbox.giving import TO_GIVE, give
from tests.sandbox.protocol.values.test_types import TAKEN, keep

PAGE = Path(__file__).resolve().parents[4] / "docs" / "programs" / "values.md"
CODE = re.compile(r"`([^`]+)`")
IMPORTS = """
from array import array
from collections import Counter, UserList, deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address
from pathlib import PurePosixPath
from types import MappingProxyType
from uuid import UUID
from zoneinfo import ZoneInfo
"""
CLASSES = """
import enum
from dataclasses import dataclass
from typing import NamedTuple
class Colour(enum.Enum):
    RED = "red"
@dataclass
class Cup:
    size: int
class Point(NamedTuple):
    x: int
    y: int
"""
TABLES = "import numpy as np, pandas as pd\n"
HAS_TABLES = bool(find_spec("numpy") and find_spec("pandas"))


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Cup:
    size: int


class Point(NamedTuple):
    x: int
    y: int


def rows() -> Iterator[tuple[str, str]]:
    """Give the examples and what they arrive as."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition("| a value such as | arrives as |\n|---|---|\n")
    for line in table.partition("\n\n")[0].splitlines():
        examples, arrives = line.strip("| ").split(" | ")
        for example in CODE.findall(examples):
            yield example, CODE.findall(arrives)[0]


@pytest.fixture(scope="module")
def keeping() -> Any:  # noqa: ANN401 - a generator
    packages = ["numpy", "pandas"] if HAS_TABLES else []
    with Toolkit([give, keep], allow_imports=packages, limits=Limits(timeout=60)) as toolkit:
        yield toolkit


@pytest.mark.parametrize(("example", "arrives"), [*rows()])
def test_each_table_row_holds_in_every_direction(keeping: Toolkit, example: str, arrives: str) -> None:
    is_table = "np." in example or "pd." in example
    if is_table and not HAS_TABLES:
        pytest.skip("numpy and pandas are not installed")
    imports = IMPORTS + (TABLES if is_table else "")
    names: dict[str, Any] = {"Colour": Colour, "Cup": Cup, "Point": Point}
    exec(imports, names)
    TO_GIVE[0] = eval(example, names)
    TAKEN.clear()
    result = keeping.execute(f"{imports}{CLASSES}value = {example}\nkeep(value)\nprint(repr(give()))\nvalue")
    assert result.success, result.error
    assert (repr(result.return_value), repr(TAKEN[0]), result.output.strip()) == (arrives, arrives, arrives)
    assert as_json(TO_GIVE[0]) == as_json(result.return_value)


def test_the_table_has_all_rows() -> None:
    assert len([*rows()]) > 40
