"""The benchmark of schemas and calls: who may be measured, how figures read, and that a whole run works."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.schemas import __main__ as schemas
from benchmarks.schemas.functions import EXAMPLES, Example
from benchmarks.schemas.measures import problem_of, repetitions
from benchmarks.schemas.subject import Function
from benchmarks.schemas.subjects import start
from benchmarks.schemas.table import table_lines


class Careless:
    """A subject that hands arguments over as they came, and may describe nothing."""

    def __init__(self, *, described: bool = True, fails: bool = False) -> None:
        self._described = described
        self._fails = fails

    def describe(self, function: Function) -> Mapping[str, Any]:
        if self._fails:
            message = "no such function"
            raise LookupError(message)
        names = [name for name in function.__annotations__ if name != "return"]
        return {"properties": {name: {"type": "string"} for name in names if self._described}}

    def call(self, function: Function, arguments: dict[str, Any], times: int) -> float:
        for _ in range(times):
            function(**arguments)
        return times * 0.001


SIMPLE, RICH = EXAMPLES


@pytest.mark.parametrize("subject", ["ours", "pydantic_call", "msgspec_struct"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@pytest.mark.sampled(every=6)
def test_subject_that_passes_every_argument_may_be_measured(subject: str, example: Example) -> None:
    assert problem_of(start(subject), example) is None


def test_a_subject_that_does_not_is_not_measured() -> None:
    assert "other properties" in (problem_of(Careless(described=False), SIMPLE) or "")
    assert problem_of(Careless(fails=True), SIMPLE) == "simple: LookupError: no such function"
    unconverted = problem_of(Careless(), RICH) or ""
    assert unconverted.startswith("rich: ")


def test_new_classes_were_never_described() -> None:
    with RICH.renew(3) as functions:
        customers = {function.__annotations__["customer"] for function in [RICH.function, *functions]}
        assert len(customers) == 4
        assert all(vars(sys.modules[cls.__module__])["Customer"] is cls for cls in customers)


def test_a_measure_is_repeated_until_the_clock_can_tell() -> None:
    assert repetitions(Careless(), "call", SIMPLE) == 20


def test_the_table_compares_with_one_subject() -> None:
    lines = table_lines(
        {"call": "a call"},
        {"ours": "ez-ptc", "other": "other", "absent": "absent"},
        {("call", "ours"): 3e-6, ("call", "other"): 2e-6},
        reference="other",
    )

    assert [line.split() for line in lines] == [
        ["ez-ptc", "other", "absent"],
        ["a", "call", "3.00", "µs", "×1.50", "2.00", "µs", "–"],
    ]


@pytest.mark.security
def test_whole_run_has_every_figure_and_judges_targets(repository: Path) -> None:
    # In a process of its own, because what other tests have left in this one is collected before each measure.
    command = [sys.executable, "-m", "benchmarks.schemas", "--rounds", "1", "--json"]
    subjects = ["--subject", "ours", "--subject", "pydantic_call"]
    finished = subprocess.run([*command, *subjects], cwd=repository, capture_output=True, text=True, check=True)
    printed = json.loads(finished.stdout)

    assert printed["problems"] == {}
    assert set(printed["versions"]) == {"ours", "pydantic_call"}
    assert {name.partition("_")[0] for name in printed["measures"]} == {"schema", "new", "call"}
    assert len(printed["measures"]) == 6
    for measure in printed["measures"].values():
        assert set(measure["medians"]) == {"ours", "pydantic_call"}
        assert all(figure > 0 for figure in measure["medians"].values())
    assert [target["limit"] for target in printed["targets"]] == [1.5, 1.5, 2.0, 2.0]
    assert all(target["figure"] > 0 for target in printed["targets"])


def test_a_subject_that_is_not_installed_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    schemas.main(["--rounds", "1", "--subject", "msgspec_struct"])
    printed = capsys.readouterr().out

    assert "missing: msgspec convert: it is not installed here" in printed
    assert "MISSED  validate and call, simple signature: – " in printed
