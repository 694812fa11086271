"""The journal's decisions are the same in every database: no statement of SQL stands above the stores."""

import re
from pathlib import Path

import ez_ptc

_STATEMENT = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|PRAGMA)\b [a-z0-9*(]|(database|rows|connection)\.execute\(")
_STORES = ("journal/stores/", "journal/storage/", "journal/store.py")


def test_no_sql_stands_above_the_stores() -> None:
    package = Path(ez_ptc.__file__).parent
    names = [path.relative_to(package).as_posix() for path in package.rglob("*.py")]
    above = [name for name in names if name.startswith(("journal/", "cli/runs/", "cli/viewing/"))]
    above = [name for name in above if not name.startswith(_STORES)]

    assert len(above) > 25
    assert [name for name in above if _STATEMENT.search((package / name).read_text())] == []
