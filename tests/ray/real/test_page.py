"""The page about Ray: its module is written to a file, and its blocks run and print what stands below them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from pytest_examples import find_examples


def test_page_prints_what_it_shows(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "applications" / "ray.md"
    module, script = (block.source for block in sorted(find_examples(page), key=lambda block: block.start_line))
    (tmp_path / "shop.py").write_text(module)
    (tmp_path / "script.py").write_text(script)
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    environment["RAY_ADDRESS"] = "local"
    command = [sys.executable, "script.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path, env=environment
    )
    assert done.stdout.splitlines() == re.findall(r"#> (.*)", script), done.stderr
