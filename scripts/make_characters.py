"""Write the Unicode data for questions, as ranges of code points, or check that it is there.

``python scripts/make_characters.py FOLDER`` reads two files of https://www.unicode.org/Public/17.0.0 in FOLDER,
ucd/DerivedCoreProperties.txt and security/confusables.txt, and writes ``tools/approvals/characters.py``; with
``--check`` it writes nothing, and exits with 1 if the module differs.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MODULE", "main", "render"]

MODULE: Final = Path(__file__).resolve().parent.parent / "src/ez_ptc/tools/approvals/characters.py"
_VERSION: Final = re.compile(r"^# (?:Version: |\w+-)(\d+\.\d+\.\d+)", re.MULTILINE)
# Of punctuation, only what has a meaning in numbers, addresses and paths.
_TARGETS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" + "./:-_@,;?=&%#\\")
# Fullwidth forms, which are ASCII characters of another width; confusables.txt has only some of them.
_FULLWIDTH: Final = range(0xFF01, 0xFF5F)

_TEMPLATE: Final = '''"""Code points of Unicode {version}: invisible ones, and look-alikes of ASCII characters.

Written by scripts/make_characters.py.
"""

from functools import cache
from typing import Final

__all__ = ["ignorable", "look_alikes"]

_IGNORABLE: Final = """
{ignorable}
"""
_LOOK_ALIKES: Final = """
{look_alikes}
"""


@cache
def ignorable() -> frozenset[int]:
    """Return the code points with the property Default_Ignorable_Code_Point."""
    return _code_points(_IGNORABLE)


@cache
def look_alikes() -> frozenset[int]:
    """Return the code points mapped by UTS #39 to an ASCII letter, digit, or punctuation mark of addresses."""
    return _code_points(_LOOK_ALIKES)


def _code_points(ranges: str) -> frozenset[int]:
    points = set[int]()
    for text in ranges.split():
        first, _, last = text.partition("-")
        points.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(points)
'''


def _ranges(points: Iterable[int]) -> str:
    """Return code points as ranges in hexadecimal, in lines of the module."""
    ranges: list[list[int]] = []
    for point in sorted(points):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    texts = [f"{first:x}" if first == last else f"{first:x}-{last:x}" for first, last in ranges]
    return textwrap.fill(" ".join(texts), 120, break_on_hyphens=False)


def _ignorable(text: str) -> Iterable[int]:
    for line in text.splitlines():
        points, _, name = line.partition("#")[0].partition(";")
        if name.strip() == "Default_Ignorable_Code_Point":
            first, _, last = points.strip().partition("..")
            yield from range(int(first, 16), int(last or first, 16) + 1)


def _look_alikes(text: str) -> Iterable[int]:
    yield from _FULLWIDTH
    for line in text.splitlines():
        fields = line.partition("#")[0].split(";")
        if len(fields) < 3:  # noqa: PLR2004 - the columns of the file: source, target, type
            continue
        source = int(fields[0], 16)
        target = "".join(chr(int(point, 16)) for point in fields[1].split())
        if source > 0x7F and target in _TARGETS:  # noqa: PLR2004 - the end of ASCII
            yield source


def render(folder: Path) -> str:
    """Return the module for the data files in a folder. Raises ValueError if they are of different versions."""
    properties = (folder / "DerivedCoreProperties.txt").read_text(encoding="utf-8-sig")
    confusables = (folder / "confusables.txt").read_text(encoding="utf-8-sig")
    versions = {match[1] if (match := _VERSION.search(text)) else "?" for text in (properties, confusables)}
    if len(versions) != 1:
        message = f"expected files of one version, got {', '.join(sorted(versions))}"
        raise ValueError(message)
    return _TEMPLATE.format(
        version=versions.pop(),
        ignorable=_ranges(_ignorable(properties)),
        look_alikes=_ranges(_look_alikes(confusables)),
    )


def main() -> int:
    """Write the module, or check it."""
    folders = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(folders) != 1:
        print(f"usage: {sys.argv[0]} [--check] FOLDER", file=sys.stderr)
        return 2
    module = render(Path(folders[0]))
    if "--check" in sys.argv[1:]:
        return int(module != MODULE.read_text(encoding="utf-8"))
    MODULE.write_text(module, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
