"""A provider is a folder in `formats/`, a module in `providers/` and a line in the table of providers."""

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ez_ptc.formats.catalog import format_named
from ez_ptc.formats.provider_table import PROVIDERS

HERE = Path(__file__).parent


def add_provider(source: Path, target: Path) -> None:
    """Make a copy of the library, of links to its files, with the provider added to it."""
    shutil.copytree(source, target, copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HERE / "format", target / "formats" / "acme")
    shutil.copy(HERE / "provider.py", target / "providers" / "acme.py")
    table = target / "formats" / "provider_table.py"
    lines = table.read_text(encoding="utf-8").rstrip()
    table.unlink()
    assert lines.endswith("\n)")
    table.write_text(f"{lines[:-1]}{(HERE / 'line.txt').read_text(encoding='utf-8')})\n", encoding="utf-8")


@pytest.mark.security
def test_added_provider_needs_folder_module_and_line(repository: Path, tmp_path: Path) -> None:
    add_provider(repository / "src" / "ez_ptc", tmp_path / "ez_ptc")
    environment = {"PYTHONPATH": str(tmp_path), "ACME_KEY": "secret", "PATH": os.defpath}
    finished = subprocess.run(
        [sys.executable, HERE / "use.py"], capture_output=True, text=True, check=False, timeout=60, env=environment
    )
    assert not finished.stderr
    assert json.loads(finished.stdout) == {
        "by name": "acme-1",
        "by model": "acme",
        "by key": "acme",
        "telemetry": "acme.ai",
        "tool": "brew",
        "limit": 9,
        "roles": ["user", "assistant", "tool", "assistant", "user"],
        "id": "C1",
        "loaded without need": [],
    }


def test_each_line_has_its_folder_and_adapter() -> None:
    for entry in PROVIDERS:
        assert format_named(entry.format or entry.name).NAMES
        assert callable(getattr(import_module(f"ez_ptc.providers.{entry.folder}"), entry.adapter))
