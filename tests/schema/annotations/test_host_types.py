"""Types of the host are announced as what a program gets, and a model passes data for them."""

from __future__ import annotations

import enum
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Collection, Coroutine, Generator, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, NewType

import pytest

from ez_ptc import ArgumentsError, Tool, Toolkit, ez_tool
from ez_ptc.schema.annotations.host_types import announce_type, program_type
from ez_ptc.tools.transforms import prefixed

needs_pandas = pytest.mark.skipif(
    not (find_spec("numpy") and find_spec("pandas")), reason="numpy and pandas are not installed"
)


class Color(enum.Enum):
    RED = "red"
    BLUE = 2


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


Many = enum.Enum("Many", {f"M{number}": f"text {number}" for number in range(50)})


class Shop:
    """A class of the host, whose objects reach a program as text."""

    def __init__(self, name: str) -> None:
        self.name = name


class Base:
    """Not to be announced as text: its subclasses are records."""


@dataclass
class Record(Base):
    name: str


def returning(annotation: object) -> Tool[..., Any]:
    def give() -> object:
        """Give a value."""

    give.__annotations__["return"] = annotation
    return ez_tool(give)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Color, "Literal['red', 2]"),
        (list[Color], "list[Literal['red', 2]]"),
        (dict[str, Color | None], "dict[str, Literal['red', 2] | None]"),
        (Access, "int"),
        (Many, "str"),
        (Shop, "str"),
        (list[Shop], "list[str]"),
        (Shop | None, "str | None"),
        (NewType("OwnShop", Shop), "str"),
        (Annotated[Shop, "a shop"], "str"),
        (Base, "Base"),
        (Record, "Record"),
        (int, "int"),
        (range, "range"),
        (list[dict[str, int]], "list[dict[str, int]]"),
        (Iterator[int], "list[int]"),
        (Generator[Color, None, str], "list[Literal['red', 2]]"),
        (AsyncIterator[Record], "list[Record]"),
        (AsyncGenerator[Shop | None, None], "list[str | None]"),
        (Awaitable[int], "int"),
        (Coroutine[Any, Any, Iterator[Color]], "list[Literal['red', 2]]"),
    ],
)
def test_signature_announces_what_a_program_gets(annotation: object, text: str) -> None:
    assert returning(annotation).signature == f"give() -> {text}"


@pytest.mark.parametrize(("value", "annotation"), [(Color.RED, Color), (Color.BLUE, Color), (Shop("a"), Shop)])
def test_value_that_arrives_is_of_the_announced_type(value: object, annotation: object) -> None:
    def give() -> object:
        """Give a value."""
        return value

    give.__annotations__["return"] = annotation
    tool = ez_tool(give)
    with Toolkit([tool]) as toolkit:
        arrived = toolkit.execute("give()").return_value
        refused = toolkit.execute("give().name")

    assert tool.signature == "give() -> str" or repr(arrived) in tool.signature
    assert refused.error is not None
    assert refused.tool_calls == []


def test_program_over_a_stream_is_that_over_a_list() -> None:
    @ez_tool
    def numbers(most: int) -> Iterator[int]:
        """Count."""
        yield from range(most)

    @ez_tool
    async def later(most: int) -> AsyncIterator[int]:
        """Count later."""
        for number in range(most):
            yield number

    with Toolkit([numbers, later]) as toolkit:
        assert "def numbers(most: int) -> list[int]:" in toolkit.prompt()
        assert "def later(most: int) -> list[int]:" in toolkit.prompt()
        result = toolkit.execute("[numbers(3)[0], [n for n in await later(2)]]")
        assert toolkit.execute("later(2)[-1]").return_value == 1
    assert result.return_value == [0, [0, 1]]


def stand_in(package: str, name: str) -> type[object]:
    """Return a class like one of numpy's or pandas', which may not be installed: it is recognized by its name."""

    def initialise(self: object, value: object) -> None:
        del self, value

    return type(name, (object,), {"__module__": f"{package}.core", "__init__": initialise})


@pytest.mark.parametrize(
    ("package", "name", "text"),
    [
        ("pandas", "DataFrame", "list[dict[str, Any]]"),
        ("pandas", "Series", "list[Any] | dict[str, Any]"),
        ("pandas", "Index", "list[Any]"),
        ("pandas", "Timestamp", "datetime"),
        ("pandas", "Timedelta", "timedelta"),
        ("numpy", "ndarray", "list[Any]"),
        ("numpy", "integer", "int"),
        ("numpy", "floating", "float"),
        ("numpy", "bool_", "bool"),
    ],
)
def test_types_of_packages_are_announced_and_passed_as_data(package: str, name: str, text: str) -> None:
    cls = stand_in(package, name)

    def keep(it: object) -> object:
        """Keep a value."""
        return type(it).__name__

    keep.__annotations__.update({"it": cls, "return": cls})
    tool = ez_tool(keep)

    assert tool.signature == f"keep(it: {text}) -> {text}"
    assert returning(dict[str, cls | None]).signature == f"give() -> dict[str, {text} | None]"


