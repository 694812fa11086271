"""A wheel that is not what it should be ends a release."""

import zipfile
from pathlib import Path

import pytest

from ez_ptc._distribution import VERSION
from scripts.release import find_wheel_problems

NAME = "ez-ptc-py-wasm"


def make_wheel(folder: Path, *, version: str = VERSION, extra: tuple[str, ...] = (), without: str = "") -> Path:
    """Write a wheel of the component."""
    path = folder / f"ez_ptc_py_wasm-{version}-py3-none-any.whl"
    files = ["ez_ptc_wasm/__init__.py", "ez_ptc_wasm/worker.wasm", "ez_ptc_wasm/worker.sha256", *extra]
    with zipfile.ZipFile(path, "w") as archive:
        for name in files:
            if name != without:
                archive.writestr(name, "x")
        metadata = f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\n\nText.\n"
        archive.writestr(f"ez_ptc_py_wasm-{version}.dist-info/METADATA", metadata)
    return path


def test_right_wheel_has_no_problem(tmp_path: Path) -> None:
    assert find_wheel_problems(make_wheel(tmp_path), NAME) == []


def test_missing_component_is_named(tmp_path: Path) -> None:
    [problem] = find_wheel_problems(make_wheel(tmp_path, without="ez_ptc_wasm/worker.wasm"), NAME)
    assert problem.endswith("ez_ptc_wasm/worker.wasm is missing")


@pytest.mark.parametrize("name", ["tests/test_x.py", "ez_ptc/__init__.py", "runs.db"])
def test_foreign_file_is_named(tmp_path: Path, name: str) -> None:
    [problem] = find_wheel_problems(make_wheel(tmp_path, extra=(name,)), NAME)
    assert problem.endswith(f"{name} does not belong there")


def test_wheel_of_another_version_or_name_is_named(tmp_path: Path) -> None:
    problems = find_wheel_problems(make_wheel(tmp_path, version="9.9"), NAME)
    assert f"expected Version {VERSION}, got 9.9" in problems[0]
    assert any("expected Name ez-ptc-py, got ez-ptc-py-wasm" in text for text in problems_of_other_name(tmp_path))


def problems_of_other_name(folder: Path) -> list[str]:
    """Return what is wrong with the component's wheel in the place of the library's."""
    return find_wheel_problems(make_wheel(folder), "ez-ptc-py")
