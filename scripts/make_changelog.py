"""Move the fragments of changes/ into the section of the current version in CHANGELOG.md.

    python scripts/make_changelog.py            # writes their texts into the section, and removes their files
    python scripts/make_changelog.py --check    # names what is wrong with them, and changes nothing
    python scripts/make_changelog.py --released # also asks that no fragment is left, and that the section is there

The version is that of `ez_ptc`. A section that does not exist is begun above the others, with the date of today.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ez_ptc import __version__

__all__ = ["KINDS", "add_fragments", "find_problems", "main", "newest_version"]

ROOT: Final = Path(__file__).resolve().parents[1]
KINDS: Final = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
_NAME: Final = re.compile(rf"\+?[\w.-]+\.({'|'.join(KINDS)})\.md")
_SECTION: Final = re.compile(r"^## (\S+).*$", re.MULTILINE)


def find_fragments(folder: Path) -> list[Path]:
    """Return the files of a folder of fragments, but for its README, by name without a leading plus."""
    return sorted(
        (path for path in folder.iterdir() if path.name != "README.md"), key=lambda path: path.name.lstrip("+")
    )


def find_problems(folder: Path) -> list[str]:
    """Return what is wrong with the fragments of a folder, each with its file."""
    problems: list[str] = []
    for path in find_fragments(folder):
        if not _NAME.fullmatch(path.name):
            problems.append(f"{path.name}: expected a name such as topic.fixed.md; kinds are {', '.join(KINDS)}")
        elif not path.read_text(encoding="utf-8").strip():
            problems.append(f"{path.name}: expected one to three sentences, got none")
    return problems


def newest_version(changelog: str) -> str | None:
    """Return the version of the first section of a changelog, or None without a section."""
    section = _SECTION.search(changelog)
    return section and section[1]


def add_fragments(changelog: str, fragments: list[Path], *, version: str, date: str) -> str:
    """Return a changelog with the texts of fragments as items in the section of a version."""
    if newest_version(changelog) != version:
        head = _SECTION.search(changelog)
        position = len(changelog)
        if head:
            position = head.start()
        changelog = f"{changelog[:position].rstrip()}\n\n## {version} ({date})\n\n{changelog[position:]}"
    sections = list(_SECTION.finditer(changelog))
    start, end = sections[0].end(), len(changelog)
    if len(sections) > 1:
        end = sections[1].start()
    section = changelog[start:end].strip()
    for kind, heading in KINDS.items():
        items = [_item(path) for path in fragments if path.name.endswith(f".{kind}.md")]
        if items:
            section = _add_items(section, f"### {heading}", items)
    rest = changelog[end:]
    return f"{changelog[:start]}\n\n{section}\n" + (rest and f"\n{rest}")


def _item(path: Path) -> str:
    """Return a fragment as an item of a list."""
    return f"- {' '.join(path.read_text(encoding='utf-8').split())}"


def _add_items(section: str, heading: str, items: list[str]) -> str:
    """Return a section with items at the end of the group with a heading, which is begun if it does not exist."""
    groups = re.split(r"\n+(?=### )", section)
    for index, group in enumerate(groups):
        if group.partition("\n")[0] == heading:
            groups[index] = "\n".join([group, *items])
            break
    else:
        groups.append("\n".join([heading, "", *items]))
    return "\n\n".join(groups).strip()


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Move the fragments or check them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--released", action="store_true")
    options = parser.parse_args(arguments)
    folder, file = root / "changes", root / "CHANGELOG.md"
    fragments, changelog = find_fragments(folder), file.read_text(encoding="utf-8")
    problems = find_problems(folder)
    if options.released:
        problems += [f"{path.name}: not in the changelog yet: run scripts/make_changelog.py" for path in fragments]
        if newest_version(changelog) != __version__:
            problems.append(f"CHANGELOG.md: expected its first section to be of {__version__}")
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    if not (options.check or options.released):
        date = datetime.now(UTC).date().isoformat()
        file.write_text(add_fragments(changelog, fragments, version=__version__, date=date), encoding="utf-8")
        for path in fragments:
            path.unlink()
        print(f"CHANGELOG.md: added {len(fragments)} fragments to {__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
