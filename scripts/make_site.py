"""Build the documentation site from docs/ into site/html, without a request to another host.

``python scripts/make_site.py`` copies the pages to site/source, with the files of the repository that they link to and
the texts for models, ``llms.txt`` and ``llms-full.txt``, and lets Zensical build them. A dead link, a page outside the
navigation and a page that loads something from another host end the build.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

__all__ = ["SiteError", "find_foreign_requests", "main", "navigation", "stage"]

ROOT: Final = Path(__file__).resolve().parent.parent
CONFIGURATION: Final = ROOT / "zensical.toml"
_LINK: Final = re.compile(r"(\]\()(?!https?://|#|mailto:)([^)#\s]+)")
# Links in code are no links, and the settings of a block are for the tests.
_FENCE: Final = re.compile(r"^( *)(`{3,}|~{3,})(\w*)[^\n]*\n.*?^\1\2[ ]*$", re.MULTILINE | re.DOTALL)
_SETTINGS: Final = re.compile(r'^( *`{3,}python) skip="[^"\n]*"', re.MULTILINE)
_LANGUAGES: Final = {".py": "python", ".toml": "toml", ".json": "json"}
_REQUEST: Final = re.compile(
    r"""<(?:script|img|iframe|source|audio|video)\b[^>]*?\ssrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?=[^>]*rel=["']?(?:stylesheet|preconnect|preload|icon))[^>]*?href=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//[^"')\s]+|url\(["']?(?:https?:)?//[^"')\s]+""",
    re.IGNORECASE,
)
_ABSTRACT_LENGTH: Final = 200
# Paragraphs that begin so are headings, tables, pictures, lists, markup, or code.
_NO_PROSE: Final = ("#", "|", "!", "-", "*", "<", "1.", "    ")
# No sentence has so few.
_FEW_WORDS: Final = 3


class SiteError(Exception):
    """The pages cannot become a site; the message says which and why."""


def navigation(configuration: Path = CONFIGURATION) -> list[tuple[str, list[str]]]:
    """Return the groups of the navigation: each title with the paths of its pages, nested groups included."""
    project: dict[str, Any] = tomllib.loads(configuration.read_text(encoding="utf-8"))["project"]
    groups: list[tuple[str, list[str]]] = []
    for entry in cast("list[dict[str, object]]", project["nav"]):
        [(title, pages)] = entry.items()
        groups.append((title, list(_paths(pages))))
    return groups


def _paths(pages: object) -> Iterator[str]:
    if isinstance(pages, str):
        yield pages
    elif isinstance(pages, dict):
        for page in cast("dict[str, object]", pages).values():
            yield from _paths(page)
    else:
        for page in cast("list[object]", pages):
            yield from _paths(page)


def stage(root: Path, target: Path, groups: list[tuple[str, list[str]]]) -> None:
    """Copy the pages of a repository to a folder as the builder wants them, with the texts for models.

    Raises:
        SiteError: A page is not in the navigation, or the navigation names a page that does not exist.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "docs", target)
    pending = [path.relative_to(target) for path in target.rglob("*.md")]
    listed = {path for _, paths in groups for path in paths}
    for path in listed:
        if path.startswith("project/"):
            _copy_file(root, target, root / path.removeprefix("project/"))
            pending.append(Path(path))
    if difference := {path.as_posix() for path in pending} ^ listed:
        message = f"expected each page once in the navigation of zensical.toml, got a difference: {sorted(difference)}"
        raise SiteError(message)
    copied = set(pending)
    while pending:
        page = pending.pop()
        for file in _rewrite(root, target, page):
            if file not in copied:
                copied.add(file)
                pending.append(file)
    (target / "llms.txt").write_text(_overview(target, groups), encoding="utf-8")
    pages = [_page_at_root(target, path) for _, paths in groups for path in paths]
    (target / "llms-full.txt").write_text("\n\n---\n\n".join(pages), encoding="utf-8")


def _rewrite(root: Path, target: Path, page: Path) -> list[Path]:
    """Lead the links of a staged page to staged files, and return those pages that were copied for it."""
    in_project = page.parts[0] == "project"
    source = root.joinpath(*page.parts[1:]) if in_project else root / "docs" / page
    files: list[Path] = []

    def lead(match: re.Match[str]) -> str:
        file = (source.parent / match[2]).resolve()
        if not file.is_file():
            return match[0]  # the builder reports it
        if file.is_relative_to(root / "docs"):
            staged = file.relative_to(root / "docs")
        else:
            staged = _copy_file(root, target, file)
            files.append(staged)
        return f"{match[1]}{'../' * (len(page.parts) - 1)}{staged.as_posix()}"

    text = (target / page).read_text(encoding="utf-8")
    parts: list[str] = []
    position = 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(lead, text[position : fence.start()]), _SETTINGS.sub(r"\1", fence[0])]
        position = fence.end()
    parts.append(_LINK.sub(lead, text[position:]))
    (target / page).write_text("".join(parts), encoding="utf-8")
    return files


def _copy_file(root: Path, target: Path, file: Path) -> Path:
    """Copy a file of the repository, as a page of its own, and return the page's path."""
    name = file.relative_to(root).as_posix()
    page = Path("project") / (name if file.suffix == ".md" else f"{name}.md")
    if not (target / page).exists():
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".ipynb":
            text = f"# `{name}`\n\n{_notebook_page(text)}\n"
        elif file.suffix != ".md":
            text = f"# `{name}`\n\n````{_LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n````\n"
        (target / page).parent.mkdir(parents=True, exist_ok=True)
        (target / page).write_text(text, encoding="utf-8")
    return page


