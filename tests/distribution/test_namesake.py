"""Importing the package beside another author's `ez-ptc` warns once, and never without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ez_ptc

SOURCE = Path(ez_ptc.__file__).parent.parent
RECORD = "ez_ptc/__init__.py,,\nez_ptc/toolkit.py,,\nez_ptc-0.4.0.dist-info/METADATA,,\n"
NAMES = {"warnings", "re", "importlib.metadata", "pathlib"}
PROGRAM = "import importlib, ez_ptc, sys\nimport ez_ptc.messages\nprint(ez_ptc.__version__, 'warnings' in sys.modules)"


def import_beside(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Import the package in a new process whose path has `folder`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(SOURCE), str(folder)))}
    command = [sys.executable, "-S", *options, "-c", PROGRAM]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def install(folder: Path, metadata: str, record: str | None = RECORD) -> None:
    """Put the metadata of a distribution into a folder."""
    (folder / metadata).mkdir(parents=True)
    (folder / metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ez-ptc\nVersion: 0.4.0\n")
    if record is not None:
        (folder / metadata / "RECORD").write_text(record)


@pytest.mark.parametrize(
    ("metadata", "record"),
    [
        ("ez_ptc-0.4.0.dist-info", RECORD),
        ("ez_ptc-0.4.0.dist-info", None),
        ("ez_ptc-12.0.dist-info", RECORD),
        ("ez-ptc-0.4.0.dist-info", RECORD),
        ("EZ_PTC-0.4.0.dist-info", RECORD),
        ("ez.ptc-0.4.0.dist-info", RECORD),
        ("ez_ptc-0.4.0-py3.11.egg-info", None),
        ("ez_ptc.egg-info", None),
    ],
)
@pytest.mark.sampled(every=4)
def test_import_beside_namesake_warns_once(tmp_path: Path, metadata: str, record: str | None) -> None:
    install(tmp_path, metadata, record)
    finished = import_beside(tmp_path, "-W", "always")
    assert finished.returncode == 0
    assert finished.stderr.count("RuntimeWarning") == 1
    assert str(tmp_path / metadata) in finished.stderr
    assert "pip uninstall ez-ptc ez-ptc-py" in finished.stderr


def test_namesake_in_two_folders_warns_once(tmp_path: Path) -> None:
    install(tmp_path, "ez_ptc-0.4.0.dist-info")
    install(tmp_path, "ez_ptc-0.3.0.dist-info")
    assert import_beside(tmp_path, "-W", "always").stderr.count("RuntimeWarning") == 1


@pytest.mark.parametrize(
    ("metadata", "record"),
    [
        ("ez_ptc_py-9.9.dist-info", RECORD),
        ("ez_ptc_py_wasm-9.9.dist-info", RECORD),
        ("ez_ptc_tools-1.0.dist-info", RECORD),
        ("ez_ptcx-1.0.dist-info", RECORD),
        ("my_ez_ptc-1.0.dist-info", RECORD),
        ("ez_ptc-0.4.0.data", RECORD),
        ("ez_ptc-info", RECORD),
        # Installed from a source tree: no file is where ours are.
        ("ez_ptc-0.4.0.dist-info", "_ez_ptc.pth,,\nez_ptc-0.4.0.dist-info/METADATA,,\n"),
    ],
)
@pytest.mark.sampled(every=4)
def test_import_beside_others_warns_nothing(tmp_path: Path, metadata: str, record: str) -> None:
    install(tmp_path, metadata, record)
    finished = import_beside(tmp_path, "-W", "error")
    assert (finished.returncode, finished.stderr) == (0, "")


def test_strange_paths_are_passed_over(tmp_path: Path) -> None:
    archive, absent = tmp_path / "archive.zip", tmp_path / "absent"
    archive.write_bytes(b"PK")
    finished = import_beside(Path(f"{archive}{os.pathsep}{absent}{os.pathsep}"), "-W", "error")
    assert (finished.returncode, finished.stderr) == (0, "")


def test_search_imports_no_module(tmp_path: Path) -> None:
    """What reads metadata takes longer to import than the package."""
    program = f"import sys, ez_ptc; print(sorted({NAMES} & set(sys.modules)))"
    command = [sys.executable, "-S", "-c", program]
    environment = {"PYTHONPATH": str(SOURCE)}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    before = [sys.executable, "-S", "-c", program.replace("ez_ptc", "typing")]
    assert finished.stdout == subprocess.run(before, capture_output=True, text=True, check=True, timeout=60).stdout
