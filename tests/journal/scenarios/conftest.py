"""What most scenarios begin with: a journal, and effects that leave a line in a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ez_ptc import Journal
from tests.journal.programs import Effects


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "runs.db") as journal:
        yield journal
