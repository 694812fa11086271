"""A note on what the sandbox lacks, for programs whose calls of Python's library find nothing instead of failing.

`os.system("ls")` returns 32512, `glob.glob("*.csv")` an empty list, and `sys.stdin.read()` an empty text: without a
word, a model takes these for facts. The note is made from the program's text, and costs nothing while it runs.
"""

from __future__ import annotations

import ast
from itertools import chain
from typing import Final

from ez_ptc.sandbox.protocol.tool_types import parse_source

__all__ = ["explain_lacks"]

_NO_FILES: Final = "() finds nothing, since there are no files"
_NO_VARIABLES: Final = "() is None, since there are no environment variables"
# What is silent, by the full name of a function or an object.
_SILENT: Final = {
    "os.system": "() starts nothing, since there are no other processes",
    "shutil.which": "() finds nothing, since there are no other programs",
    "glob.glob": _NO_FILES,
    "glob.iglob": _NO_FILES,
    "os.walk": _NO_FILES,
    "os.path.exists": _NO_FILES,
    "os.path.isfile": _NO_FILES,
    "os.path.isdir": _NO_FILES,
    "os.getenv": _NO_VARIABLES,
    "os.environ.get": _NO_VARIABLES,
    "sys.stdin": " is empty, since there is no input",
    "fileinput.input": "() is empty, since there is no input",
}
_WORDS: Final = ("system", "which", "glob", "walk", "path", "env", "stdin", "input")
# With more arguments, the program says what it wants instead.
_MOST_ARGUMENTS: Final = {"os.getenv": 1, "os.environ.get": 1, "fileinput.input": 0}
# What depends on a thing that a program may replace.
_DEPENDS_ON: Final = {"os.getenv": "os.environ", "os.environ.get": "os.environ"}
_NAMES: Final = _SILENT.keys() | _DEPENDS_ON.values()
_MAX_ATTRIBUTES: Final = max(name.count(".") for name in _NAMES)
# The host parses it, which takes a millisecond for a thousand characters.
_MAX_CODE: Final = 20_000
_MAX_NAMED: Final = 3


def explain_lacks(code: str) -> str:
    """Return a note on the calls of a program that find nothing in the sandbox; "" without any."""
    if len(code) > _MAX_CODE or "import" not in code or not any(word in code for word in _WORDS):
        return ""
    try:
        nodes = [*ast.walk(parse_source(code))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    modules = _find_imported(nodes)
    names: dict[str, None] = {}
    replaced: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            replaced |= {_full_name(node, modules), _full_name(node.value, modules)}
        elif isinstance(node, ast.Call):
            name = _full_name(node.func, modules)
            if len(node.args) + len(node.keywords) <= _MOST_ARGUMENTS.get(name, _MAX_CODE):
                names[name] = None
        elif (name := _full_name(node, modules)) == "sys.stdin":
            names[name] = None
    silent = [name for name in names if name in _SILENT and _DEPENDS_ON.get(name, name) not in replaced]
    if not silent:
        return ""
    return f"[In the sandbox, {'; '.join(name + _SILENT[name] for name in silent[:_MAX_NAMED])}.]"


def _find_imported(nodes: list[ast.AST]) -> dict[str, str]:
    """Return what the program imports, as full names by its own names, without those that it also gives to others."""
    modules: dict[str, str] = {}
    others: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.asname: alias.name for alias in node.names if alias.asname}
            modules |= {
                name: name for alias in node.names if (name := alias.name.partition(".")[0]) and not alias.asname
            }
        elif isinstance(node, ast.ImportFrom):
            modules |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            others.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            others.add(node.name)
        elif isinstance(node, ast.arguments):
            parameters = chain(node.posonlyargs, node.args, node.kwonlyargs, filter(None, (node.vararg, node.kwarg)))
            others |= {parameter.arg for parameter in parameters}
    return {name: module for name, module in modules.items() if name not in others}


def _full_name(node: ast.AST, modules: dict[str, str]) -> str:
    """Return which of `_NAMES` a chain of names stands for; "" for anything else."""
    attributes: list[str] = []
    # Each part of a chain is asked about: going down all of a long one would take quadratic time.
    while isinstance(node, ast.Attribute) and len(attributes) < _MAX_ATTRIBUTES:
        attributes.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in modules:
        return ""
    name = ".".join((modules[node.id], *attributes))
    return name if name in _NAMES else ""
