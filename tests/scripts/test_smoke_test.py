"""The smoke test of the built wheel fails when it should."""

from pathlib import Path

import pytest

import ez_ptc
from scripts.smoke_test import first_example, main, printed_by

PAGE = """Words.

```sh
make demo
```

```python
print("one")
#> one
print(2)
#> {second}
```

```python
print("another")
```
"""


def test_the_first_python_block_is_the_example() -> None:
    example = first_example(PAGE.format(second=2))

    assert printed_by(example) == ["one", "2"]


def test_a_page_without_python_is_refused() -> None:
    with pytest.raises(ValueError, match="no Python block"):
        first_example("Only words.")


@pytest.mark.parametrize(("second", "status"), [("2", 0), ("3", 1)])
def test_printed_output_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], second: str, status: int
) -> None:
    monkeypatch.setattr(ez_ptc, "__file__", "/somewhere/site-packages/ez_ptc/__init__.py")
    page = tmp_path / "README.md"
    page.write_text(PAGE.format(second=second), encoding="utf-8")

    assert main(page) == status
    assert ("runs the README's first example" in capsys.readouterr().out) is (status == 0)


def test_source_tree_is_not_the_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ez_ptc, "__file__", "/somewhere/src/ez_ptc/__init__.py")
    page = tmp_path / "README.md"
    page.write_text(PAGE.format(second=2), encoding="utf-8")

    assert main(page) == 1
    assert "not the installed package" in capsys.readouterr().out
