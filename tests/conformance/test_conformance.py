"""A few of CPython's own tests, run as programs, and how the harness explains those that differ."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from ez_ptc import Toolkit
from scripts.make_absences import PAGE, replace_section

from .absences import is_absent
from .causes import differences, find_cause
from .running import FOLDER, Outcome, Side, run_inside, run_outside

MODULES = ["test_bool", "test_dict", "test_json.test_decode", "test_heapq", "test_scope", "test_textwrap"]
TRY_EACH = """
import importlib, warnings
warnings.simplefilter("ignore")
lacking = []
for name in {names}:
    try:
        importlib.import_module(name)
    except ImportError:
        lacking.append(name)
lacking
"""


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("module", MODULES)
def test_cpython_test_passes_or_misses_documented_feature(module: str) -> None:
    if not (FOLDER / f"{module.replace('.', '/')}.py").is_file():
        pytest.skip("this installation of Python has no tests of its own")
    name = f"test.{module}"
    outside = run_outside(name)
    inside = run_inside(name)
    assert sum(outcome.outcome == "ok" for outcome in outside.tests.values()) > 10
    assert [found for found in differences(inside, outside, name, is_absent) if not found.cause] == []


def test_raised_error_explains_a_differing_test() -> None:
    refused = ("PermissionError: [Errno 13] Permission denied: 'x'",)
    assert find_cause(Outcome("error", refused, ("files",)), is_absent) == "files"
    assert find_cause(Outcome("error", ("ModuleNotFoundError: No module named '_ssl'",)), is_absent) == "module _ssl"
    assert find_cause(Outcome("error", ("ModuleNotFoundError: No module named 'json'",)), is_absent) == ""
    assert find_cause(Outcome("failed", ("AssertionError: 1 != 2",)), is_absent) == ""
    assert find_cause(Outcome("failed", ("AssertionError: 1 != 2",), ("module ssl",)), is_absent) == ""
    assert find_cause(Outcome("skipped", ("SkipTest: no such class",), ("module ssl",)), is_absent) == "module ssl"


def test_a_test_that_never_ended_differs_without_a_cause() -> None:
    outside = Side({"m.C.test": Outcome("ok")}, finished=True)
    (found,) = differences(Side({"m.C.test": Outcome("started")}), outside, "m", is_absent)
    assert found.cause == ""
    (found,) = differences(Side(), outside, "m", is_absent)
    assert (found.inside.outcome, found.cause) == ("lost", "")


def test_list_of_unavailable_imports_is_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "| it needs the network |" in page
    assert replace_section(page) == page


def test_built_in_module_is_absent_like_an_extension() -> None:
    """Debian has `spwd` and `syslog` built in, and others have all extensions; this one often is."""
    if "xxsubtype" not in sys.builtin_module_names:
        pytest.skip("xxsubtype is not built in here")
    with Toolkit([]) as toolkit:
        result = toolkit.execute("import importlib.util\nimportlib.util.find_spec('xxsubtype')")
        assert (result.success, result.return_value) == (True, None)
        assert "No module named 'xxsubtype'" in (toolkit.execute("import xxsubtype").error or "")


def test_each_absent_module_is_listed_with_reason() -> None:
    talking = {"antigravity", "this"}
    names = [name for name in sys.stdlib_module_names - talking if importlib.util.find_spec(name) is not None]
    with Toolkit([]) as toolkit:
        lacking = toolkit.execute(TRY_EACH.format(names=sorted(names))).return_value
    assert set(lacking) == {name for name in names if is_absent(name)}


@pytest.mark.parametrize(
    ("module", "reason"), [("smtplib", "the network"), ("dbm", "files"), ("xmlrpc.client", "the network")]
)
def test_import_of_absent_module_explains_why(module: str, reason: str) -> None:
    with Toolkit([]) as toolkit:
        error = toolkit.execute(f"import {module}").error or ""
    assert f"programs cannot import {module.partition('.')[0]}: it needs {reason}" in error
