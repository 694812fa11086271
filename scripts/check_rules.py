"""Check the house rules that no linter knows: sizes, names, and that every exception to a rule says why.

There is no list of exceptions. A file that breaks a rule is split, or its function is.

    python scripts/check_rules.py [FOLDER ...]
"""

import ast
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Finding", "check_file", "check_folder", "main"]

_FOLDERS: Final = ("src", "tests", "benchmarks", "scripts", "examples")
_MODULE_LINES: Final = 400
_FUNCTION_LINES: Final = 50
_VAGUE_NAMES: Final = frozenset({"base", "common", "helper", "helpers", "misc", "util", "utils"})
_SIZE_RULES: Final = ("C901", "PLR0912", "PLR0915")
_SUPPRESSION: Final = re.compile(r"#\s*(?P<kind>noqa|pyright:\s*ignore|type:\s*ignore)(?P<rest>.*)")
_CODES_AND_REASON: Final = re.compile(r"^(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\[[\w, ]+\])\W+\w+\W+\w+")

_AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that breaks a rule."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class _Module:
    path: Path
    lines: list[str]
    tree: ast.Module

    def functions(self) -> Iterator[_AnyFunction]:
        for node in ast.walk(self.tree):
            if isinstance(node, _AnyFunction):
                yield node

    def comments(self) -> Iterator[tuple[int, str]]:
        lines = iter(f"{line}\n" for line in self.lines)
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def _module_length(module: _Module) -> Iterator[tuple[int, str]]:
    if len(module.lines) > _MODULE_LINES:
        yield _MODULE_LINES, f"the module has {len(module.lines)} lines, at most {_MODULE_LINES} are allowed"


def _module_name(module: _Module) -> Iterator[tuple[int, str]]:
    if module.path.stem.strip("_") in _VAGUE_NAMES:
        yield 1, f"{module.path.stem!r} names no task: call the module what it does"


def _function_length(module: _Module) -> Iterator[tuple[int, str]]:
    for function in module.functions():
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        if length > _FUNCTION_LINES:
            yield function.lineno, f"{function.name} has {length} lines, at most {_FUNCTION_LINES} are allowed"


def _suppressions(module: _Module) -> Iterator[tuple[int, str]]:
    for number, comment in module.comments():
        if found := _SUPPRESSION.match(comment):
            rest = found["rest"]
            if found["kind"].startswith("type"):
                yield number, "write `# pyright: ignore[rule] - reason` instead of `# type: ignore`"
            elif not _CODES_AND_REASON.search(rest):
                yield number, "name the rule that is suppressed, and say why in a few words"
            elif any(rule in rest for rule in _SIZE_RULES):
                yield number, "sizes and complexity have no exceptions: split it"


def _public_names(module: _Module) -> Iterator[tuple[int, str]]:
    if "ez_ptc" not in module.path.parts or module.path.stem.startswith("__"):
        return
    listed: set[str] | None = None
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            listed = set(ast.literal_eval(node.value))
    if listed is None:
        yield 1, "the module has no `__all__`"
        return
    for node in module.tree.body:
        if isinstance(node, _AnyFunction | ast.ClassDef) and not node.name.startswith("_") and node.name not in listed:
            yield node.lineno, f"{node.name} is missing from `__all__`"


_RULES: Final[tuple[Callable[[_Module], Iterator[tuple[int, str]]], ...]] = (
    _module_length,
    _module_name,
    _function_length,
    _suppressions,
    _public_names,
)


def check_file(path: Path) -> list[Finding]:
    """Apply every rule to one module."""
    text = path.read_text(encoding="utf-8")
    module = _Module(path, text.splitlines(), ast.parse(text, filename=str(path)))
    return [Finding(path, line, message) for rule in _RULES for line, message in rule(module)]


def check_folder(folder: Path) -> list[Finding]:
    """Apply every rule to every module below a folder."""
    return [finding for path in sorted(folder.rglob("*.py")) for finding in check_file(path)]


def main(arguments: list[str]) -> int:
    """Print what breaks a rule in the given folders, or in all that have code; 1 when something does."""
    folders = [Path(argument) for argument in arguments or _FOLDERS]
    findings = [finding for folder in folders for finding in check_folder(folder)]
    for finding in findings:
        print(finding)
    print(f"house rules: {len(findings)} broken")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
