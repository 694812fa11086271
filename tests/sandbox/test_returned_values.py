"""What a tool may return: the same for a single call, for a program and for a conversation."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import enum
import ipaddress
import json
import pathlib
import re
import threading
import types
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretBytes, SecretStr, computed_field, field_serializer

from ez_ptc import Limits, ScriptedProvider, ToolCall, Toolkit, ez_tool, llm
from ez_ptc.formats import anthropic, gemini, mcp, openai, responses
from ez_ptc.formats.content import as_json, as_text
from ez_ptc.formats.encoding import MAX_DEPTH, MAX_ELEMENTS, plain_value
from ez_ptc.messages import ToolResult, ToolResultMessage
from ez_ptc.sandbox.execution import ExecutionResult
from ez_ptc.sandbox.process.backend import ProcessSandbox
from ez_ptc.sandbox.replies import payload
from ez_ptc.sandbox.worker import values

Give = Callable[[object], None]
_TO_GIVE: list[object] = [None]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 10_001


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: Any
    y: Any = 0.5


@dataclasses.dataclass
class Cup:
    content: Any
    colour: Colour = Colour.RED


@dataclasses.dataclass(frozen=True)
class Spot:
    x: int


class Tea(BaseModel):
    """A model with other names outside."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    real_name: Any = Field(alias="realName")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1


class Day(BaseModel):
    day: dt.date = dt.date(2026, 1, 2)

    @field_serializer("day")
    def written(self, day: dt.date) -> str:
        return f"{day:%d.%m.%Y}"

    @computed_field
    @property
    def year(self) -> int:
        return self.day.year


@attrs.define
class Leaf:
    size: Any
    _hidden: int = 1
    shown: int = attrs.field(alias="display", default=2)


class Pot(msgspec.Struct, rename="camel"):
    some_name: Any
    left_out: int | msgspec.UnsetType = msgspec.UNSET


class Row(msgspec.Struct, array_like=True, tag="row"):
    x: Any


class Hidden:
    def __str__(self) -> str:
        return "hidden"


class Broken:
    def __getattr__(self, name: str) -> object:
        raise KeyError(name)

    def __repr__(self) -> str:
        raise RuntimeError


@ez_tool
def give() -> object:
    """Return what is to be given."""
    return _TO_GIVE[0]


@pytest.fixture(scope="module")
def giving(sandbox: ProcessSandbox) -> Toolkit:
    return Toolkit([give], sandbox=sandbox)


def from_a_program(toolkit: Toolkit, value: object) -> object:
    """Return the JSON of what a program gets, once it has come back from there."""
    _TO_GIVE[0] = value
    result = toolkit.execute("give()")
    assert result.success, result.error
    return as_json(result.return_value)


def from_a_conversation(value: object) -> object:
    """Return what a model reads in a conversation."""
    _TO_GIVE[0] = value
    provider = ScriptedProvider(ToolCall("1", "give", {}), "Thanks.")
    messages, _ = llm().tool(give).provider(provider).converse("Give.")
    [message] = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert message.success, message.result
    return message.result


def from_a_single_call(value: object) -> object:
    """Return what a client of a provider's API sends of a call."""
    _TO_GIVE[0] = value
    [sent] = openai.results([(ToolCall("1", "give", {}), give.execute())])
    return sent["content"]


