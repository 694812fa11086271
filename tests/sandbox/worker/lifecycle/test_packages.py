"""Packages that programs may import: these and no others, whole, in the same sandbox."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from ez_ptc import MissingExtraError, ProcessSandbox, SandboxError, Toolkit
from tests.sandbox.processes import all_gone, descendants, families, parent
from tests.sandbox.scripts import run_script
from tests.sandbox.tools import TOOLS


@pytest.fixture(scope="module")
def granted() -> Iterator[Toolkit]:
    """A toolkit whose programs may import a package of pure Python, and one of its neighbours."""
    with Toolkit(TOOLS, allow_imports=["attr", "docstring_parser"]) as toolkit:
        yield toolkit


def test_a_granted_package_is_imported_and_works(granted: Toolkit) -> None:
    code = """
import attr
from docstring_parser import parse

@attr.s(auto_attribs=True)
class Point:
    x: int
    y: int = attr.ib(validator=attr.validators.instance_of(int))

[attr.asdict(Point(1, add(1, 1))), parse("Add.\\n\\nArgs:\\n    a: One.").params[0].arg_name]
"""
    assert granted.execute(code).return_value == [{"x": 1, "y": 2}, "a"]


def test_lazily_loaded_parts_of_package_are_available(granted: Toolkit) -> None:
    """Its first import does not load the parser of Google's style by name, nor what nobody has asked for."""
    code = "import attr.filters, docstring_parser.epydoc\nattr.filters.include(int)\n5"
    result = granted.execute(code)
    assert (result.error, result.return_value) == (None, 5)


def test_package_may_import_absent_modules_without_using_them(granted: Toolkit) -> None:
    """Many import these late, for what few ever ask them."""
    assert granted.execute("import multiprocessing, webbrowser\nfrom multiprocessing import Pool\n1").return_value == 1
    error = granted.execute("import multiprocessing\nmultiprocessing.Pool(2)").error or ""
    assert "programs cannot import _multiprocessing: it needs other processes" in error
    assert "no network access and no other processes in the sandbox" in (
        granted.execute("import multiprocessing\nmultiprocessing.Process(target=print).start()").error or ""
    )


def test_package_is_imported_as_usual(granted: Toolkit) -> None:
    code = """
from attr.__init__ import define
import attr, sys
[define is attr.define, '__path__' in vars(sys.modules['attr.__init__'])]
"""
    assert granted.execute(code).return_value == [True, False]


@pytest.mark.parametrize("name", ["pydantic", "hypothesis", "pip", "ez_ptc", "no_such_package"])
def test_other_packages_are_absent_and_available_ones_listed(granted: Toolkit, name: str) -> None:
    error = granted.execute(f"import {name}").error or ""
    assert f"No module named '{name}'" in error
    assert "programs can import the standard library and attr and docstring_parser, without files" in error


def test_without_a_grant_there_is_only_the_standard_library(toolkit: Toolkit) -> None:
    assert "programs can import the standard library, without" in (toolkit.execute("import attr").error or "")


def test_granted_package_reveals_no_host_path(granted: Toolkit) -> None:
    code = """
import attr, docstring_parser, gc, sys, types
gc.unfreeze()
modules = [m for name, m in sys.modules.items() if name.partition(".")[0] in ("attr", "docstring_parser")]
functions = [f for f in gc.get_objects() if type(f) is types.FunctionType]
names = [found for found in gc.get_objects() if type(found) is dict and type(found.get("__file__")) is str]
named = {found["__file__"].partition("/")[0] for found in names if found["__file__"] != __file__}
seen = {f.__code__.co_filename.partition("/")[0] for f in functions if "/" in f.__code__.co_filename}
[len(modules) > 4, sorted({m.__file__.partition("/")[0] for m in modules}), sorted(seen), sorted(named), sys.path]
"""
    places = ["<packages>", "<sandbox>", "<stdlib>"]
    assert granted.execute(code).return_value == [True, ["<packages>"], places, places, []]


def test_the_files_of_a_granted_package_cannot_be_read(granted: Toolkit) -> None:
    spec = find_spec("attr")
    assert spec is not None
    assert spec.origin is not None
    for path in (spec.origin, str(Path(spec.origin).parent), sys.prefix):
        result = granted.execute(f"import attr, os\nos.listdir({path!r}) if {path!r}[-3:] != '.py' else open({path!r})")
        assert (result.error or "").startswith("PermissionError")


def zygotes(*, without: set[int]) -> set[int]:
    """Return the processes that were started here since, without what comes from them."""
    return {pid for pid in descendants(os.getpid()) - without if parent(pid) == os.getpid()}


