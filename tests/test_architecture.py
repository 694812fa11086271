"""The plan of the house names rooms that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"


def test_each_path_of_the_plan_exists() -> None:
    paths = re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|/[a-z_]+\.py))`", PAGE.read_text(encoding="utf-8"))
    assert len(paths) > 40
    missing = [path for path in paths if not (ROOT / "src" / "ez_ptc" / path).exists()]
    assert missing == ["src/ez_ptc/"]


def test_each_module_of_the_drawn_trips_exists() -> None:
    names = {path.name for path in (ROOT / "src" / "ez_ptc").rglob("*.py")}
    for trip in ("approved-call", "resume", "turn"):
        text = (ROOT / "docs" / "diagrams" / f"{trip}.txt").read_text(encoding="utf-8")
        drawn = set(re.findall(r"[a-z_]+\.py", text))
        assert len(drawn) >= 5
        assert drawn <= names
