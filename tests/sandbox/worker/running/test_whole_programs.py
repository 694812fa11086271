"""A program is run as CPython runs a script: it is `__main__`, and it goes to its end."""

import subprocess
import sys
from pathlib import Path

import pytest

from ez_ptc import Toolkit
from tests.sandbox.worker.running.whole_library import OF_THE_LIBRARY
from tests.sandbox.worker.running.whole_programs import AS_MAIN, TO_THE_END

PROGRAMS = AS_MAIN | TO_THE_END | OF_THE_LIBRARY


@pytest.fixture(scope="module")
def toolkit() -> Toolkit:
    return Toolkit([])


def plain(program: str, folder: Path) -> tuple[str, bool]:
    """Return what a script prints in plain CPython, and whether it ends well."""
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout, done.returncode == 0


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(every=4)
def test_program_behaves_as_in_cpython(name: str, toolkit: Toolkit, tmp_path: Path) -> None:
    printed, ends_well = plain(PROGRAMS[name], tmp_path)
    result = toolkit.execute(PROGRAMS[name])
    assert (result.output, result.success) == (printed, ends_well), result.error_output
