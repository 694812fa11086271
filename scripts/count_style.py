"""Count what STYLE asks for: names, shapes and words, each figure beside its limit.

    python scripts/count_style.py [FOLDER] [--list FIGURE]

prints every figure and exits with 1 if one is over its limit; ``--list`` prints the occurrences that it counts.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["FIGURES", "Figure", "Source", "main", "read_sources"]

_AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef

_PAST_FORM: Final = re.compile(
    "(?!(?:bed|embed|exceed|feed|indeed|need|proceed|red|seed|shed|speed|succeed)$)(?:.{2,}ed|begun|bound|bought|brought|"
    "built|caught|chosen|done|drawn|driven|fallen|felt|forgotten|found|frozen|given|gone|grown|heard|held|hidden|kept|"
    "known|laid|left|lent|lost|made|meant|met|paid|ran|said|seen|sent|shown|spelt|spoken|stood|taken|taught|thought|"
    "told|understood|won|worn|wound|written)"
)
_PREDICATE: Final = re.compile("are|can|did|does|had|has|have|is|may|must|needs|should|was|were")
_VAGUE: Final = re.compile(
    "each|found|given|kind|left|made|one|other|others|own|part|parts|place|said|seen|shown|taken|thing|things|told|what|"
    "where|which|who|whole"
)
_BANNED: Final = re.compile("each|found|given|kind|own|part|told")
# One role in several places: a provider, a framework, or an end of the pipe, whose programs catch it by this name.
_SHARED_CLASS_NAMES: Final = {
    "AnswerStream",
    "CallProgressed",
    "CodeMode",
    "NotApprovedError",
    "ToolError",
    "_OfferTool",
}

_RELATIVES: Final = re.compile(r"\b(?:that|which|what|who|where)\b", re.IGNORECASE)
_DIALECT: Final = re.compile(
    r"\b(?:anew|anybody|(?:are|is) wanted|at one time|for ever|in vain|mend(?:ed|ing|s)?|nobody|somebody|strands?|"
    r"twins?|whoever)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_CODE: Final = re.compile(r"```.*?```|``[^`]*``|`[^`]*`", re.DOTALL)
_FEWEST_COMMENTS: Final = 2.5
_MAX_FUNCTION_LINES: Final = 40
_MAX_FILES: Final = 15


@dataclass(slots=True)
class Source:
    """One Python file, parsed."""

    path: Path
    text: str
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text, filename=str(self.path))

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n")

    def functions(self) -> Iterator[_AnyFunction]:
        """Yield every function, methods and nested ones included."""
        for node in ast.walk(self.tree):
            if isinstance(node, _AnyFunction):
                yield node


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: `count` returns the occurrences, and the number of places that could have had one."""

    name: str
    limit: float
    count: Callable[[list[Source]], tuple[list[str], int]]
    per: int = 100
    least: float = 0

    def measure(self, sources: list[Source]) -> tuple[float, list[str]]:
        """Return the figure, and the occurrences that it counts."""
        counted, total = self.count(sources)
        return self.per * len(counted) / max(total, 1), counted


def read_sources(folder: Path) -> list[Source]:
    """Read and parse every Python file below a folder."""
    return [Source(path, path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))]


def _decorators(function: _AnyFunction) -> set[str]:
    return {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}


def _participles(sources: list[Source]) -> tuple[list[str], int]:
    counted: list[str] = []
    total = 0
    for source in sources:
        for function in source.functions():
            total += 1
            words = function.name.strip("_").split("_")
            if _PREDICATE.fullmatch(words[0]) or _decorators(function) & {"property", "setter", "lazy"}:
                continue
            if _PAST_FORM.fullmatch(words[0]):
                counted.append(f"{source.path}:{function.lineno}: {function.name}")
    return counted, total


def _empty_texts(sources: list[Source]) -> tuple[list[str], int]:
    counted: list[str] = []
    total = 0
    for source in sources:
        for function in source.functions():
            if function.returns is None or ast.unparse(function.returns) not in {"str", "'str'", '"str"'}:
                continue
            total += 1
            returned = [node.value for node in _own_nodes(function) if isinstance(node, ast.Return) and node.value]
            if any(_may_be_empty(value) for value in returned):
                counted.append(f"{source.path}:{function.lineno}: {function.name}")
    return counted, total