@pytest.mark.sampled(every=2)
def test_toolkits_share_a_sandbox_only_for_equal_grants() -> None:
    before = descendants(os.getpid())
    with Toolkit(TOOLS, allow_imports=["attr", "anyio"]) as first:
        assert first.execute("import attr\n1").return_value == 1
        names = list(first.allow_imports)
        with Toolkit(TOOLS, allow_imports=[*reversed(names), *names]) as same:
            assert same.execute("import attr\n2").return_value == 2
            assert same._access.open() is first._access.open()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - what is shared
            assert len(zygotes(without=before)) == 1
        with Toolkit(TOOLS, allow_imports=["docstring_parser"]) as other:
            assert "No module named 'attr'" in (other.execute("import attr").error or "")
            assert len(zygotes(without=before)) == 2


@pytest.mark.parametrize(
    ("names", "error", "says"),
    [
        (["no_such_package"], MissingExtraError, "pip install no_such_package"),
        (["numpy==2"], ValueError, "not the name of a package"),
        (["os.path"], ValueError, "not the name of a package"),
        ("attr", TypeError, r"write \['attr'\]"),
    ],
)
def test_a_grant_that_cannot_be_is_refused_at_once(names: list[str], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Toolkit(TOOLS, allow_imports=names)


@pytest.mark.sampled(every=0)
def test_given_sandbox_takes_the_grants_itself() -> None:
    with ProcessSandbox(allow_imports=["attr"]) as sandbox:
        assert Toolkit(TOOLS, sandbox=sandbox).execute("import attr\n3").return_value == 3
        with pytest.raises(ValueError, match="pass them to ProcessSandbox"):
            Toolkit(TOOLS, allow_imports=["attr"], sandbox=sandbox)


@pytest.mark.security
def test_concurrent_toolkits_with_equal_grants_start_one_zygote() -> None:
    before = descendants(os.getpid())

    def run(toolkit: Toolkit) -> object:
        return toolkit.execute("import anyio, attr\n1").return_value

    toolkits = [Toolkit(TOOLS, allow_imports=names) for names in (["attr", "anyio"], ["anyio", "attr"]) * 3]
    with ThreadPoolExecutor(len(toolkits)) as pool:
        assert [*pool.map(run, toolkits)] == [1] * len(toolkits)
    started = zygotes(without=before)
    assert len(started) == 1
    processes = families(os.getpid(), without=before)
    # Some are closed, one is dropped; the rest work on.
    for _ in range(4):
        toolkits.pop().close()
    del toolkits[0]
    assert run(toolkits[0]) == 1
    assert zygotes(without=before) == started
    del toolkits
    gc.collect()
    assert all_gone(processes, within=60)


SLOW = """
import os, select
waiting = os.open({pipe!r}, os.O_RDONLY | os.O_NONBLOCK)
poll = select.poll()
poll.register(waiting, select.POLLIN)
if not poll.poll(30_000):
    raise TimeoutError("nobody said that this takes long")
os.close(waiting)
"""


class Releasing(logging.Handler):
    """Keeps what is said, and lets the import that it is about go on."""

    def __init__(self, pipe: Path) -> None:
        super().__init__()
        self.messages: list[str] = []
        self._pipe = os.open(pipe, os.O_RDWR)

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        os.write(self._pipe, b"x")

    def close(self) -> None:
        os.close(self._pipe)
        super().close()


def test_long_startup_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The package is loaded as soon as it has been said that it takes long, and not before."""
    os.mkfifo(pipe := tmp_path / "pipe")
    (tmp_path / "slow.py").write_text(SLOW.format(pipe=str(pipe)), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType] - it has no annotations
    log, handler = logging.getLogger("ez_ptc.sandbox"), Releasing(pipe)
    log.addHandler(handler)
    caplog.set_level(logging.INFO, "ez_ptc.sandbox")
    try:
        with Toolkit(TOOLS, allow_imports=["slow"]) as first, Toolkit(TOOLS, allow_imports=["slow"]) as second:
            for toolkit in (first, second, first):
                assert toolkit.execute("import slow\n1").return_value == 1
    finally:
        log.removeHandler(handler)
        handler.close()
    assert handler.messages == ["loading slow into the sandbox; toolkits that allow the same share it"]


IDLE = """
import ctypes, threading
waiting = threading.Event()

def wait():
    ctypes.CDLL(None).prctl(15, b"polars-ooc-clea")
    waiting.set()
    threading.Event().wait()

threading.Thread(target=wait, daemon=True).start()
waiting.wait()
"""


@pytest.mark.sampled(every=0)
def test_expendable_thread_is_left_out_of_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other thread can be confined, so those that are forked must have none."""
    (tmp_path / "idle.py").write_text(IDLE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType] - it has no annotations
    before = descendants(os.getpid())
    with ProcessSandbox() as plain, ProcessSandbox(allow_imports=["idle"]) as sandbox:
        assert sandbox.isolation == plain.isolation
        toolkit = Toolkit(TOOLS, sandbox=sandbox)
        assert toolkit.execute("import idle, threading\nadd(1, threading.active_count())").return_value == 2
        assert (toolkit.execute("open('/etc/passwd')").error or "").startswith("PermissionError")
        processes = families(os.getpid(), without=before)
        # Nothing outlives what the host has started, although there is a process more in between.
        for started in zygotes(without=before):
            os.kill(started, signal.SIGKILL)
        assert all_gone(processes, within=60)


BAD = """
import sys
from ez_ptc import SandboxError, Toolkit
sys.path.insert(0, sys.argv[1])
try:
    Toolkit([], allow_imports=["bad"]).execute("1")
except SandboxError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()", "starts threads ("),
        ("import os\nkept = [os.dup(0) for _ in range(80)]", "opens too many files"),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("import os\nos.abort()", "was killed, or ended at once while it loaded bad"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
    ],
)
@pytest.mark.sampled(every=6)
def test_unloadable_package_is_reported_by_first_program(tmp_path: Path, code: str, says: str) -> None:
    (tmp_path / "bad.py").write_text(code, encoding="utf-8")
    assert says in run_script(BAD, str(tmp_path))


NUMBERS = """
import io
import numpy as np, pandas as pd
frame = pd.read_csv(io.StringIO("a,b,d\\n1,2,2024-01-02\\n1,3,2024-02-03\\n2,5,2024-03-01"), parse_dates=["d"])
merged = frame.merge(pd.DataFrame({"a": [1, 2], "n": ["x", "y"]}), on="a")
[frame.groupby("a").b.sum().to_dict(), merged.n.tolist(), frame.d.dt.month.tolist(),
 round(float(np.linalg.det(np.eye(3) * 2)), 6), float(np.fft.fft([1, 2, 3])[0].real),
 len({np.random.rand() for _ in range(9)})]
"""


ARROW = {
    "int(frame.n.sum())": 3,
    "pa.array([1, None]).to_pylist()": [1, None],
    "pa.Table.from_pandas(frame).to_pylist()": [{"city": "Oslo", "n": 1}, {"city": "Rome", "n": 2}],
    "pa.Table.from_pandas(frame).to_pandas().n.tolist()": [1, 2],
    "frame.convert_dtypes(dtype_backend='pyarrow').n.sum() + 0": 3,
    "import pyarrow.compute as pc\npc.sum(pa.array([1, 2])).as_py()": 3,
    "import io\nlen(pd.read_csv(io.StringIO('a,b\\n1,2'), engine='pyarrow'))": 1,
}


@pytest.mark.skipif(not (find_spec("numpy") and find_spec("pandas")), reason="numpy and pandas are not installed")
def test_numpy_and_pandas_have_random_numbers_per_program() -> None:
    with Toolkit(TOOLS, allow_imports=["numpy", "pandas"]) as toolkit:
        result = toolkit.execute(NUMBERS, 60)
        assert result.error is None
        assert result.return_value == [{1: 5, 2: 5}, ["x", "x", "y"], [1, 2, 3], 8.0, 6.0, 9]
        code = "import numpy as np\nfloat(np.random.rand())"
        assert toolkit.execute(code, 60).return_value != toolkit.execute(code, 60).return_value
        assert isinstance(toolkit.execute("import pandas as pd\npd.read_csv('/etc/passwd')", 60).error, str)


@pytest.mark.skipif(not (find_spec("pyarrow") and find_spec("pandas")), reason="pyarrow and pandas are not installed")
def test_pandas_can_be_imported_where_arrow_is_installed() -> None:
    with Toolkit(TOOLS, allow_imports=["pandas", "pyarrow"]) as toolkit:
        made = "import pandas as pd, pyarrow as pa\nframe = pd.DataFrame({'city': ['Oslo', 'Rome'], 'n': [1, 2]})\n"
        for code, value in ARROW.items():
            result = toolkit.execute(made + code, 60)
            assert (result.error, result.return_value) == (None, value), code


MODEL = "import pydantic\nclass M(pydantic.BaseModel):\n    a: pydantic.PositiveInt\nM(a='1').a"


@pytest.mark.sampled(every=0)
def test_package_brings_its_dependencies() -> None:
    """Also what its import leaves for later: pydantic loads annotated_types when a class is made."""
    with Toolkit([], allow_imports=["pydantic"]) as toolkit:
        result = toolkit.execute(MODEL, 60)
        assert (result.error, result.return_value) == (None, 1)
        assert toolkit.execute("import annotated_types, typing_extensions", 60).error is None
        assert "No module named 'jsonschema_rs'" in (toolkit.execute("import jsonschema_rs", 60).error or "")


@pytest.mark.sampled(every=0)
def test_error_of_first_program_repeats_in_the_next(tmp_path: Path) -> None:
    """Nothing half-made is kept."""
    (tmp_path / "worse.py").write_text("raise OSError('no')", encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        toolkit = Toolkit([], allow_imports=["worse"])
        for _ in range(2):
            with pytest.raises(SandboxError, match="OSError: no"):
                toolkit.execute("1")
        toolkit.close()
    finally:
        sys.path.remove(str(tmp_path))
