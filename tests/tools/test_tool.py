"""`Tool` and `@ez_tool`."""

import copy
import inspect
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_origin

import pytest

from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.tool import Tool


class Forecast(TypedDict):
    place: str
    degrees: int


@dataclass
class Spot:
    lat: float
    lon: float


@ez_tool
def forecast(place: str, scale: str = "celsius", days: int = 1) -> Forecast:
    """Tell tomorrow's weather.

    Args:
        place: A city and its country, e.g. "Oslo, Norway"
        scale: Scale of the degrees - "celsius" or "kelvin"
    """
    if place == "Nowhere":
        message = "there is no such place"
        raise LookupError(message)
    return {"place": f"{place} ({scale})", "degrees": 21 * days}


@ez_tool(name="spot_of", category="geo", description="Find a place.")
async def spot(place: str) -> Spot:
    """Find it."""
    return Spot(float(len(place)), 0.5)


def test_tool_has_everything_for_a_model() -> None:
    assert forecast.name == "forecast"
    assert forecast.description == "Tell tomorrow's weather."
    assert forecast.parameters == {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": 'A city and its country, e.g. "Oslo, Norway"'},
            "scale": {
                "type": "string",
                "description": 'Scale of the degrees - "celsius" or "kelvin"',
                "default": "celsius",
            },
            "days": {"type": "integer", "default": 1},
        },
        "required": ["place"],
    }
    assert forecast.parameter_names == ("place", "scale", "days")
    assert forecast.signature == "forecast(place: str, scale: str = 'celsius', days: int = 1) -> Forecast"
    assert forecast.return_schema == {
        "type": "object",
        "properties": {"place": {"type": "string"}, "degrees": {"type": "integer"}},
        "required": ["place", "degrees"],
    }
    assert forecast.docstring.splitlines()[2:4] == ["Args:", '    place: A city and its country, e.g. "Oslo, Norway"']
    assert forecast.is_async is False
    assert forecast.category is None
    assert repr(forecast) == "Tool(forecast)"


def test_other_names_of_an_attribute_are_the_same_attribute() -> None:
    assert forecast.schema is forecast.parameters
    assert forecast.function is forecast.fn


def test_options_belong_to_the_tool() -> None:
    assert (spot.name, spot.category, spot.description) == ("spot_of", "geo", "Find a place.")
    assert spot.signature == "spot_of(place: str) -> Spot"
    assert spot.is_async is True


def test_attributes_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        forecast.name = "other"  # pyright: ignore[reportAttributeAccessIssue] - that is what is tried


def test_a_tool_is_still_callable_as_its_function() -> None:
    assert forecast("Oslo", days=2) == forecast.fn("Oslo", days=2) == {"place": "Oslo (celsius)", "degrees": 42}


@pytest.mark.anyio
async def test_an_asynchronous_tool_is_still_awaited_as_its_function() -> None:
    coroutine = spot("Oslo")

    assert inspect.iscoroutine(coroutine)
    assert await coroutine == Spot(4.0, 0.5)


def test_calling_a_tool_as_its_function_checks_nothing() -> None:
    unchecked: Any = forecast

    assert unchecked(5)["place"] == "5 (celsius)"


def test_a_tool_wraps_its_function_as_decorators_do() -> None:
    assert forecast.__wrapped__ is forecast.fn
    assert inspect.getdoc(forecast) == inspect.getdoc(forecast.fn)
    assert getattr(forecast, "__name__", None) == "forecast"
    assert list(inspect.signature(forecast).parameters) == ["place", "scale", "days"]


def test_tool_is_pickled_and_copied_like_its_function() -> None:
    """So that a pool of processes can call it."""
    assert pickle.loads(pickle.dumps(forecast)) is forecast
    assert copy.deepcopy([spot]) == [spot]
    with pytest.raises(pickle.PicklingError, match="forecast"):
        pickle.dumps(replace(forecast, name="other"))


def test_function_attributes_do_not_hide_tool_attributes() -> None:
    def brew() -> str:
        """Brew tea."""
        return "tea"

    vars(brew).update(name="other", bind=None, _definition=None, maker="Ada")
    tool = ez_tool(brew)

    assert tool.name == "brew"
    assert tool.bind((), {}).kwargs == {}
    assert tool.call({}) == "tea"
    assert vars(tool)["maker"] == "Ada"


def test_given_return_schema_takes_precedence_unchanged() -> None:
    given = {"type": "object", "properties": {"id": {"type": "integer"}}}

    @ez_tool(return_schema=given)
    def find(number: str) -> Forecast:
        """Find it."""
        return {"place": number, "degrees": 0}

    assert find.return_schema is given


def test_a_program_binds_positions_and_names() -> None:
    assert forecast.bind(("Oslo",), {"days": "2"}).kwargs == {"place": "Oslo", "days": 2}
    with pytest.raises(ArgumentsError, match=r"^forecast: unknown argument 'city' \(did you mean 'place'\?\)"):
        forecast.bind((), {"city": "Oslo"})


@pytest.mark.parametrize("arguments", [{"place": "Oslo", "days": 2}, '{"place": "Oslo", "days": 2}'])
def test_a_models_arguments_are_a_dict_or_its_text(arguments: dict[str, object] | str) -> None:
    assert forecast.call(arguments) == {"place": "Oslo (celsius)", "degrees": 42}