def test_another_class_of_that_name_stays() -> None:
    cls = stand_in("mypackage", "DataFrame")

    assert announce_type(cls) is cls
    assert program_type(list[cls]) == list[str]


def test_range_is_passed_as_its_numbers() -> None:
    @ez_tool
    def keep(it: range) -> str:
        """Keep a range."""
        return repr(it)

    for numbers in ([0, 1, 2], [5], [], [3, 1, -1]):
        assert keep.call({"it": numbers}) == repr(range(*_bounds(numbers)))
    assert keep.call({"it": range(1, 8, 3)}) == "range(1, 10, 3)"
    with pytest.raises(ArgumentsError, match="numbers of a range"):
        keep.call({"it": [1, 2, 4]})


def _bounds(numbers: list[int]) -> tuple[int, int] | tuple[int, int, int]:
    first = numbers[0] if numbers else 0
    if len(numbers) < 2:
        return first, first + len(numbers)
    step = numbers[1] - first
    return (first, first + step * len(numbers)) if step == 1 else (first, first + step * len(numbers), step)


@needs_pandas
@pytest.mark.parametrize(
    ("annotation", "argument", "kept"),
    [
        ("pd.DataFrame", [{"a": 1}], "DataFrame 1"),
        ("pd.DataFrame", "pd.DataFrame({'a': [1, 2]})", "DataFrame 2"),
        ("pd.Series", [1, 2], "Series 2"),
        ("pd.Series", "pd.Series([1, 2])", "Series 2"),
        ("np.ndarray", [[1, 2]], "ndarray 1"),
        ("np.ndarray", "np.eye(2)", "ndarray 2"),
        ("list[pd.DataFrame]", [[{"a": 1}]], "list 1"),
        ("range", "range(3)", "range 3"),
    ],
)
def test_parameter_of_a_package_gets_an_object_of_its_class(annotation: str, argument: object, kept: str) -> None:
    names: dict[str, Any] = {"np": pytest.importorskip("numpy"), "pd": pytest.importorskip("pandas")}

    def keep(it: Collection[object]) -> str:
        """Keep a value."""
        return f"{type(it).__name__} {len(it)}"

    keep.__annotations__["it"] = eval(annotation, names)
    tool = ez_tool(keep)
    with Toolkit([tool], allow_imports=["numpy", "pandas"]) as toolkit:
        text = argument if isinstance(argument, str) else repr(argument)
        assert toolkit.execute(f"import numpy as np, pandas as pd\nkeep({text})").return_value == kept
    if not isinstance(argument, str):
        assert tool.call({"it": argument}) == kept
        with pytest.raises(ArgumentsError, match=r"'it' must be (list|range)"):
            tool.call({"it": 5})


@needs_pandas
def test_columns_of_an_example_are_announced() -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"month": pandas.date_range("2025-01-01", periods=2), "euros": [1.5, None], "who": ["a", "b"], "n": [1, 2]}
    )
    tool = returning(Annotated[pandas.DataFrame, frame])
    prompt = Toolkit([tool], assist_tool_chaining=True).prompt()

    assert "# Returns: list[{month: datetime, euros: float | None, who: str, n: int}]" in prompt


@needs_pandas
@pytest.mark.skipif(find_spec("pandera") is None, reason="pandera is not installed")
def test_columns_of_a_pandera_schema_are_announced() -> None:
    pandera: Any = pytest.importorskip("pandera.pandas")
    typing: Any = pytest.importorskip("pandera.typing")
    columns = {"euros": pandera.Field(nullable=True), "__annotations__": {"n": int, "euros": float, "who": str}}
    schema = type("Sales", (pandera.DataFrameModel,), {"__module__": __name__, **columns})

    tool = returning(typing.DataFrame[schema])

    assert tool.signature == "give() -> list[Sales]"
    assert tool.return_schema is not None
    assert [*tool.return_schema["items"]["properties"]] == ["n", "euros", "who"]


def test_record_defined_after_its_tool_is_not_announced_as_text() -> None:
    class Animal:
        """A class of the host, without a record as a subclass so far."""

    one, (other,) = returning(Animal), prefixed([returning(list[Animal])], "all_")
    before = one.signature, other.signature

    @dataclass
    class Dog(Animal):
        name: str

    def give() -> object:
        """Give a dog."""
        return Dog("Rex")

    give.__annotations__["return"] = Animal
    with Toolkit([ez_tool(give)]) as toolkit:
        name = toolkit.execute("give().name").return_value

    assert before == ("give() -> str", "all_give() -> list[str]")
    assert (one.signature, other.signature) == ("give() -> Animal", "all_give() -> list[Animal]")
    assert name == "Rex"


@pytest.mark.parametrize("returns", [type, type[str], dict[str, type], type[str] | None, list[type[Any]]])
def test_classes_as_results_are_no_obstacle(returns: object) -> None:
    def find() -> object:
        return str

    find.__annotations__["return"] = returns
    assert ez_tool(find, description="Find.").call({}) is str
