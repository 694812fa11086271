"""Write what programs cannot import into docs/programs/standard-library.md, or check that it is there.

``python scripts/make_absences.py`` writes it between the markers; ``--check`` writes nothing, and exits with 1 where
the page says something else. The list itself is in ``sandbox/check/absences.py``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from ez_ptc.sandbox.check import absences as absent

__all__ = ["PAGE", "main", "render", "replace_section"]

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "programs" / "standard-library.md"
_BEGIN, _END = "<!-- absent modules, by scripts/make_absences.py -->", "<!-- end of absent modules -->"
_SECTION: Final = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)


def render() -> str:
    """Return the section with its markers."""
    rows = [
        f"| {reason} | {', '.join(f'`{name}`' for name in sorted(public))} |"
        for reason, names in absent.ABSENT.items()
        if (public := [name for name in names.split() if not name.startswith("_")])
    ]
    table = "\n".join(["| why | modules that programs cannot import |", "|---|---|", *rows])
    return f"{_BEGIN}\n{table}\n{_END}"


def replace_section(page: str) -> str:
    """Return the page with the section as it should be."""
    return _SECTION.sub(lambda _: render(), page)


def main() -> int:
    """Write the section, or check it."""
    page = PAGE.read_text(encoding="utf-8")
    current = replace_section(page)
    if "--check" in sys.argv[1:]:
        return int(current != page)
    PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
