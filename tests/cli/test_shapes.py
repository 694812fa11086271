"""`ez-ptc shapes`: what a file knows of the results of tools."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from ez_ptc.cli.app import main
from ez_ptc.toolkit.shapes.file import ShapeFile
from ez_ptc.toolkit.shapes.observed import LearnedShape, ShapeKey
from ez_ptc.toolkit.shapes.reading import shape_of
from ez_ptc.toolkit.shapes.witnesses import Witness

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "shapes.db"
    ages, order = ({"ann@shop.example": 3}, {"id": 1, "note": None})
    observed = {"list_ages": ages, "find_order": order, "f\x1b[2J": order}
    learned = dict.fromkeys(observed, LearnedShape())
    for name, value in observed.items():
        for number in range(14):
            learned[name] = learned[name].after(shape_of(value, Witness(number, number)))
    ShapeFile(path).merge({ShapeKey(name, "d"): shape for name, shape in learned.items()})
    monkeypatch.setenv("EZ_PTC_SHAPES", str(path))
    return path


def test_shapes_are_listed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert path.exists()
    assert main(["shapes", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        r"f\x1b[2J (observed 14): {id: int, note: None}",
        "find_order (observed 14): {id: int, note: None}",
        "list_ages (observed 14): dict[str, int]",
    ]
    assert main(["shapes", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[2] == {"tool": "list_ages", "digest": "d", "count": 14, "shape": "dict[str, int]"}


def test_unreadable_rows_are_counted_and_can_be_forgotten(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE shapes SET shape = CAST(x'ff' AS TEXT) WHERE tool <> 'list_ages'")
    assert main(["shapes", "list"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["list_ages (observed 14): dict[str, int]"]
    assert printed.err.splitlines() == [
        r"not readable: 2 of 3 rows, the first of f\x1b[2J; ez-ptc shapes forget removes them"
    ]
    assert main(["shapes", "forget", "find_order", "f\x1b[2J"]) == 0
    assert list(ShapeFile(path).read()) == [ShapeKey("list_ages", "d")]


def test_shapes_are_forgotten_by_name_or_all(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", "forget", "find_order", "list_ages"]) == 0
    assert [key.tool for key in ShapeFile(path).read()] == ["f\x1b[2J"]
    assert main(["shapes", "forget", "find_order"]) == 2
    assert main(["shapes", "forget"]) == 2
    assert main(["shapes", "forget", "--all"]) == 0
    assert main(["shapes", "list"]) == 0
    assert main(["shapes", "list", "--shapes", f"{path}x"]) == 2
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["2 shapes were removed", "1 shape was removed", "no shapes"]
    assert [line.partition(": ")[2].partition(":")[0].partition(" in ")[0] for line in printed.err.splitlines()] == [
        "no shape of 'find_order'",
        "expected the names of tools, or --all for all of them",
        f"no shapes at {path}x",
    ]
