"""Fragments become the section of a version, and no fragment gets lost."""

from pathlib import Path

import pytest

from ez_ptc import __version__
from scripts.make_changelog import add_fragments, find_problems, main, newest_version

OLD = "# Changelog\n\nNewest first.\n\n## 0.1 (2026-01-01)\n\nThe first.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("How to.\n", encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(OLD, encoding="utf-8")
    for name, text in {"+b.added.md": "B is\nnew.\n", "a.added.md": "A is new.\n", "c.fixed.md": "C works."}.items():
        (tmp_path / "changes" / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_fragments_become_a_section_above_the_others(root: Path) -> None:
    assert main([], root) == 0
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    head, rest = text.split(f"## {__version__} (")
    assert head == "# Changelog\n\nNewest first.\n\n"
    assert rest.partition("\n")[2] == (
        "\n### Added\n\n- A is new.\n- B is new.\n\n### Fixed\n\n- C works.\n\n## 0.1 (2026-01-01)\n\nThe first.\n"
    )
    assert [path.name for path in (root / "changes").iterdir()] == ["README.md"]


def test_later_fragments_join_the_section_of_their_version(root: Path) -> None:
    fragments = sorted((root / "changes").glob("*.*.md"))
    once = add_fragments(OLD, fragments, version="0.1", date="2026-02-02")
    assert once.startswith("# Changelog\n\nNewest first.\n\n## 0.1 (2026-01-01)\n\nThe first.\n\n### Added\n\n- B is")
    (root / "changes" / "d.added.md").write_text("D is new.", encoding="utf-8")
    twice = add_fragments(once, [root / "changes" / "d.added.md"], version="0.1", date="2026-02-02")
    assert "- A is new.\n- D is new.\n\n### Fixed\n\n- C works.\n" in twice
    assert newest_version(twice) == "0.1"
    assert add_fragments(twice, [], version="0.1", date="2026-02-02") == twice


def test_changelog_without_sections_gets_its_first() -> None:
    assert add_fragments("# Changelog\n", [], version="1", date="d") == "# Changelog\n\n## 1 (d)\n\n\n"


@pytest.mark.parametrize(("name", "text"), [("a.bugfix.md", "x"), ("notes.txt", "x"), ("a.fixed.md", " \n")])
def test_unusable_fragment_is_named_and_nothing_moves(
    root: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "changes" / name).write_text(text, encoding="utf-8")
    assert len(find_problems(root / "changes")) == 1
    assert main([], root) == main(["--check"], root) == 1
    assert name in capsys.readouterr().err
    assert (root / "CHANGELOG.md").read_text(encoding="utf-8") == OLD


def test_release_needs_a_section_and_no_fragments(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"], root) == 0
    assert main(["--released"], root) == 1
    assert len(capsys.readouterr().err.splitlines()) == 4
    assert main([], root) == 0
    assert main(["--released"], root) == 0


def test_fragments_of_this_repository_are_usable(repository: Path) -> None:
    assert find_problems(repository / "changes") == []