VALUES: dict[str, tuple[object, object]] = {
    "a path": (pathlib.PurePosixPath("/a/b"), "/a/b"),
    "an address": (ipaddress.IPv4Address("1.2.3.4"), "1.2.3.4"),
    "a network": (ipaddress.IPv6Network("fe80::/64"), "fe80::/64"),
    "a pattern": (re.compile("a+"), "a+"),
    "a pattern of bytes": (re.compile(b"\xff"), "b'\\xff'"),
    "a complex number": (1 + 2j, "1+2j"),
    "a fraction": (Fraction(1, 3), "1/3"),
    "a time zone": (zoneinfo.ZoneInfo("UTC"), "UTC"),
    "a UUID": (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "a decimal": (Decimal("1.10"), "1.10"),
    "a duration": (dt.timedelta(days=1), "P1D"),
    "a time": (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "2026-01-02T00:00:00Z"),
    "bytes": (b"\xff", "/w=="),
    "a bytearray": (bytearray(b"x"), "eA=="),
    "a memoryview": (memoryview(b"x"), "eA=="),
    "a secret": (SecretStr("pw"), "**********"),
    "secret bytes": ([SecretBytes(b"pw")], ["b'**********'"]),
    "a member": (Colour.BLUE, "blue"),
    "a flag": (Rights.READ | Rights.WRITE, 3),
    "a class's text": (collections.UserString("x"), "x"),
    "a range": (range(3), [0, 1, 2]),
    "a range without end": ([range(10**18)], ["range(0, 1000000000000000000)"]),
    "a deque": (collections.deque([1]), [1]),
    "an array": (array.array("i", [1, 2]), [1, 2]),
    "a user's list": (collections.UserList([1]), [1]),
    "keys": ({"a": 1}.keys(), ["a"]),
    "values": ({"a": 1}.values(), [1]),
    "items": ({"a": 1}.items(), [["a", 1]]),
    "a proxy": (types.MappingProxyType({"a": 1}), {"a": 1}),
    "a user's dict": (collections.UserDict(a=1), {"a": 1}),
    "a chain": (collections.ChainMap({"a": 1}, {"b": 2}), {"b": 2, "a": 1}),
    "a counter": (collections.Counter("aab"), {"a": 2, "b": 1}),
    "a named tuple": (Point(1), {"x": 1, "y": 0.5}),
    "a dataclass": (Cup(pathlib.PurePosixPath("/x")), {"content": "/x", "colour": "red"}),
    "a model": (Tea(realName=SecretStr("pw")), {"realName": "**********"}),
    "a model with more": (Open.model_validate({"b": [1]}), {"a": 1, "b": [1]}),
    "a model of its own mind": (Day(), {"day": "02.01.2026", "year": 2026}),
    "a root model": (RootModel[list[int]]([1]), [1]),
    "a class of attrs": (Leaf(1), {"size": 1, "hidden": 1, "display": 2}),
    "a class of msgspec": (Pot(Leaf(1)), {"someName": {"size": 1, "hidden": 1, "display": 2}}),
    "an array of msgspec": (Row(1), ["row", 1]),
    "an exception": (ValueError("x"), "x"),
    "an object": ([object()], ["<object object>"]),
    "a class": (Colour, "<enum 'Colour'>"),
    "an iterator": (iter([1]), "<list_iterator object>"),
    "a function": ([len], ["<built-in function len>"]),
    "an object with a text": (Hidden(), "hidden"),
    "an object that breaks": (Broken(), "<Broken>"),
    "keys that are numbers": ({1: "a", None: "c", 1.5: "d"}, {"1": "a", "null": "c", "1.5": "d"}),
    "keys that are tuples": ({(1, "x"): 1}, {'[1, "x"]': 1}),
    "keys that are members": ({Colour.RED: 1, (Colour.BLUE,): 2}, {"red": 1, '["blue"]': 2}),
    "keys that are records": ({Spot(1): 1, Point(1, 2): 2}, {'{"x": 1}': 1, '{"x": 1, "y": 2}': 2}),
    "keys that are objects": ({pathlib.PurePosixPath("/x"): 1, Fraction(1, 3): 2}, {"/x": 1, "1/3": 2}),
    "keys that are the same as text": ({1: "a", "1": "b"}, {"1 (int)": "a", "1": "b"}),
    "keys of two kinds": ({Colour.RED: 1, "red": 2}, {"red (str)": 1, "red": 2}),
    "a set of records": ({Spot(1)}, [{"x": 1}]),
    "a set of tuples of records": ([{(Spot(1),)}], [[[{"x": 1}]]]),
    "a set of members that are the same as text": ([{Colour.RED}, {Level.LOW}], [["red"], [10_001]]),
    "a set of two that become the same": ({Colour.RED, "red"}, ["red", "red"]),
    "no number": ([float("nan"), float("inf"), -float("inf")], ["NaN", "Infinity", "-Infinity"]),
    "a wide number": ([2**100, 10**400], [2**100, 10**400]),
}


@pytest.mark.parametrize(("value", "plain"), VALUES.values(), ids=VALUES.keys())
def test_a_value_is_the_same_for_everybody(giving: Toolkit, value: object, plain: object) -> None:
    assert as_json(value) == plain
    assert from_a_program(giving, value) == plain
    assert from_a_conversation(value) == plain
    assert from_a_single_call(value) == as_text(plain)


_SCALARS: list[st.SearchStrategy[Any]] = [
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, dt.UTC, zoneinfo.ZoneInfo("Asia/Tokyo")])),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.fractions(),
    st.complex_numbers(allow_nan=False, allow_infinity=False),
    st.ip_addresses(),
    st.sampled_from([*Colour, *Level, *Rights, Rights.READ | Rights.WRITE]),
    st.builds(pathlib.PurePosixPath, st.text("ab/.", min_size=1)),
    st.builds(Spot, st.integers()),
]
_OTHERS: list[st.SearchStrategy[Any]] = [
    st.builds(bytearray, st.binary()),
    st.builds(memoryview, st.binary()),
    st.builds(SecretStr, st.text()),
    st.builds(collections.UserString, st.text()),
    st.builds(range, st.integers(-5, 5)),
    st.sampled_from([re.compile("a"), Hidden(), object(), len, Colour, zoneinfo.ZoneInfo("UTC")]),
    st.builds(Broken),
]
# Text that a program may be given as a key, in the one form that it has everywhere.
_KEYS = st.one_of(*_SCALARS, st.tuples(st.integers(), st.sampled_from(Colour)))


