"""Property tests see the same examples in every run, whoever runs them and whatever was imported before."""

import ast
import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

TESTS = Path(__file__).resolve().parent
# What the profiles decide. A number of examples would be the same where `make test-explore` looks for more.
DECIDED = {"backend", "database", "deadline", "derandomize", "max_examples", "phases", "print_blob"}

fixed_only = pytest.mark.skipif(
    settings.get_current_profile_name() != "fixed", reason="examples are drawn by chance: that is what was asked for"
)


def draw_examples() -> list[list[int]]:
    examples: list[list[int]] = []

    @given(st.lists(st.integers(), min_size=20))
    def note(numbers: list[int]) -> None:
        examples.append(numbers)

    note()
    return examples


@fixed_only
def test_examples_are_the_same_in_every_run() -> None:
    first = draw_examples()
    assert len(first) >= 10
    assert draw_examples() == first


@fixed_only
def test_examples_do_not_depend_on_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = draw_examples()
    (tmp_path / "full_of_numbers.py").write_text(f"NUMBERS = {list(range(7_000, 8_000))}", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.import_module("full_of_numbers")
    assert draw_examples() == before


def test_no_property_test_undoes_the_profile() -> None:
    modules = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    undone = [
        f"{path.relative_to(TESTS)}:{call.lineno}: {keyword.arg}"
        for path, text in modules.items()
        if "settings(" in text
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("settings")
        for keyword in call.keywords
        if keyword.arg in DECIDED
    ]
    assert undone == []
