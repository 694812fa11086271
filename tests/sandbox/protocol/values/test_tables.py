"""Values of numpy and pandas: the same for a tool, a program and a client, and nothing of them lost."""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.formats.content import as_json
from tests.sandbox.alike import alike
from tests.sandbox.giving import TO_GIVE, give

pytestmark = pytest.mark.skipif(
    not (find_spec("numpy") and find_spec("pandas")), reason="numpy and pandas are not installed"
)

BERLIN = ZoneInfo("Europe/Berlin")
NAN = float("nan")
DAY = dt.datetime(2026, 1, 2)
HOURS = "pd.to_datetime(['2026-01-02', None])"
TABLE = "pd.DataFrame({'n': [1, 2, 3], 'g': ['x', 'x', 'y']})"

VALUES: list[tuple[str, object]] = [
    ("np.int64(5)", 5),
    ("np.uint64(2**64 - 1)", 2**64 - 1),
    ("np.float32(0.5)", 0.5),
    ("np.float64(0.5)", 0.5),
    ("np.float64('nan')", NAN),
    ("np.longdouble(1.5)", 1.5),
    ("np.longdouble('nan')", NAN),
    ("np.bool_(True)", True),
    ("np.str_('a')", "a"),
    ("np.bytes_(b'a')", b"a"),
    ("np.complex64(1 + 2j)", 1 + 2j),
    ("np.datetime64('2026-01-02')", dt.date(2026, 1, 2)),
    ("np.datetime64('2026-01-02T00', 'ns')", DAY),
    ("np.datetime64('2026-01-02T00:00:00.000000001')", "2026-01-02T00:00:00.000000001"),
    ("np.datetime64('20260-01-02')", "20260-01-02"),
    ("np.datetime64('NaT')", None),
    ("np.timedelta64('NaT')", None),
    ("np.timedelta64(5, 's')", dt.timedelta(seconds=5)),
    ("np.timedelta64(5, 'ns')", "5 nanoseconds"),
    ("np.timedelta64(5, 'Y')", "5 years"),
    ("np.array([[1, 2], [3, 4]])", [[1, 2], [3, 4]]),
    ("np.array(5)", 5),
    ("np.array(['2026-01-02', 'NaT'], 'datetime64[ns]')", [DAY, None]),
    ("np.array([['2026-01-02T00:00:00.000000001', 'NaT']], 'M8[ns]')", [["2026-01-02T00:00:00.000000001", None]]),
    ("np.array([1, None, np.int8(2)], object)", [1, None, 2]),
    ("np.array([(1, 2.0)], [('a', int), ('b', float)])", [{"a": 1, "b": 2.0}]),
    ("np.ma.array([1, 2], mask=[0, 1])", [1, None]),
    ("np.dtype(int)", "int64"),
    ("pd.NaT", None),
    ("pd.NA", None),
    ("[pd.NaT, {'a': pd.NA}]", [None, {"a": None}]),
    ("pd.Timestamp('2026-01-02')", DAY),
    ("pd.Timestamp('2026-01-02', tz='Europe/Berlin')", DAY.replace(tzinfo=BERLIN)),
    ("pd.Timestamp('2026-10-25 02:30+01:00').tz_convert('Europe/Berlin')",
     dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN)),
    ("pd.Timestamp('2026-01-02T03:04:05.123456789')", "2026-01-02T03:04:05.123456789"),
    ("pd.Timedelta('1D')", dt.timedelta(1)),
    ("pd.Timedelta(5, 'ns')", "P0DT0H0M0.000000005S"),
    ("pd.Period('2026-01')", "2026-01"),
    ("pd.Interval(0, 1)", "(0, 1]"),
    ("pd.Series([1, 2])", [1, 2]),
    ("pd.Series([1.5, None])", [1.5, NAN]),
    ("pd.Series(['x', None])", ["x", None]),
    ("pd.Series([1, None], dtype='Int64')", [1, None]),
    ("pd.Series([True, None], dtype='boolean')", [True, None]),
    ("pd.Series(pd.Categorical(['x', None]))", ["x", None]),
    (f"pd.Series({HOURS})", [DAY, None]),
    ("pd.Series([1, 2], index=['a', 'b'])", {"a": 1, "b": 2}),
    ("pd.Series([1, 2], index=['a', 'a'], name='n')", [{"index": "a", "n": 1}, {"index": "a", "n": 2}]),
    ("pd.Series([1, 2], index=[5, 7])", [1, 2]),
    ("pd.Series(dtype=float)", []),
    ("pd.Series([[1], {'a': np.int8(2)}])", [[1], {"a": 2}]),
    (f"{TABLE}.groupby('g')['n'].sum()", [{"g": "x", "n": 3}, {"g": "y", "n": 3}]),
    (f"{TABLE}['g'].value_counts()", [{"g": "x", "count": 2}, {"g": "y", "count": 1}]),
    (f"{TABLE}.groupby(['g', 'n']).size()",
     [{"g": "x", "n": 1, "value": 1}, {"g": "x", "n": 2, "value": 1}, {"g": "y", "n": 3, "value": 1}]),
    (f"{TABLE}.iloc[0]", {"n": 1, "g": "x"}),
    (f"{TABLE}.dtypes.astype(str).to_dict()['n']", "int64"),
    (f"{TABLE}[['n']].mean()", {"n": 2.0}),
    (f"{TABLE}.query('n > 1')", [{"n": 2, "g": "x"}, {"n": 3, "g": "y"}]),
    (f"{TABLE}.set_index('g')", [{"g": "x", "n": 1}, {"g": "x", "n": 2}, {"g": "y", "n": 3}]),
    (f"{TABLE}.index", [0, 1, 2]),
    (f"{TABLE}.columns", ["n", "g"]),
    ("pd.DataFrame({'a': [1]}, index=['x'])", [{"index": "x", "a": 1}]),
    (f"pd.DataFrame({{'at': {HOURS}, 'f': [1.5, None]}})", [{"at": DAY, "f": 1.5}, {"at": None, "f": NAN}]),
    ("pd.DataFrame([[1, 2]], columns=['a', 'a'])", [{"a": 1, "a (2)": 2}]),
    ("pd.DataFrame([[1, 2]], columns=[0, 1])", [{0: 1, 1: 2}]),
    ("pd.DataFrame({'a': [1]}, index=pd.Index([5], name='a'))", [{"a": 5, "a (2)": 1}]),
    ("pd.DataFrame({('a', 1): [2]})", [{("a", 1): 2}]),
    ("pd.DataFrame({'a': []})", []),
    ("pd.DataFrame(index=[0, 1])", [{}, {}]),
    ("{'rows': pd.DataFrame({'a': [np.nan, 'x']})}", {"rows": [{"a": None}, {"a": "x"}]}),
    ("pd.Categorical(['x', 'y'])", ["x", "y"]),
    ("pd.MultiIndex.from_tuples([('a', 1)])", [("a", 1)]),
]  # fmt: skip

