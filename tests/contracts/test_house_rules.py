"""The checker of the house rules finds what it is there to find."""

from pathlib import Path
from textwrap import indent

import pytest

from scripts.check_rules import check_file, main

GOOD = '''"""A module within every limit."""

__all__ = ["take"]


def take(first: int, second: int, *, third: int, fourth: int, fifth: int, sixth: int, **rest: int) -> str:
    return "# type: ignore"


def _own() -> None:
    try:
        take(1, 2, third=3, fourth=4, fifth=5, sixth=6)
    except Exception:  # noqa: BLE001 - the caller's code may raise anything
        raise


class _Own:
    def method(self, a: int, b: int, c: int, d: int, e: int, f: int) -> None: ...
'''
LONG_FUNCTION = "def long() -> None:\n" + "    ...\n" * 50

BAD = {
    "401 lines": ("x = 1\n" * 401, "the module has 401 lines"),
    "51 lines in a function": (LONG_FUNCTION, "long has 51 lines"),
    "51 lines in an inner function": ("if True:\n" + indent(LONG_FUNCTION, "    "), "long has 51 lines"),
    "type: ignore": ("x = 1  # type: ignore[assignment] - because it must be", "pyright: ignore"),
    "bare noqa": ("x = 1  # noqa", "name the rule"),
    "noqa without a reason": ("x = 1  # noqa: E501", "name the rule"),
    "pyright: ignore without a rule": ("x = 1  # pyright: ignore - because it must be", "name the rule"),
    "pyright: ignore without a reason": ("x = 1  # pyright: ignore[reportAny]", "name the rule"),
    "a size that is excused": ("def f(): ...  # noqa: C901 - it is complex by nature", "no exceptions"),
}


def test_a_module_within_the_limits_passes(tmp_path: Path) -> None:
    path = tmp_path / "ez_ptc" / "good.py"
    path.parent.mkdir()
    path.write_text(GOOD, encoding="utf-8")

    assert check_file(path) == []


@pytest.mark.parametrize(("text", "complaint"), BAD.values(), ids=BAD.keys())
def test_each_broken_rule_is_found(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text, encoding="utf-8")

    [finding] = check_file(path)

    assert complaint in finding.message


@pytest.mark.parametrize("name", ["utils.py", "_helpers.py", "common.py", "base.py"])
def test_a_module_that_is_named_after_nothing_is_found(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("", encoding="utf-8")

    [finding] = check_file(path)

    assert "names no task" in finding.message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def public() -> None: ...", "no `__all__`"),
        ('__all__ = ["other"]\nclass Public: ...\nclass other: ...', "Public is missing from `__all__`"),
    ],
)
def test_a_module_of_the_package_lists_its_public_names(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "ez_ptc" / "module.py"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")

    [finding] = check_file(path)

    assert complaint in finding.message


def test_the_program_names_the_place_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep" / "module.py"
    path.parent.mkdir()
    path.write_text("x = 1\ny = 2  # noqa\n", encoding="utf-8")

    assert main([str(tmp_path)]) == 1
    assert f"{path}:2: " in capsys.readouterr().out


def test_the_program_is_content_with_a_clean_folder(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
