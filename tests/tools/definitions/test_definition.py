"""What a function is as a tool: its name, its words, and whether it is asynchronous."""

import functools
import math
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict, Unpack, cast

import pytest
from pydantic import BaseModel

from ez_ptc.errors import SchemaError
from ez_ptc.tools.decorators import ez_tool, tool
from ez_ptc.tools.definitions.definition import Definition, define
from ez_ptc.tools.definitions.options import Options
from ez_ptc.tools.tool import Tool


def definition_of(function: Callable[..., object], **options: Any) -> Definition:
    return define(function, Options(**options), stacklevel=1)


def brew(cups: int) -> str:
    """Brew tea.

    It takes three minutes.

    Args:
        cups: How many
    """
    return "tea" * cups


class Kitchen:
    """Where tea is made."""

    def brew(self, cups: int) -> str:
        """Brew in the kitchen."""
        return "tea" * cups

    @classmethod
    def build(cls, size: int) -> str:
        """Build a kitchen."""
        return cls.__name__ * size

    @staticmethod
    def boil(liters: int) -> int:
        """Boil water."""
        return liters

    def __call__(self, cups: int) -> str:
        return self.brew(cups)


class Bar(Kitchen):
    """Where tea is sold."""

    def brew(self, cups: int) -> str:
        return super().brew(cups)

    def __call__(self, cups: int) -> str:
        """Serve tea."""
        return self.brew(cups)


@functools.wraps(brew)
def logged(*args: object, **kwargs: object) -> object:
    return None


WORDS: list[tuple[Callable[..., object], str, str]] = [
    (brew, "brew", "Brew tea."),
    (logged, "brew", "Brew tea."),
    (functools.partial(brew, 2), "brew", "Brew tea."),
    (Kitchen().brew, "brew", "Brew in the kitchen."),
    (Bar().brew, "brew", "Brew in the kitchen."),
    (functools.partial(Kitchen().brew, cups=2), "brew", "Brew in the kitchen."),
    (Kitchen.build, "build", "Build a kitchen."),
    (Kitchen.boil, "boil", "Boil water."),
    (Kitchen(), "Kitchen", "Where tea is made."),
    (functools.partial(Kitchen(), 2), "Kitchen", "Where tea is made."),
    (functools.partial(functools.partial(Kitchen()), cups=2), "Kitchen", "Where tea is made."),
    (functools.partial(Bar(), 2), "Bar", "Serve tea."),
    (Bar(), "Bar", "Serve tea."),
    (math.sqrt, "sqrt", "Return the square root of x."),
]


@pytest.mark.parametrize(("function", "name", "description"), WORDS)
def test_any_callable_has_name_and_description(function: Callable[..., object], name: str, description: str) -> None:
    definition = definition_of(function)

    assert (definition.name, definition.description) == (name, description)
    assert definition.prose.startswith(description)


def test_models_read_further_paragraphs_too() -> None:
    assert definition_of(brew).prose == "Brew tea.\n\nIt takes three minutes."
    assert definition_of(brew, description="Make it.").prose == "Make it."


def test_options_replace_name_and_description() -> None:
    definition = definition_of(brew, name="make_tea", description="Make some.", category="kitchen")

    assert (definition.name, definition.description, definition.category) == ("make_tea", "Make some.", "kitchen")
    assert definition.signature == "make_tea(cups: int) -> str"
    assert definition.parameters["properties"]["cups"]["description"] == "How many"
    assert definition.docstring.startswith("Brew tea.\n\nIt takes")


def test_undocumented_function_is_described_by_name_with_warning() -> None:
    def stir(spoons: int) -> None: ...

    with pytest.warns(UserWarning, match="stir has no docstring, so a model cannot know what it does") as caught:
        definition = definition_of(stir)

    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (definition.description, definition.docstring) == ("Tool: stir", "")


def test_a_given_description_needs_no_docstring() -> None:
    def stir(spoons: int) -> None: ...

    assert definition_of(stir, description="Stir it.").description == "Stir it."


@pytest.mark.parametrize("name", ["", "make tea", "tea!", "x" * 129, "<lambda>", "a\nb"])
def test_a_name_that_no_model_could_call_is_refused(name: str) -> None:
    with pytest.raises(SchemaError, match=r"invalid tool name .*: use letters"):
        definition_of(brew, name=name)


def test_a_lambda_needs_a_name() -> None:
    double: Callable[[], int] = lambda: 2  # noqa: E731 - a lambda is the case

    with pytest.raises(SchemaError, match=r"invalid tool name '<lambda>'"):
        definition_of(double)
    assert definition_of(double, name="double", description="Two.").signature == "double()"


