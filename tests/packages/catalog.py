"""The packages that are tried as programs import them: a version of each, a small program, and what it ends with."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOG", "Package"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package.

    Attributes:
        name: What programs import.
        release: What is installed, and in which version: `python-dateutil==4.0.0`.
        program: Uses it as its documentation does.
        value: What the program ends with.
        error: What it says where it cannot work.
        also: Other imports that this program wants.
        note: What of it works in another way, or not; for the documentation.
    """

    name: str
    release: str
    program: str
    value: object = None
    error: str = ""
    also: tuple[str, ...] = ()
    note: str = ""

    @property
    def version(self) -> str:
        """The version that is installed."""
        return self.release.partition("==")[2]


CATALOG = (
    Package(
        name="numpy",
        release="numpy==2.4.6",
        program="""
import numpy as np
square = np.arange(9.0).reshape(3, 3) + np.eye(3)
[round(float(np.linalg.det(square)), 6), float((square @ square.T).sum()), np.fft.fft([1, 2, 3])[0].real.item()]
""",
        value=[-5.0, 525.0, 6.0],
    ),
    Package(
        name="pandas",
        release="pandas==3.1.1",
        program="""
import io, pandas as pd
frame = pd.read_csv(io.StringIO("city,n\\nOslo,1\\nRome,2\\nOslo,3"))
frame.groupby("city").n.sum().to_dict()
""",
        value={"Oslo": 4, "Rome": 2},
    ),
    Package(
        name="pyarrow",
        release="pyarrow==26.0.1",
        program="""
import pyarrow as pa, pyarrow.compute as pc
pc.sum(pa.table({"n": [1, 2]})["n"]).as_py()
""",
        value=3,
        note="without Parquet and file systems, which need OpenSSL",
    ),
    Package(
        name="polars",
        release="polars==2.1.0",
        program="""
import polars as pl
frame = pl.DataFrame({"city": ["Oslo", "Rome", "Oslo"], "n": [1, 2, 3]}).lazy()
frame.group_by("city").agg(pl.col("n").sum()).sort("city").collect().rows()
""",
        value=[("Oslo", 4), ("Rome", 2)],
    ),
    Package(
        name="duckdb",
        release="duckdb==2.0.0",
        program="""
import duckdb
duckdb.sql("select n % 2 as odd, sum(n) from range(5) t(n) group by odd order by odd").fetchall()
""",
        value=[(0, 6), (1, 4)],
        note="in memory",
    ),
    Package(
        name="scipy",
        release="scipy==1.17.1",
        program="""
from scipy import integrate, optimize, stats
[round(optimize.brentq(lambda x: x**2 - 2, 0, 2), 4), round(float(stats.norm.cdf(1.96)), 3),
 round(integrate.quad(lambda x: x, 0, 1)[0], 3)]
""",
        value=[1.4142, 0.975, 0.5],
    ),
    Package(
        name="sklearn",
        release="scikit-learn==1.9.1",
        program="""
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
line = LinearRegression().fit([[0], [1], [2]], [1, 3, 5])
groups = KMeans(2, n_init=3).fit([[0], [0.1], [9], [9.1]]).labels_
forest = RandomForestClassifier(5).fit([[0], [1]] * 5, [0, 1] * 5)
[round(float(line.coef_[0]), 3), len({*groups}), forest.predict([[1]]).tolist(), load_iris().data.shape]
""",
        value=[2.0, 2, [1], (150, 4)],
    ),
    Package(
        name="statsmodels",
        release="statsmodels==0.15.0",
        program="""
import statsmodels.api as sm
round(float(sm.OLS([1, 3, 5, 7], sm.add_constant([0, 1, 2, 3])).fit().params[1]), 3)
""",
        value=2.0,
    ),
    Package(
        name="numba",
        release="numba==0.68.1",
        program="""
import numba

@numba.njit
def more(x):
    return x + 1

more(1)
""",
        value=2,
        note="functions run as plain Python, without compilation",
    ),
    Package(
        name="pydantic",
        release="pydantic==2.14.3",
        program="""
import pydantic

class Order(pydantic.BaseModel):
    count: pydantic.PositiveInt

Order(count="1").count
""",
        value=1,
    ),
    Package(
        name="dateutil",
        release="python-dateutil==4.0.0",
        program="""
from dateutil import parser, relativedelta, rrule, tz
day = parser.parse("31 January 2024")
zone = str(day.replace(tzinfo=tz.gettz("Europe/Oslo")))
[str(day + relativedelta.relativedelta(months=1)), len(list(rrule.rrule(rrule.DAILY, count=3, dtstart=day))), zone]
""",
        value=["2024-02-29 00:00:00", 3, "2024-01-31 00:00:00+01:00"],
    ),
    Package(
        name="sympy",
        release="sympy==1.14.0",
        program="""
import sympy
x = sympy.Symbol("x")
[str(sympy.integrate(sympy.sin(x), x)), [int(root) for root in sympy.solve(x**2 - 4, x)]]
""",
        value=["-cos(x)", [-2, 2]],
    ),
    Package(
        name="networkx",
        release="networkx==3.6.1",
        program="""
import networkx as nx
graph = nx.Graph([(1, 2), (2, 3), (1, 3), (3, 4)])
[nx.shortest_path(graph, 1, 4), max(nx.pagerank(graph).items(), key=lambda item: item[1])[0]]
""",
        value=[[1, 3, 4], 3],
        also=("numpy", "scipy"),
        note="some functions need `numpy` and `scipy` in `allow_imports`",
    ),
    Package(
        name="matplotlib",
        release="matplotlib==3.11.2",
        program="""
import io, matplotlib.pyplot as plt
plt.plot([1, 2], [3, 4])
plt.title("$x^2$")
file = io.BytesIO()
plt.savefig(file)
plt.close()
file.getvalue()[:4]
""",
        value=b"\x89PNG",
        note="figures are in `result.images`; only its own fonts",
    ),
    Package(
        name="PIL",
        release="pillow==13.0.0",
        program="""
import io
from PIL import Image, ImageDraw
image, file = Image.new("RGB", (20, 10), "red"), io.BytesIO()
ImageDraw.Draw(image).line((0, 0, 5, 5))
image.save(file, "PNG")
Image.open(file).size
""",
        value=(20, 10),
    ),
    Package(
        name="requests",
        release="requests==2.34.2",
        program='import requests\nrequests.get("https://example.com")',
        error="no network access in the sandbox",
        note="there is no network",
    ),
    Package(
        name="bs4",
        release="beautifulsoup4==4.15.0",
        program="from bs4 import BeautifulSoup\nBeautifulSoup('<p>Hi <b>you</b></p>', 'html.parser').b.text",
        value="you",
    ),
    Package(
        name="lxml",
        release="lxml==6.1.3",
        program="""
from lxml import etree, html
[etree.fromstring("<a><b>1</b></a>").findtext("b"), html.fromstring("<p>x</p>").text]
""",
        value=["1", "x"],
    ),
    Package(
        name="openpyxl",
        release="openpyxl==3.1.5",
        program="""
import io, openpyxl
book = openpyxl.Workbook()
book.active.append([1, 2])
book.save(io.BytesIO())
""",
        error="no file access in the sandbox",
        note="it reads and builds workbooks, but saving needs temporary files",
    ),
    Package(
        name="yaml",
        release="pyyaml==6.0.3",
        program='import yaml\n[yaml.safe_load("a: [1, 2]"), yaml.dump({"b": 1})]',
        value=[{"a": [1, 2]}, "b: 1\n"],
    ),
    Package(
        name="rich",
        release="rich==15.0.0",
        program="""
import io
from rich.console import Console
from rich.table import Table
table, file = Table("city"), io.StringIO()
table.add_row("Oslo")
Console(file=file, width=20).print(table)
"Oslo" in file.getvalue()
""",
        value=True,
    ),
    Package(
        name="tabulate",
        release="tabulate==0.10.0",
        program='from tabulate import tabulate\ntabulate([[1, 2]], headers=["a", "b"])',
        value="  a    b\n---  ---\n  1    2",
    ),
    Package(
        name="jinja2",
        release="jinja2==3.1.6",
        program='import jinja2\njinja2.Template("{% for x in xs %}{{ x }},{% endfor %}").render(xs=[1, 2])',
        value="1,2,",
    ),
    Package(
        name="orjson",
        release="orjson==3.13.0",
        program='import orjson\norjson.loads(orjson.dumps({"a": [1, None]}))',
        value={"a": [1, None]},
    ),
    Package(
        name="msgspec",
        release="msgspec==0.22.0",
        program="""
import msgspec

class Order(msgspec.Struct):
    count: int

msgspec.json.decode(msgspec.json.encode(Order(1)), type=Order).count
""",
        value=1,
    ),
    Package(
        name="attrs",
        release="attrs==26.1.0",
        program="import attrs\n\n@attrs.define\nclass Order:\n    count: int\n\nattrs.asdict(Order(1))",
        value={"count": 1},
    ),
)