_LISTS: tuple[Callable[..., object], ...] = (tuple, collections.deque, collections.UserList)
_DICTS: tuple[Callable[..., object], ...] = (types.MappingProxyType, collections.OrderedDict, collections.UserDict)
_RECORDS: tuple[Callable[..., object], ...] = (Point, Cup, Leaf, Pot, Row)


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    dicts = st.dictionaries(st.text(), inner, max_size=3)
    return st.one_of(
        lists,
        dicts,
        st.dictionaries(_KEYS, inner, max_size=3),
        st.sets(_KEYS, max_size=1),
        st.frozensets(_KEYS, max_size=1),
        *(lists.map(kind) for kind in _LISTS),
        *(dicts.map(kind) for kind in _DICTS),
        *(inner.map(kind) for kind in _RECORDS),
        inner.map(lambda value: Tea(realName=value)),
    )


_VALUES = st.recursive(st.one_of(*_SCALARS, *_OTHERS), _around, max_leaves=8)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(_VALUES)
def test_any_value_is_the_same_for_everybody(giving: Toolkit, value: object) -> None:
    plain = as_json(value)
    json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()

    assert from_a_program(giving, value) == plain
    assert from_a_conversation(value) == plain
    assert from_a_single_call(value) == as_text(value)


# Too much -------------------------------------------------------------------------------------------------------------


class Node(BaseModel):
    children: list[Node] = []
    name: str = ""


@dataclasses.dataclass
class Branch:
    children: list[Any] = dataclasses.field(default_factory=list[Any])


def unfolding(around: Callable[[list[Any]], object], levels: int = 9) -> object:
    """Return few objects that are many once they are written out, as a file of YAML with anchors has them."""
    value: object = around([])
    for _ in range(levels):
        value = around([value] * 9)
    return value


def looping() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


def looping_model() -> Node:
    node = Node()
    node.children.append(node)
    return node


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


class Endless(collections.UserList[int]):
    """A sequence that never comes to an end."""

    def __iter__(self) -> Any:  # noqa: ANN401 - of a foreign class
        while True:
            yield 1


TOO_MUCH: dict[str, tuple[Callable[[], object], str]] = {
    "lists": (lambda: unfolding(list), "500,000 elements"),
    "models": (lambda: unfolding(lambda items: Node.model_construct(children=items)), "500,000 elements"),
    "dataclasses": (lambda: unfolding(Branch), "500,000 elements"),
    "one long text": (lambda: ["x" * 1_000_000] * 100, "characters"),
    "one long key": (lambda: [{"x" * 1_000_000: 1}] * 100, "characters"),
    "one long number": (lambda: [10**3_000] * 100_000, "characters"),
    "a loop": (looping, "refers to itself or is nested deeper than 100 levels"),
    "a model in a loop": (looping_model, "refers to itself or is nested deeper than 100 levels"),
    "many levels": (lambda: nested(1_000), "nested deeper than 100 levels"),
    "a sequence without end": (Endless, "500,000 elements"),
}