def _own_nodes(function: _AnyFunction) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _AnyFunction | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def _may_be_empty(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _may_be_empty(value.body) or _may_be_empty(value.orelse)
    if isinstance(value, ast.BoolOp):
        return any(map(_may_be_empty, value.values))
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "next":
        return len(value.args) > 1 and _may_be_empty(value.args[1])
    return isinstance(value, ast.Constant) and value.value == ""


def _vague_names(sources: list[Source]) -> tuple[list[str], int]:
    counted: list[str] = []
    total = 0
    for source, node in _assignments(sources):
        total += 1
        if _VAGUE.fullmatch(node.id.strip("_")):
            counted.append(f"{source.path}:{node.lineno}: {node.id}")
    return counted, total


def _banned_names(sources: list[Source]) -> tuple[list[str], int]:
    """Count assignments to banned names, but for fields: these are read with their owner's name before them."""
    fields = {
        id(statement.target)
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    counted = [
        f"{source.path}:{node.lineno}: {node.id}"
        for source, node in _assignments(sources)
        if _BANNED.fullmatch(node.id.strip("_")) and id(node) not in fields
    ]
    return counted, 1


def _assignments(sources: list[Source]) -> Iterator[tuple[Source, ast.Name]]:
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield source, node


def _repeated_class_names(sources: list[Source]) -> tuple[list[str], int]:
    files: dict[str, set[Path]] = defaultdict(set)
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.name not in _SHARED_CLASS_NAMES:
                files[node.name].add(source.path)
    repeated = {name: paths for name, paths in sorted(files.items()) if len(paths) > 1}
    return [f"{name}: {', '.join(map(str, sorted(paths)))}" for name, paths in repeated.items()], 1


def _conditional_expressions(sources: list[Source]) -> tuple[list[str], int]:
    counted = [
        f"{source.path}:{node.lineno}: {ast.unparse(node)}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.IfExp)
    ]
    return counted, sum(source.lines for source in sources)


def _used_once(sources: list[Source]) -> tuple[list[str], int]:
    counted: list[str] = []
    total = 0
    for source in sources:
        uses = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
        )
        for function in source.functions():
            total += 1
            is_private = function.name.startswith("_") and not function.name.startswith("__")
            if is_private and uses[function.name] == 1 and not function.decorator_list:
                counted.append(f"{source.path}:{function.lineno}: {function.name}")
    return counted, total


def _docstring_words(sources: list[Source]) -> tuple[list[str], int]:
    counted: list[str] = []
    total = 0
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, _AnyFunction | ast.ClassDef | ast.Module):
                text = _CODE.sub(" ", ast.get_docstring(node) or "")
                total += len(_WORD.findall(text))
                line = getattr(node, "lineno", 1)
                counted += [f"{source.path}:{line}: {word}" for word in _RELATIVES.findall(text)]
    return counted, total


def _page_words(sources: list[Source]) -> tuple[list[str], int]:
    counted: list[str] = []
    total = 0
    for page in sorted({page for source in sources for page in _pages_beside(source.path)}):
        text = _CODE.sub(" ", page.read_text(encoding="utf-8"))
        total += len(_WORD.findall(text))
        counted += [f"{page}: {word}" for word in _RELATIVES.findall(text)]
    return counted, total


def _dialect(sources: list[Source]) -> tuple[list[str], int]:
    texts = {source.path: source.text for source in sources}
    for page in {page for source in sources for page in _pages_beside(source.path)}:
        texts[page] = page.read_text(encoding="utf-8")
    counted = [
        f"{path}:{number}: {match[0]}"
        for path, text in sorted(texts.items())
        for number, line in enumerate(text.splitlines(), 1)
        for match in _DIALECT.finditer(line)
    ]
    return counted, 1


def _pages_beside(path: Path) -> list[Path]:
    """Return the README and the pages of the repository that a source belongs to."""
    root = next((parent.parent for parent in path.parents if parent.name == "src"), None)
    if root is None:
        return []
    return [page for page in (root / "README.md", *(root / "docs").rglob("*.md")) if page.exists()]


def _comments(sources: list[Source]) -> tuple[list[str], int]:
    counted: list[str] = []
    for source in sources:
        tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
        counted += [f"{source.path}:{token.start[0]}" for token in tokens if token.type == tokenize.COMMENT]
    return counted, sum(source.lines for source in sources)


def _long_functions(sources: list[Source]) -> tuple[list[str], int]:
    counted = [
        f"{source.path}:{function.lineno}: {function.name}"
        for source in sources
        for function in source.functions()
        if _code_lines(function) > _MAX_FUNCTION_LINES
    ]
    return counted, 1


def _code_lines(function: _AnyFunction) -> int:
    """Return the number of a function's lines, its docstring not counted."""
    docstring = ast.get_docstring(function, clean=False)
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    return lines if docstring is None else lines - docstring.count("\n") - 1


def _full_folders(sources: list[Source]) -> tuple[list[str], int]:
    files = Counter(source.path.parent for source in sources)
    return [f"{folder}: {count} files" for folder, count in files.items() if count > _MAX_FILES], 1


FIGURES: Final = (
    Figure("participle function names, % of functions", 2.3, _participles),
    Figure('"-> str" functions that return "", %', 8, _empty_texts),
    Figure("vague local names, % of assignments", 3, _vague_names),
    Figure("assignments to names that STYLE bans", 0, _banned_names, per=1),
    Figure("class names that stand for several things", 0, _repeated_class_names, per=1),
    Figure("conditional expressions per 1,000 lines", 12, _conditional_expressions, per=1_000),
    Figure("private functions used once, % of functions", 15, _used_once),
    Figure("functions over 40 lines", 0, _long_functions, per=1),
    Figure("that/which/what/who/where per 1,000 words of docstrings", 25, _docstring_words, per=1_000),
    Figure("that/which/what/who/where per 1,000 words of docs", 26, _page_words, per=1_000),
    Figure("words with a plainer form in STYLE, in code and docs", 0, _dialect, per=1),
    Figure("comments, % of lines", 8, _comments, least=_FEWEST_COMMENTS),
    Figure("folders of more than 15 files", 0, _full_folders, per=1),
)


def main(arguments: list[str]) -> int:
    """Print every figure beside its limit, or the occurrences of one; return 1 if a figure is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("src"))
    parser.add_argument(
        "--list", metavar="FIGURE", help="print the occurrences of the figures whose name has this in it"
    )
    options = parser.parse_args(arguments)
    sources = read_sources(options.folder)
    is_met = True
    for figure in FIGURES:
        value, counted = figure.measure(sources)
        if options.list is None:
            is_within = figure.least <= value <= figure.limit
            is_met = is_met and is_within
            print(f"{'  ' if is_within else '! '}{value:6.1f}  (at most {figure.limit:g})  {figure.name}")
        elif options.list in figure.name:
            print("\n".join(counted))
    print(f"  {sum(source.lines for source in sources):6,}  lines in {len(sources)} files")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
