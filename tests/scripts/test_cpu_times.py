"""The table of CPU times counts what tests and their processes use, wherever they run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.cpu_times import descendants

TESTS = """
import subprocess, sys, time

BUSY = "import time\\nwhile time.process_time() < 0.3: pass"

def test_idle():
    pass

def test_busy():
    exec(BUSY.replace("0.3", f"{time.process_time() + 0.3}"))

def test_process():
    subprocess.run([sys.executable, "-S", "-c", BUSY], check=True)

def test_process_that_stays():
    global staying
    staying = subprocess.Popen(
        [sys.executable, "-S", "-c", BUSY + "\\nprint(flush=True)\\ninput()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )
    staying.stdout.readline()

def test_end_of_that_process():
    staying.communicate(b"\\n")
"""
ROW = re.compile(r"^ +(\d+\.\d+) +(?:(\d+) +)?(\S.*)$", re.MULTILINE)


@pytest.mark.security
@pytest.mark.parametrize("spread", [[], ["-n", "2", "--dist", "loadfile"]], ids=["one", "xdist"])
def test_processes_count_for_the_test_that_used_them(tmp_path: Path, repository: Path, spread: list[str]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "scripts.cpu_times", "--costliest", "9"]
    done = subprocess.run(
        [*command, "-c", "/dev/null", "--rootdir", str(tmp_path), *spread, str(folder)],
        capture_output=True, text=True, check=True, cwd=repository, timeout=120,
    )  # fmt: skip

    rows = {name: float(seconds) for seconds, _, name in ROW.findall(done.stdout)}
    tests = {name.partition("::")[2]: seconds for name, seconds in rows.items() if "::" in name}
    assert {name for name, seconds in tests.items() if seconds >= 0.25} == {
        "test_busy", "test_process", "test_process_that_stays",
    }  # fmt: skip
    assert rows["folder"] >= 0.85
    assert rows["all of them"] > rows["folder"]


def test_process_that_has_ended_has_no_descendants() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        pass

    assert list(descendants(process.pid)) == []
