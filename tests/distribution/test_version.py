"""The version of both packages is written once."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

import ez_ptc
from ez_ptc._component import COMPONENT_VERSION, COMPONENT_WHEEL

FILE: Final = "src/ez_ptc/_distribution.py"
FOLDERS: Final = (".ci", "docs", "packages", "scripts", "src", "tests")


@pytest.mark.parametrize("project", [".", "packages/ez-ptc-wasm"])
def test_each_package_reads_the_one_version(repository: Path, project: str) -> None:
    document = tomllib.loads((repository / project / "pyproject.toml").read_text(encoding="utf-8"))
    assert document["project"]["dynamic"] == ["version"]
    path = (repository / project / document["tool"]["hatch"]["version"]["path"]).resolve()
    assert path == repository / FILE
    assert re.findall(r'^VERSION = "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE) == [ez_ptc.__version__]


def test_component_has_the_same_version() -> None:
    assert ez_ptc.__version__ == COMPONENT_VERSION
    assert f"dist/ez_ptc_py_wasm-{ez_ptc.__version__}-py3-none-any.whl" == COMPONENT_WHEEL


def test_no_other_file_repeats_the_version(repository: Path) -> None:
    pattern = re.compile(rf"(?<![\w.]){re.escape(ez_ptc.__version__)}(?![\w.])")
    paths = [path for folder in FOLDERS for path in (repository / folder).rglob("*.*") if path.is_file()]
    # A journal says which version wrote it.
    paths = [path for path in paths if path.suffix not in (".db", ".pyc")]
    paths += [repository / "Makefile", repository / "README.md", repository / "pyproject.toml"]
    texts = {path.relative_to(repository).as_posix(): path.read_bytes().decode(errors="replace") for path in paths}
    assert {name for name, text in texts.items() if pattern.search(text)} == {FILE}