TAKEN: list[object] = []


@ez_tool
def keep(value: object) -> None:
    """Keep a value."""
    TAKEN.append(value)


@pytest.fixture(scope="module")
def keeping() -> Any:  # noqa: ANN401 - a generator
    with Toolkit([give, keep], allow_imports=["numpy", "pandas"], limits=Limits(timeout=60)) as toolkit:
        yield toolkit


def made(text: str) -> object:
    return eval(text, {"np": import_module("numpy"), "pd": import_module("pandas")})


@pytest.mark.parametrize(("text", "plain"), VALUES, ids=[text for text, _ in VALUES])
def test_numpy_and_pandas_values_arrive_equal_in_every_direction(keeping: Toolkit, text: str, plain: object) -> None:
    TO_GIVE[0] = made(text)
    TAKEN.clear()
    program = f"import numpy as np, pandas as pd\nvalue = {text}\nkeep(value)\nkeep(give())\nvalue"
    result = keeping.execute(program)
    assert result.success, result.error
    assert alike(result.return_value, plain)
    assert alike(TAKEN, [plain, plain])
    assert as_json(TO_GIVE[0]) == as_json(plain)


TOO_MUCH = "pd.DataFrame({'a': range(600), 'b': 1})"


@pytest.mark.parametrize("call", [f"keep({TOO_MUCH})", "give()", TOO_MUCH], ids=["passed", "returned", "at the end"])
def test_too_large_table_error_gives_size_and_advice(call: str) -> None:
    TO_GIVE[0] = made(TOO_MUCH)
    TAKEN.clear()
    with Toolkit([give, keep], allow_imports=["numpy", "pandas"], limits=Limits(timeout=60, elements=1_000)) as toolkit:
        result = toolkit.execute(f"import pandas as pd\n{call}")
    text = result.error or result.described
    assert "a DataFrame of 600 rows has 1,800 elements, more than 1,000; there is room for at most 333 of its" in text
    assert "(Limits.elements)" in text
    assert not TAKEN
    assert not result.described or "[600 rows x 2 columns]" in text


def test_an_array_that_repeats_one_number_is_too_large() -> None:
    assert "has more than 500,000 elements" in as_json(made("np.broadcast_to(np.int8(0), (10**12,))"))


def test_fake_table_is_described(keeping: Toolkit) -> None:
    result = keeping.execute("class DataFrame: pass\nDataFrame.__module__ = 'pandas.core'\nDataFrame()")
    assert result.success
    assert result.described.startswith("<pandas.core.DataFrame object>")
