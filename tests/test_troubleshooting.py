"""Each public error has its cause and its way out on one page."""

import inspect
import re
from pathlib import Path

import pytest

from ez_ptc import errors

CLASSES = [name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)]
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def rows(repository: Path) -> dict[str, tuple[str, str]]:
    """Return the cause and the way out of each error on the page."""
    page = (repository / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    return {name: (cause, way) for name, cause, way in ROW.findall(page)}


@pytest.mark.parametrize("name", CLASSES)
def test_error_has_cause_and_way_out(name: str, repository: Path) -> None:
    cause, way = rows(repository)[name]
    assert len(cause.split()) >= 5
    assert len(way.split()) >= 3
    assert cause.endswith(".")


def test_page_names_no_error_that_is_gone(repository: Path) -> None:
    assert set(rows(repository)) == set(CLASSES)