def _notebook_page(notebook: str) -> str:
    """Return the cells of a notebook as Markdown, without their output; its headings go one level down."""
    cells: list[str] = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            cells.append(f"````python\n{source}\n````")
        else:
            cells.append(re.sub(r"^(?=#+ )", "#", source, flags=re.MULTILINE))
    return "\n\n".join(cells)


def _overview(target: Path, groups: list[tuple[str, list[str]]]) -> str:
    lines = ["# ez-ptc", "", "> Give any language model your Python functions, as tool calls or as whole programs.", ""]
    for title, paths in groups:
        lines += [f"## {title}", ""]
        for path in paths:
            heading, abstract = _abstract((target / path).read_text(encoding="utf-8"))
            lines.append(f"- [{heading}]({path}){f': {abstract}' if abstract else ''}")
        lines.append("")
    return "\n".join(lines)


def _page_at_root(target: Path, path: str) -> str:
    """Return the text of a staged page, with its links as they are from the root."""
    text = (target / path).read_text(encoding="utf-8")
    depth = path.count("/")
    return text.replace("](" + "../" * depth, "](") if depth else text


def _abstract(page: str) -> tuple[str, str]:
    """Return a page's heading and the first sentence of its prose."""
    heading, _, rest = page.partition("\n")
    paragraphs = [text.strip("\n") for text in _FENCE.sub("", rest).split("\n\n")]
    sentences = [_first_sentence(text) for text in paragraphs if not text.startswith(_NO_PROSE)]
    abstract = next((text for text in sentences if text.count(" ") >= _FEW_WORDS), "")
    return heading.lstrip("# "), abstract[:_ABSTRACT_LENGTH]


def _first_sentence(paragraph: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    return re.split(r"(?<=[.!?:]) ", text, maxsplit=1)[0].rstrip(":")


def find_foreign_requests(folder: Path) -> list[str]:
    """Return what the built pages and styles load from other hosts, each with its file."""
    return [
        f"{path.relative_to(folder)}: {match[0]}"
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".html", ".css")
        for match in _REQUEST.finditer(path.read_text(encoding="utf-8"))
    ]


def main() -> int:
    """Build the site, and return the exit code."""
    try:
        stage(ROOT, ROOT / "site" / "source", navigation())
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    command = ["zensical", "build", "--strict", "--clean", "--config-file", str(CONFIGURATION)]
    executable = Path(sys.executable).parent / command[0]
    done = subprocess.run([str(executable), *command[1:]], cwd=ROOT, check=False)
    if done.returncode != 0:
        return done.returncode
    # The links of the texts for models lead to them.
    for page in (ROOT / "site" / "source").rglob("*.md"):
        shutil.copyfile(page, ROOT / "site" / "html" / page.relative_to(ROOT / "site" / "source"))
    requests = find_foreign_requests(ROOT / "site" / "html")
    for request in requests:
        print(f"a page loads something from another host: {request}", file=sys.stderr)
    return int(bool(requests))


if __name__ == "__main__":
    sys.exit(main())