REFUSED: list[tuple[Any, str]] = [
    ({"place": 5, "days": "many"}, "'place' must be str, got int 5; 'days' must be int, got str 'many'"),
    ({}, r"missing argument 'place' \(str\)"),
    ("", r"missing argument 'place' \(str\)"),
    ('{"place": "Oslo"', "the arguments are not usable JSON: Expecting"),
    ('{"place": "a", "place": "b"}', "comes 2 times"),
    ('{"place": "a", "days": NaN}', "NaN is not a JSON number"),
    ('{"place": "' + "x" * 10_000_000 + '"}', "characters, at most"),
    ('{"place": ' + "[" * 10_000 + "]" * 10_000 + "}", "levels deep"),
    ('["Oslo"]', "expected an object with one key for each argument, got list of 1"),
    (["Oslo"], "expected the arguments as a dict or JSON text, got list"),
    (None, "expected the arguments as a dict or JSON text, got NoneType"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_invalid_arguments_raise_before_the_function(arguments: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ArgumentsError, match=f"^forecast: .*{message}"):
        forecast.call(arguments)


@pytest.mark.anyio
async def test_call_raises_the_function_exception() -> None:
    with pytest.raises(LookupError, match="there is no such place"):
        forecast.call({"place": "Nowhere"})
    with pytest.raises(LookupError, match="there is no such place"):
        await forecast.acall({"place": "Nowhere"})


def test_execute_never_raises() -> None:
    assert forecast.execute(place="Oslo").output == {"place": "Oslo (celsius)", "degrees": 21}
    assert forecast.execute(place="Nowhere").error == "there is no such place"
    assert forecast.execute(city="Oslo").success is False


@pytest.mark.anyio
async def test_an_awaited_call_does_the_same() -> None:
    assert await forecast.acall('{"place": "Oslo"}') == {"place": "Oslo (celsius)", "degrees": 21}
    assert await spot.acall({"place": "Oslo"}) == Spot(4.0, 0.5)
    assert (await spot.aexecute(place="Oslo")).output == Spot(4.0, 0.5)
    assert (await spot.aexecute(place=5)).error == "spot_of: 'place' must be str, got int 5"


@pytest.mark.anyio
async def test_asynchronous_tool_completes_in_blocking_call_inside_loop() -> None:
    assert spot.call({"place": "Oslo"}) == Spot(4.0, 0.5)
    assert spot.execute(place="Oslo").output == Spot(4.0, 0.5)


def test_asynchronous_tool_completes_in_blocking_call() -> None:
    assert spot.call({"place": "Oslo"}) == Spot(4.0, 0.5)


def test_parameters_named_like_method_parameters_can_be_passed() -> None:
    @ez_tool
    def pack(self: str, arguments: int, function: int, name: int = 0) -> list[object]:
        """Pack it."""
        return [self, arguments, function, name]

    assert pack("a", 1, 2) == pack.execute(self="a", arguments=1, function=2).output == ["a", 1, 2, 0]
    assert pack(self="a", arguments=1, function=2, name=3) == ["a", 1, 2, 3]


def test_methods_are_tools_when_they_are_bound() -> None:
    class Shelf:
        def __init__(self) -> None:
            self.things: list[str] = []

        def put(self, thing: str) -> int:
            """Put a thing on the shelf."""
            self.things.append(thing)
            return len(self.things)

    shelf = Shelf()
    put = ez_tool(shelf.put)

    assert put.call({"thing": "cup"}) == 1
    assert shelf.things == ["cup"]
    assert put.signature == "put(thing: str) -> int"
    with pytest.raises(SchemaError, match=r"put: parameter 'self' .*bound method.*ez_tool\(thing.put\)"):
        ez_tool(Shelf.put)


def test_a_tool_is_not_made_of_a_tool() -> None:
    with pytest.raises(SchemaError, match=r"Tool\(forecast\) is already a tool: .*ez_tool\(forecast.fn\)"):
        ez_tool(forecast)
    assert ez_tool(name="again")(forecast.fn).signature.startswith("again(place: str")


def test_warning_points_at_the_defining_line() -> None:
    def stir() -> None: ...

    with pytest.warns(UserWarning, match="stir has no docstring") as at_once:
        ez_tool(stir)
    with pytest.warns(UserWarning, match="whisk has no docstring") as with_options:
        ez_tool(name="whisk")(stir)

    assert [each.filename for each in (*at_once, *with_options)] == [__file__, __file__]


def test_choices_reach_the_function_as_they_are() -> None:
    @ez_tool
    def send(by: Literal["air", "sea"]) -> str:
        """Send it."""
        return by

    assert send.call({"by": "sea"}) == "sea"
    with pytest.raises(ArgumentsError, match="'by' must be 'air' or 'sea', got str 'rail'"):
        send.call({"by": "rail"})


def test_tool_types_can_be_named_at_runtime() -> None:
    assert get_origin(Tool[[str], dict[str, int]]) is Tool


@pytest.mark.sampled(every=0)
def test_importing_tools_does_not_import_pydantic() -> None:
    code = """
import sys
from ez_ptc.tools.decorators import ez_tool
assert not {"pydantic", "docstring_parser", "anyio", "asyncio"} & set(sys.modules), "imported too early"
tool = ez_tool(abs)
assert "pydantic" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
