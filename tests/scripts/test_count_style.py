"""The counter of style figures counts what it is there to count."""

from pathlib import Path

import pytest

from scripts.count_style import FIGURES, main, read_sources

PLAIN = '''"""A module."""


def read_text(paths: list[str]) -> str | None:
    # Why, not what.
    print("first")
    for path in paths:
        print(path)
    return None


def is_sent() -> bool:
    return read_text([]) is None
'''

DEFECTS = {
    "participle": "def _called() -> None: ...\ndef told_apart() -> None: ...",
    "return": "def name_of(x: int) -> str:\n    return 'a' if x else ''\ndef last(x: int) -> str:\n    return ''",
    "vague": "for each in (): ...\nkind = [found for found in ()]",
    "bans": "part = 1\nown: int = 2\nparts = found_names = 3",
    "conditional": "x = 1 if __name__ else 2\ny = 1 if __name__ else 2",
    "used once": "def _one() -> None: ...\ndef _two() -> None: ...\n_one()\n_two()",
    "over 40": "def one() -> None:\n" + "    ...\n" * 40 + "def two() -> None:\n" + "    ...\n" * 40,
    "docstrings": 'def one() -> None:\n    """What is told to whoever asks, which is who waits."""',
    "plainer": "# Nobody waits, so nobody is told.\nx = 'a tool is wanted'",
    "comments": "# one\n# two\n",
}


def occurrences(folder: Path, name: str) -> list[str]:
    """Return what the one figure of this name counts."""
    (figure,) = [figure for figure in FIGURES if name in figure.name and not figure.name.endswith("of docs")]
    return figure.measure(read_sources(folder))[1]


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_counted(name: str, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(DEFECTS[name], encoding="utf-8")
    assert len(occurrences(tmp_path, name)) >= 2
    module.write_text(PLAIN, encoding="utf-8")
    assert len(occurrences(tmp_path, name)) == (name == "comments")


def test_relatives_in_pages_are_counted_without_code(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "src" / "module.py").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "README.md").write_text("What `which` does.\n\n```python\nwhere = 1\n```\n", encoding="utf-8")
    (tmp_path / "docs" / "page.md").write_text("That is it.", encoding="utf-8")
    (figure,) = [figure for figure in FIGURES if figure.name.endswith("of docs")]
    assert len(figure.measure(read_sources(tmp_path / "src"))[1]) == 2


def test_a_full_folder_is_counted(tmp_path: Path) -> None:
    for number in range(16):
        (tmp_path / f"m{number}.py").write_text("", encoding="utf-8")
    assert occurrences(tmp_path, "folders") == [f"{tmp_path}: 16 files"]


def test_figures_over_their_limits_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "module.py").write_text(PLAIN, encoding="utf-8")
    assert main([str(tmp_path)]) == 0
    (tmp_path / "module.py").write_text(DEFECTS["vague"], encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    assert "! " in capsys.readouterr().out
    assert main([str(tmp_path), "--list", "vague"]) == 0
    assert "each" in capsys.readouterr().out


def test_fields_may_have_names_banned_for_variables(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("class Change:\n    kind: str\n    part = 1\n", encoding="utf-8")
    assert [line.rpartition(" ")[2] for line in occurrences(tmp_path, "bans")] == ["part"]


def test_class_names_of_several_files_are_counted_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        module = "class Store: ...\nclass AnswerStream: ...\nclass _Reader: ...\n"
        (tmp_path / f"{name}.py").write_text(f"{module}class Of{name}: ...\n", encoding="utf-8")
    assert [line.partition(":")[0] for line in occurrences(tmp_path, "class names")] == ["Store", "_Reader"]