@pytest.mark.parametrize(("make", "says"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_what_is_too_much_is_an_error_that_says_that_the_tool_has_run(
    giving: Toolkit, make: Callable[[], object], says: str
) -> None:
    _TO_GIVE[0] = make()
    program = giving.execute("give()").error or ""
    provider = ScriptedProvider(ToolCall("1", "give", {}), "Sorry.")
    messages, continuation = llm().tool(give).provider(provider).converse("Give.")
    [message] = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert continuation.entries
    for text in (program, str(message.result)):
        assert says in text
        assert "'give' has run, but what it returned cannot be passed on: " in text
        assert "do not call it again for the result" in text
    assert not message.success


LONG: dict[str, object] = {
    "texts": ["x" * 100] * 20,
    "keys": [{"x" * 100: 1}] * 20,
    "keys in many rows": [{"x" * 100: 1, "y": 2}] * 40,
    "keys of another kind": [{Spot(10**100): 1}] * 20,
    "bytes": [b"x" * 100] * 20,
    "numbers": [10**100] * 20,
    "numbers one by one": [[10**100]] * 20,
    "decimals": [Decimal("1" * 100)] * 20,
    "texts of paths": [pathlib.PurePosixPath("x" * 100)] * 20,
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG.keys())
def test_all_that_is_long_counts(value: object) -> None:
    """A value of few objects may be long without taking memory, as long as nobody writes it out."""
    assert payload("give", value, 100).problem is not None
    with pytest.raises(values.CannotCrossError, match="characters and bytes"):
        values.encode(value, plain_value, most_text=1_000, plain_members=lambda items: {as_text(*items): 1})


def test_both_ways_have_the_same_budget() -> None:
    assert (MAX_DEPTH, MAX_ELEMENTS) == (values.MAX_DEPTH, values.MAX_NODES)


@pytest.mark.parametrize("format_", [anthropic, gemini, mcp, openai, responses], ids=lambda each: each.__name__)
def test_every_format_says_that_a_result_cannot_be_passed_on(format_: Any) -> None:  # noqa: ANN401 - modules alike
    [sent] = format_.results([(ToolCall("1", "give", {}), ToolResult(success=True, output=looping()))])
    assert "'give' has run" in str(sent)


# What a model reads ---------------------------------------------------------------------------------------------------


def test_a_long_result_of_a_call_is_cut_and_says_so() -> None:
    _TO_GIVE[0] = ["word " * 10] * 100_000
    read = str(from_a_conversation(_TO_GIVE[0]))
    assert len(read) <= 1 << 20
    assert read.endswith("characters in all, of which this is the beginning: ask for less.]")


def test_a_toolkits_limit_of_output_holds_for_single_calls_too(sandbox: ProcessSandbox) -> None:
    _TO_GIVE[0] = "x" * 100_000
    toolkit = Toolkit([give], sandbox=sandbox, limits=Limits(output=2_000))
    provider = ScriptedProvider(ToolCall("1", "give", {}), "Thanks.")
    messages, _ = llm().toolkit(toolkit).tool(give).provider(provider).converse("Give.")
    [message] = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert len(message.result) <= 4_000
    assert "100,000 characters in all" in message.result


def test_what_a_tool_changes_later_changes_nothing_that_was_said() -> None:
    kept: list[int] = [1]
    said = from_a_conversation(kept)
    kept.append(2)
    assert said == [1]


# Time -----------------------------------------------------------------------------------------------------------------


class Slow(BaseModel):
    """A model that is written out only once it may be."""

    @computed_field
    @property
    def late(self) -> bool:
        threads.append(threading.current_thread())
        was_released = released.wait(30)
        ended.append(was_released)
        return was_released


threads: list[threading.Thread] = []
ended: list[bool] = []
released = threading.Event()


def test_a_result_that_is_slow_to_write_out_does_not_hold_its_caller(
    execute: Callable[..., ExecutionResult], giving: Toolkit
) -> None:
    released.clear()
    threads.clear()
    ended.clear()
    _TO_GIVE[0] = Slow()
    try:
        result = execute(giving, "give()", 0.3)
        assert result.error == "TimeoutError: the program timed out after 0.3 s"
        assert threads
        assert not ended
        assert threading.main_thread() not in threads
    finally:
        released.set()


# Passing on -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Made:
    a: int
    b: int = dataclasses.field(init=False, default=5)


@attrs.define
class MadeToo:
    a: int
    b: int = attrs.field(init=False, default=5)
    _c: str = "x"
    shown: int = attrs.field(alias="display", default=2)


class Computed(BaseModel):
    a: int

    @computed_field
    @property
    def twice(self) -> int:
        return 2 * self.a


class Written(BaseModel):
    a: int = Field(serialization_alias="outside", validation_alias="inside")


class Camel(msgspec.Struct, rename="camel", tag="camel"):
    some_name: int


@dataclasses.dataclass
class All:
    made: Made
    attrs: MadeToo
    computed: Computed
    camel: Camel
    point: Point


PASSED_ON: list[tuple[Any, object]] = [
    (Made, Made(1)),
    (MadeToo, MadeToo(1, "u", 7)),
    (Computed, Computed(a=1)),
    (Written, Written.model_validate({"inside": 1})),
    (Tea, Tea(realName=1)),
    (Camel, Camel(1)),
    (All, All(Made(1), MadeToo(2, "y"), Computed(a=1), Camel(3), Point(1, 2))),
    (list[MadeToo], [MadeToo(1, "z")]),
    (dict[Spot, int], {Spot(1): 2}),
    (dict[tuple[int, int], int], {(1, 2): 3}),
    (dict[Colour, int], {Colour.RED: 1, Colour.BLUE: 2}),
    (dict[ipaddress.IPv4Address, int], {ipaddress.IPv4Address("1.2.3.4"): 1}),
    (pathlib.PurePosixPath, pathlib.PurePosixPath("/x")),
    (Fraction, Fraction(1, 3)),
    (complex, 1 + 2j),
    (re.Pattern[str], re.compile("a")),
    (bytes, b"\xff"),
    (frozenset[Colour], frozenset({Colour.RED})),
]


@pytest.mark.parametrize(("kind", "value"), PASSED_ON, ids=lambda each: str(each)[:40])
def test_what_was_returned_can_be_passed_on(sandbox: ProcessSandbox, kind: object, value: object) -> None:
    taken: list[object] = []

    def take(it: object) -> None:
        """Take it."""
        taken.append(it)

    take.__annotations__["it"] = kind
    tool = ez_tool(take)
    _TO_GIVE[0] = value
    result = Toolkit([give, tool], sandbox=sandbox).execute("take(give())")
    assert result.success, result.error
    assert tool.execute(it=as_json(value)).success
    assert taken == [value, value]


@pytest.mark.parametrize(
    "model", [Tea(realName=1), Written.model_validate({"inside": 1}), Computed(a=1)], ids=lambda it: type(it).__name__
)
def test_a_return_schema_names_what_is_returned(model: BaseModel) -> None:
    def make() -> object:
        """Make one."""
        return model

    make.__annotations__["return"] = type(model)
    schema = ez_tool(make).return_schema
    assert schema is not None
    assert schema["properties"].keys() == as_json(model).keys()


# numpy ----------------------------------------------------------------------------------------------------------------

NUMPY = [
    ("float64(1.5)", 1.5),
    ("int64(5)", 5),
    ("bool_(True)", True),
    ("float32(0.5)", 0.5),
    ("longdouble(1.5)", 1.5),
    ("str_('a')", "a"),
    ("datetime64('2026-01-02')", "2026-01-02"),
    ("datetime64('2026-01-02T03:04:05', 'ns')", "2026-01-02T03:04:05.000000000"),
    ("array([[1, 2], [3, 4]])", [[1, 2], [3, 4]]),
    ("array(5)", 5),
    ("array([1.5, float('nan')])", [1.5, "NaN"]),
    ("complex128(1+2j)", "1+2j"),
]


@pytest.mark.parametrize(("made", "plain"), NUMPY)
def test_what_numpy_makes_is_what_python_has(giving: Toolkit, made: str, plain: object) -> None:
    numpy: Any = pytest.importorskip("numpy")
    value = eval(made, {name: getattr(numpy, name) for name in dir(numpy)})
    assert as_json([value]) == [plain]
    assert from_a_program(giving, [value]) == [plain]


def test_an_array_that_repeats_one_number_is_too_much() -> None:
    numpy = pytest.importorskip("numpy")
    assert "500,000 elements" in as_text(numpy.broadcast_to(numpy.int8(0), (10**12,)))