def test_non_callable_is_refused() -> None:
    nothing: Any = 5
    with pytest.raises(SchemaError, match="expected a function, got int"):
        definition_of(nothing)


async def abrew(cups: int) -> str:
    """Brew tea."""
    return "tea" * cups


async def serve(cups: int) -> AsyncIterator[str]:
    """Serve cup by cup."""
    yield "tea"


def pour(cups: int) -> Iterator[str]:
    """Pour cup by cup."""
    yield "tea"


class Cafe:
    """A place."""

    async def __call__(self, cups: int) -> str:
        return "tea" * cups


@functools.wraps(abrew)
def waited(*args: object, **kwargs: object) -> str:
    return "tea"


@pytest.mark.parametrize(
    ("function", "is_async"),
    [
        (brew, False),
        (pour, False),
        (waited, False),
        (Kitchen(), False),
        (abrew, True),
        (serve, True),
        (Cafe(), True),
        (Cafe().__call__, True),
        (functools.partial(abrew, 2), True),
    ],
)
def test_a_function_is_asynchronous_when_calling_it_is(function: Callable[..., object], is_async: bool) -> None:
    assert definition_of(function).is_async is is_async


def test_parameters_without_annotations_are_warned_of_once() -> None:
    def find(what: str, where: str = "here", *, how: str = "") -> None:
        """Find it."""

    del find.__annotations__["what"], find.__annotations__["where"]

    with pytest.warns(UserWarning, match="find accepts anything for what, where: annotate each parameter") as caught:
        ez_tool(find)
    assert [each.filename for each in caught] == [__file__]


def through(*args: Any, **kwargs: Any) -> object:
    """Pass it on."""
    return brew(*args, **kwargs)


class Through:
    """Pass it on."""

    __name__ = "through"

    def __call__(self, *args: object, **kwargs: object) -> None: ...

    def method(self, *args: object, **kwargs: object) -> None:
        """Pass it on."""


class Sizes(TypedDict):
    cups: int


def measure(*args: object, **kwargs: Unpack[Sizes]) -> None:
    """Measure it."""


def add_up(*numbers: int) -> None:
    """Add them up."""


def label(**texts: str) -> None:
    """Label it."""


@pytest.mark.parametrize("function", [through, Through(), Through().method, functools.partial(through)])
def test_wrapper_that_names_no_parameter_is_warned_of(function: Callable[..., object]) -> None:
    for make in (ez_tool, tool, Tool.from_function):
        with pytest.warns(UserWarning, match=r"names no parameter, so models can pass nothing: .* functools.wraps"):
            make(function)


@pytest.mark.parametrize("function", [logged, measure, add_up, label])
def test_function_with_parameters_or_one_sort_of_others_does_not_warn(function: Callable[..., object]) -> None:
    assert ez_tool(function).description


def test_annotated_or_builtin_functions_do_not_warn() -> None:
    def find(what: Any, *more: int, **others: str) -> None:  # noqa: ANN401 - it may be anything
        """Find it."""

    assert ez_tool(find).parameters["properties"] == {"what": {}}
    assert ez_tool(len).name == "len"


@dataclass
class Weigher:
    """Weigh a parcel."""

    factor: int

    def __call__(self, grams: int) -> int:
        return grams * self.factor


@dataclass
class Scale(Weigher):
    unit: str = "g"


class Parcel(BaseModel):
    grams: int


class Point(NamedTuple):
    x: int


@pytest.mark.parametrize("function", [Scale(2), Scale, functools.partial(Scale, 2), Parcel, Point])
def test_generated_or_inherited_text_of_a_class_describes_no_tool(function: Callable[..., object]) -> None:
    with pytest.warns(UserWarning, match="has no docstring"):
        described = ez_tool(function, name="weigh")

    assert described.description == "Tool: weigh"


@pytest.mark.parametrize("function", [Weigher(2), Weigher, functools.partial(Weigher, 2)])
def test_class_describes_its_tool_by_its_docstring(function: Callable[..., object]) -> None:
    assert ez_tool(function, name="weigh").description == "Weigh a parcel."


def test_a_refused_definition_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def find(what: Kitchen) -> None:
        """Find it."""

    for make in (ez_tool, Tool.from_function):
        with pytest.raises(SchemaError):
            make(find)
        assert "definition refused: find: parameter 'what'" in caplog.text
        caplog.clear()
    with pytest.raises(SchemaError):
        Tool("find", "Find.", cast("Any", [5]), find)
    assert "definition refused: find: expected a ToolParameter" in caplog.text
