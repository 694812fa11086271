"""Every type that crosses: through a tool, a program, a tool again and back, it stays what it is."""

from __future__ import annotations

import dataclasses
import datetime as dt
import ipaddress
import pathlib
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from time import struct_time
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ez_ptc import Limits, Tool, Toolkit, ez_tool
from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.frames import parse
from ez_ptc.sandbox.protocol.values import codec as values
from tests.sandbox.alike import alike
from tests.sandbox.giving import TO_GIVE, Point, Spot, give

TAKEN: list[object] = []


@ez_tool
def keep(value: object) -> object:
    """Take a value and give it back."""
    TAKEN.append(value)
    return value


@pytest.fixture(scope="module")
def keeping(sandbox: ProcessSandbox) -> Toolkit:
    return Toolkit([give, keep], sandbox=sandbox)


def folded(moment: dt.datetime, fold: int) -> dt.datetime:
    return moment.replace(fold=fold)


def queue(items: list[object], most: int | None) -> deque[object]:
    return deque(items, most)


ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
ZONES = st.one_of(
    st.none(),
    st.just(dt.UTC),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"]).map(ZoneInfo),
    st.integers(-23 * 60, 23 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes))),
    st.text("CETxy", min_size=1).map(lambda name: dt.timezone(dt.timedelta(hours=1), name)),
)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.fractions(),
    ANY_TEXT,
    st.binary(max_size=20),
    st.datetimes(timezones=ZONES, allow_imaginary=False),
    st.builds(folded, st.datetimes(timezones=ZONES), st.sampled_from([0, 1])),
    st.dates(),
    st.times(timezones=ZONES),
    st.timedeltas(),
    ZONES,
    st.decimals(allow_nan=False),
    st.uuids(),
    st.ip_addresses(),
    st.sampled_from([ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_interface("fe80::1/64")]),
    st.builds(pathlib.PurePosixPath, st.text("ab/.é", min_size=1)),
    st.builds(pathlib.Path, st.text("ab/.", min_size=1)),
    st.builds(pathlib.PureWindowsPath, st.text("ab\\.:", min_size=1)),
)
RANGES = st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([1, -1, 3, -(2**70)]))
BOUNDS = st.none() | st.integers() | st.dates() | st.lists(st.integers(), max_size=2)
SLICES = st.builds(slice, BOUNDS, BOUNDS, BOUNDS)
KEYS = st.recursive(
    SCALARS,
    lambda items: st.one_of(
        st.frozensets(items, max_size=4), st.lists(items, max_size=4).map(tuple), st.builds(Point, items, items)
    ),
    max_leaves=6,
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | RANGES | SLICES,
    lambda items: st.one_of(
        st.lists(items, max_size=5),
        st.lists(items, max_size=5).map(tuple),
        st.builds(queue, st.lists(items, max_size=5), st.none() | st.integers(0, 9)),
        st.builds(Point, items, items),
        st.sets(KEYS, max_size=5),
        st.frozensets(KEYS, max_size=5),
        st.dictionaries(KEYS | st.just("$"), items, max_size=5),
    ),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
@example(dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")))
@example(dt.time(2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")))
@example({Point(1, 2): [Point(deque([Point(0, 0)], 3), range(3))]})
@example(Fraction(10**4000, 10**4000 + 1))
@example(complex(float("nan"), -0.0))
def test_value_of_any_type_survives_every_direction(keeping: Toolkit, value: object) -> None:
    TO_GIVE[0] = value
    TAKEN.clear()
    result = keeping.execute("keep(give())")
    assert result.success, result.error
    assert alike(TAKEN[0], value)
    assert alike(result.return_value, value)
    assert alike(result.tool_calls[1]["args"], (value,))


def test_values_made_by_program_arrive_unchanged(keeping: Toolkit) -> None:
    TAKEN.clear()
    program = """
import datetime, zoneinfo
from collections import namedtuple, deque
from fractions import Fraction
from pathlib import Path
Place = namedtuple("Place", "name count")
class Named(Place):
    pass
when = datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
keep([Fraction(1, 3), 2j, deque([1], 2), range(3), Path("/a"), when, Named("x", 5)])
"""
    value = keeping.execute(program).return_value
    place = NamedTuple("Named", [("name", str), ("count", int)])("x", 5)
    when = dt.datetime(2026, 7, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    assert alike(value, [Fraction(1, 3), 2j, deque([1], 2), range(3), pathlib.Path("/a"), when, place])
    assert alike(value, TAKEN[0])
    assert (value[-1].name, value[-1].count, value[-1]["name"], value[-1][1]) == ("x", 5, "x", 5)


def test_a_named_tuple_keeps_its_names_in_a_program(keeping: Toolkit) -> None:
    TO_GIVE[0] = Point(1, [2])
    program = """
p = give()
x, y = p
import copy, json
print(p, p == (1, [2]), p.x, p["y"], p[0], p[-1], len(p), x, y, p._fields, p._asdict(), p._replace(x=5), p[:1])
print(copy.deepcopy(p), json.dumps(p), isinstance(p, tuple))
for wrong in ("p.z", "p['z']", "p._replace(z=1)"):
    try:
        eval(wrong)
    except Exception as error:
        print(type(error).__name__, error)
try:
    p.x = 1
except AttributeError as error:
    print(error)
"""
    assert keeping.execute(program).output.splitlines() == [
        "Point(x=1, y=[2]) True 1 [2] 1 [2] 2 1 [2] ('x', 'y') {'x': 1, 'y': [2]} Point(x=5, y=[2]) (1,)",
        "Point(x=1, y=[2]) [1, [2]] True",
        "AttributeError this named tuple has no 'z'; it has: x, y",
        "TypeError tuple indices must be integers or slices, not str",
        "ValueError this named tuple has no z; it has: x, y",
        "a named tuple cannot be changed: make another one with _replace()",
    ]


def test_names_of_c_struct_sequence_are_kept() -> None:
    moment = struct_time((2026, 1, 2, 3, 4, 5, 4, 2, 0))
    crossed = host_codec.loads(host_codec.dumps(values.encode(moment)))
    assert isinstance(crossed, values.Row)
    assert (crossed, crossed["tm_year"]) == (tuple(moment), 2026)


@dataclasses.dataclass
class Stop:
    x: int
    y: float


@ez_tool
def visit(place: Point, stop: Stop, options: dict[str, int], file: str, files: list[str]) -> list[object]:
    """Take a place in many forms."""
    return [type(place) is Point, stop.x, options, file, files]


def test_named_tuple_or_path_fits_record_or_text(sandbox: ProcessSandbox) -> None:
    program = """
from collections import namedtuple
from pathlib import Path
p = namedtuple("P", "x y")(1, 2)
visit(p, p, p, Path("/a"), [Path("/b"), "c"])
"""
    result = Toolkit([visit], sandbox=sandbox).execute(program)
    assert result.return_value == [True, 1, {"x": 1, "y": 2}, "/a", ["/b", "c"]], result.error


@ez_tool
def spoil(value: object) -> None:
    """Change what was passed, or what is in it."""
    items: Any = value
    if isinstance(value, tuple):
        items = items[0]
    elif isinstance(value, slice):
        items = items.stop
    items.append(1)


def test_call_record_has_arguments_before_mutation(sandbox: ProcessSandbox) -> None:
    program = """
from collections import deque, namedtuple
spoil(deque([0], 3))
spoil(namedtuple('P', 'x')([0]))
spoil(slice([0]))
"""
    result = Toolkit([spoil], sandbox=sandbox).execute(program)
    assert [call["args"][0] for call in result.tool_calls] == [deque([0]), ([0],), slice([0])]


def test_imported_tool_gets_json_values(sandbox: ProcessSandbox) -> None:
    schema = {"type": "object", "properties": {"items": {"type": "array"}, "point": {"type": "object"}}}

    def send(**arguments: object) -> object:
        return arguments

    tool = Tool.from_schema("send", "Send.", schema, send)
    program = """
from collections import deque, namedtuple
P = namedtuple("P", "x y")
send(items=[range(2), deque([P(1, [P(2, 3)])]), "x"], point=P(range(1), 2))
"""
    result = Toolkit([tool], sandbox=sandbox).execute(program)
    assert result.success, result.error
    assert alike(
        result.return_value, {"items": [[0, 1], [{"x": 1, "y": [{"x": 2, "y": 3}]}], "x"], "point": {"x": [0], "y": 2}}
    )


# What costs more than it seems to ------------------------------------------------------------------------------------


DEAR: dict[str, object] = {
    "a range": {"$": ["rg", "0/de0b6b3a7640000/1"]},
    "ranges": [{"$": ["rg", "0/7a120/1"]}] * 2,
    "a list of a range": {"$": ["t", {"$": ["rg", "0/de0b6b3a7640000/1"]}]},
    "a deque of a range": {"$": ["dq", [{"$": ["rg", "0/de0b6b3a7640000/1"]}, None]]},
    "a fraction": {"$": ["fr", "f" * 100_000 + "/" + "e" * 100_000]},
    "fractions": [{"$": ["fr", "f" * 8_000 + "/" + "e" * 8_000]}] * 50,
    "a fraction by nothing": {"$": ["fr", "1/0"]},
    "a zone that is a path": {"$": ["z", "../../etc/passwd"]},
    "a zone that is none": {"$": ["z", "Nowhere/Here"]},
    "a moment in a zone that is none": {"$": ["tm", ["00:00:00", 0, [], "Nowhere/Here"]]},
    "names that are none": {"$": ["nt", ["P", ["__class__"], [1]]]},
    "too few names": {"$": ["nt", ["P", ["a"], [1, 2]]]},
    "a name that is no text": {"$": ["nt", ["P", [1], [1]]]},
    "a class that is none": {"$": ["x", "system ls"]},
    "a mark that is none": {"$": ["zz", 1]},
}


@pytest.mark.parametrize("tree", DEAR.values(), ids=DEAR.keys())
def test_dishonest_frame_is_refused_before_it_costs(tree: object) -> None:
    with pytest.raises((ValueError, TypeError, LookupError, ArithmeticError, AttributeError)):
        host_codec.loads(values.dumps(tree))


def in_a_deque(inner: object) -> object:
    return {"$": ["dq", [[inner], None]]}


def in_a_named_tuple(inner: object) -> object:
    return {"$": ["nt", ["P", ["a"], [inner]]]}


@pytest.mark.parametrize("around", [in_a_deque, in_a_named_tuple])
def test_containers_nest_no_deeper_than_lists(around: Callable[[object], object]) -> None:
    tree: object = 1
    for _ in range(values.MAX_DEPTH + 20):
        tree = around(tree)
    with pytest.raises(ProtocolError, match=r"nested too deeply|unreadable"):
        parse(values.dumps({"t": "done", "value": tree, "dropped": 0}))


@pytest.mark.parametrize("digits", [1, 500, 1_000, 3_000, 10_000, 20_000, 24_997, 24_998, 24_999, 25_000, 30_000])
@pytest.mark.parametrize("number", [1, 40])
def test_a_fraction_that_can_be_sent_can_be_read(digits: int, number: int) -> None:
    value = [Fraction(-(10**digits), 10**digits + 1)] * number
    try:
        sent = host_codec.dumps(values.encode(value))
    except values.CannotCrossError as error:
        assert "too many digits" in str(error)  # noqa: PT017 - either is right
        return
    assert host_codec.loads(sent) == value


def test_too_long_range_does_not_reach_tool(keeping: Toolkit) -> None:
    TAKEN.clear()
    result = keeping.execute("keep(range(10**18))")
    assert "more than 500,000 elements (Limits.elements)" in (result.error or "")
    assert not result.tool_calls


# The number of elements -----------------------------------------------------------------------------------------------


ENDS = {"passed": "keep([0] * 2_000)", "returned": "keep(1)\nmany()", "at the end": "[0] * 2_000"}


@ez_tool
def many() -> list[int]:
    """Return many numbers."""
    return [0] * 2_000


@pytest.mark.parametrize(("end", "elements"), [*product(ENDS, [1_000, 3_000, 600_000])])
def test_element_count_has_a_separate_limit(sandbox: ProcessSandbox, end: str, elements: int) -> None:
    toolkit = Toolkit([keep, many], sandbox=sandbox, limits=Limits(elements=elements))
    result = toolkit.execute(ENDS[end])
    if elements > 2_000:
        assert result.return_value == [0] * 2_000
    else:
        assert "more than 1,000 elements (Limits.elements)" in (result.error or result.described)


@pytest.mark.security
def test_raised_element_limit_lets_more_cross(sandbox: ProcessSandbox) -> None:
    toolkit = Toolkit([keep], sandbox=sandbox, limits=Limits(elements=2_000_000))
    result = toolkit.execute("len(keep([[n, 1] for n in range(400_000)])), [0] * 1_100_000", 60)
    assert result.success, result.error
    assert (result.return_value[0], len(result.return_value[1])) == (400_000, 1_100_000)


def test_a_limit_of_elements_is_a_whole_number() -> None:
    with pytest.raises(ValueError, match=r"Limits\.elements must be a positive int"):
        Limits(elements=0)


def test_set_of_unhashable_values_becomes_list(keeping: Toolkit) -> None:
    TO_GIVE[0] = {Point(Spot(1), 2)}
    assert keeping.execute("give()").return_value == [({"x": 1}, 2)]
