"""The fixture of docs/conversations/testing.md, in a project of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.running import environment_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conversations" / "testing.md"
FILE = re.compile(r'^```python title="(?P<name>[\w.]+)"\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.mark.security
def test_files_of_the_page_are_a_project_that_passes(tmp_path: Path) -> None:
    for file in FILE.finditer(PAGE.read_text(encoding="utf-8")):
        (tmp_path / file["name"]).write_text(file["text"], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=prepend"],
        cwd=tmp_path,
        env=environment_of(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "1 passed" in done.stdout, done.stdout
