"""The kept modules: how their code is cached between boots."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from ez_ptc.sandbox.worker.stdlib import Modules

if TYPE_CHECKING:
    from pathlib import Path
    from types import CodeType

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="modules are kept in a memory file of Linux")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with one module, in a process that may write bytecode."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "small.py").write_text("number = 1\n")
    return tmp_path


def _keep(folder: Path) -> Modules:
    modules = Modules()
    modules.keep(str(folder), "kept", "<kept>")
    return modules


def _code_of(modules: Modules) -> CodeType:
    spec = modules.find_spec("kept.small")
    assert spec is not None
    loader: Any = spec.loader
    return loader.get_code("kept.small")


def _caches(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("__pycache__/*.pyc")]


def test_compiled_module_is_cached_for_the_next_boot(folder: Path) -> None:
    assert _code_of(_keep(folder)).co_filename == "<kept>/small.py"
    assert _caches(folder) == [f"small.{sys.implementation.cache_tag}.pyc"]
    assert _code_of(_keep(folder)).co_filename == "<kept>/small.py"


def test_nothing_is_written_once_files_are_hidden(folder: Path) -> None:
    modules = _keep(folder)
    modules.close()
    assert _code_of(modules).co_filename == "<kept>/small.py"
    assert _caches(folder) == []


def test_interpreter_without_bytecode_files_writes_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert _code_of(_keep(folder)).co_filename == "<kept>/small.py"
    assert _caches(folder) == []
