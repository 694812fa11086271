"""What a model writes gives what plain CPython gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ez_ptc.toolkit.toolkit import Toolkit
from tests.sandbox.worker.running.programs import PROGRAMS
from tests.sandbox.worker.running.stdlib_programs import STDLIB_PROGRAMS

OURS = PROGRAMS | STDLIB_PROGRAMS
# Their `expect_repr` is not what CPython gives, but that after a trip through JSON: lists for tuples, '1' for 1.
RECORDED_AS_JSON = {"comp_dict_set", "dict_methods", "str_methods"}


@pytest.mark.parametrize(("program", "expected"), OURS.values(), ids=OURS.keys())
def test_own_programs_match_cpython(toolkit: Toolkit, program: str, expected: str) -> None:
    result = toolkit.execute(program)
    assert (result.error, repr(result.return_value)) == (None, expected)


def test_public_corpus_programs_give_exact_values(toolkit: Toolkit, shared_folder: Path) -> None:
    """Each in a fresh process, as every execution is."""
    corpus = json.loads((shared_folder / "corpora" / "programs.json").read_text(encoding="utf-8"))
    expected = {program["id"]: (None, program["expect_repr"]) for program in corpus}
    found: dict[str, tuple[str | None, str]] = {}
    for program in corpus:
        result = toolkit.execute(program["code"])
        value = result.return_value
        if program["id"] in RECORDED_AS_JSON:
            value = json.loads(json.dumps(value))
        found[program["id"]] = (result.error, repr(value))
    assert found == expected
    assert len(found) == 89


def test_a_program_sees_nothing_of_the_one_before(toolkit: Toolkit) -> None:
    toolkit.execute("import json, builtins\nleft = json.left = builtins.left = 1")
    result = toolkit.execute("import json\n[hasattr(json, 'left'), 'left' in globals(), hasattr(__builtins__, 'left')]")
    assert result.return_value == [False, False, False]


def test_program_is_its_main_module(toolkit: Toolkit) -> None:
    assert toolkit.execute("if __name__ == '__main__':\n    print('as a script')").output == "as a script\n"


def test_value_is_the_last_expression_statement(toolkit: Toolkit) -> None:
    assert toolkit.execute("1 + 1\nx = 2").return_value is None


def test_standard_output_and_error_are_kept_apart(toolkit: Toolkit) -> None:
    result = toolkit.execute("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdout.write('more')")
    assert (result.output, result.error_output, result.return_value) == ("out\nmore", "err\n", 4)


@pytest.mark.parametrize("program", ["import sys\nsys.exit()", "raise SystemExit", "raise SystemExit(0)"])
def test_a_program_that_exits_in_peace_has_succeeded(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(f"print('before')\n{program}\nprint('after')")
    assert (result.success, result.output) == (True, "before\n")


def test_log_records_name_position_in_program(toolkit: Toolkit) -> None:
    code = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(funcName)s %(lineno)d %(filename)s %(message)s")
def work():
    logging.warning("tea is low")
work()
"""
    assert toolkit.execute(code).output == "WARNING work 5 <program> tea is low\n"


def test_warnings_name_position_in_program(toolkit: Toolkit) -> None:
    result = toolkit.execute("import warnings\nwarnings.warn('tea is low')\n5")
    assert (result.return_value, result.error_output) == (
        5,
        "<program>:2: UserWarning: tea is low\n  warnings.warn('tea is low')\n",
    )


EVERY_MODULE = """
import importlib, sys
names = [name for name in sys.stdlib_module_names if not name.startswith("_")]
names += [name for name in sys.modules if "." in name and name.partition(".")[0] in sys.stdlib_module_names]
found, tried = [], 0
for name in names:
    try:
        importlib.import_module(name)
    except ImportError:
        continue
    tried += 1
    try:
        exec(f"from {name} import *", {})
    except BaseException as error:
        found.append((name, repr(error)))
[tried > 150, found]
"""


def test_every_module_gives_all_its_names(toolkit: Toolkit) -> None:
    """`concurrent.futures` names an executor that needs `multiprocessing`."""
    assert toolkit.execute(EVERY_MODULE).return_value == [True, []]


def test_all_names_of_futures_work(toolkit: Toolkit) -> None:
    code = "from concurrent.futures import *\nwith ThreadPoolExecutor() as pool: numbers = list(pool.map(abs, [-1, 2]))"
    assert toolkit.execute(code + "\nsum(numbers)").return_value == 3
