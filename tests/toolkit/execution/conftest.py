"""What the tests of corrections share: each way to execute a program, with and without a journal."""

from pathlib import Path
from typing import Any

import pytest

from tests.toolkit.execution.continuing import Desk
from tests.toolkit.execution.counting import Run, aexecute, execute


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture(params=[execute, aexecute])
def run(request: pytest.FixtureRequest) -> Run:
    """Executes a program with a toolkit, blocking or awaiting."""
    return request.param


@pytest.fixture(params=["memory", "journal"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    return {"journal": tmp_path / "runs.db"} if request.param == "journal" else {}
