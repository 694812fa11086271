"""Try the installed package as its first user would: import it, and run the first example of the README.

    PYTHON smoke_test.py README.md

Runs in an environment that has the built wheel and what it depends on, and nothing else.
"""

import contextlib
import io
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

__all__ = ["first_example", "main", "printed_by"]

_BLOCK: Final = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_EXPECTED: Final = re.compile(r"^#> ?(.*)$", re.MULTILINE)


def first_example(page: str) -> str:
    """Find the first Python block of a page."""
    found = _BLOCK.search(page)
    if found is None:
        message = "the page has no Python block"
        raise ValueError(message)
    return found[1]


def printed_by(example: str) -> list[str]:
    """Run a program in this process, in a folder that is removed, and return the lines that it prints."""
    printed = io.StringIO()
    with TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(example, "<README>", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    return printed.getvalue().splitlines()


def main(page: Path) -> int:
    """Compare what the example prints with what the page says; 1 when they differ."""
    import ez_ptc

    if "site-packages" not in Path(ez_ptc.__file__).parts:
        print(f"smoke test: this is not the installed package: {ez_ptc.__file__}")
        return 1
    for name in vars(ez_ptc)["__all__"]:  # none of them may need an extra
        getattr(ez_ptc, name)
    example = first_example(page.read_text(encoding="utf-8"))
    expected, printed = _EXPECTED.findall(example), printed_by(example)
    if not expected or printed != expected:
        print(f"smoke test: the README says {expected}, the package printed {printed}")
        return 1
    print(f"smoke test: ez-ptc {ez_ptc.__version__} on Python {sys.version.split()[0]} runs the README's first example")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
