"""The pages of the reference and of examples: current, complete, running."""

import re
from pathlib import Path

import ez_ptc
from scripts.make_reference import PAGE, render


def test_reference_is_current() -> None:
    """Write it with `python scripts/make_reference.py`, or `make format`."""
    assert PAGE.read_text(encoding="utf-8") == render()


def test_reference_has_every_public_name() -> None:
    """[API Reference](api-reference.md) — full API docs"""
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in dir(ez_ptc) if not name.startswith("_") and f"`{name}" not in page] == []


def test_there_are_five_examples_with_code(repository: Path) -> None:
    """[Framework Examples](examples.md) — see tool chaining in action"""
    page = (repository / "docs" / "examples.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    assert len(sections) == 5
    assert all("```python\n" in section and "#> " in section for section in sections)
