"""What the documentation says of packages: the table names those that are tried, and each does what it says."""

from __future__ import annotations

import re
from importlib import metadata

import pytest

from .catalog import CATALOG, Package
from .running import difference, run
from .table import COLUMNS, PAGE, Cost, replace_rows, rough, row, rows_of


def installed_version(package: Package) -> str:
    try:
        return metadata.version(package.release.partition("==")[0])
    except metadata.PackageNotFoundError:
        return ""


def test_documented_table_matches_the_catalog() -> None:
    head, *rows = rows_of(PAGE.read_text(encoding="utf-8"))
    assert tuple(head) == COLUMNS
    expected = [row(package, Cost(1, 1)).strip("| ").split(" | ")[:3] for package in CATALOG]
    assert [cells[:3] for cells in rows] == expected
    for cells in rows:
        assert re.fullmatch(r"(0\.0?)?\d0? s", cells[3])
        assert re.fullmatch(r"\d0+ MB", cells[4])


def test_written_table_is_read_back_unchanged() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [row(package, Cost(0.234, 178)) for package in CATALOG]
    written = replace_rows(page, rows)
    assert rows_of(written)[1][3:] == ["0.2 s", "200 MB"]
    assert replace_rows(written, rows) == written
    assert [rough(number) for number in (0.04321, 0.96, 1.5, 7.7, 12.3, 95)] == ["0.04", "1", "2", "8", "10", "100"]


# Each starts a sandbox of its own, with what is large.
@pytest.mark.security
@pytest.mark.parametrize("package", CATALOG, ids=lambda package: package.name)
def test_package_behaves_as_the_table_says(package: Package) -> None:
    if installed_version(package) != package.version:
        pytest.skip(f"{package.release} is not installed: make test-packages")
    result, _ = run(package)
    assert difference(package, result) == ""
