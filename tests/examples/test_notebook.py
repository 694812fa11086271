"""The notebook, executed from top to bottom by a real kernel."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed: `make test-examples` runs this")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: `make test-examples` runs this")

from tests.examples.running import EXAMPLES, environment_of


@pytest.mark.security
def test_each_cell_runs_and_shows_its_result(tmp_path: Path) -> None:
    (tmp_path / "measurements.ipynb").write_bytes((EXAMPLES / "measurements.ipynb").read_bytes())
    command = [sys.executable, "-m", "jupyter", "execute", "--inplace", "--timeout=60", "measurements.ipynb"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment_of(), capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    cells: list[dict[str, Any]] = json.loads((tmp_path / "measurements.ipynb").read_text("utf-8"))["cells"]
    shown = [json.dumps(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]
    assert "Bergen 9" in shown[1]
    assert "On average, Oslo had 4 degrees." in shown[2]
    assert "delete_measurements" in shown[3]
    assert "deleted 3 measurements of Bergen" in shown[4]
