"""`exec` in a fresh namespace: no isolation at all, and so the least that running a program can cost."""

import ast
from collections.abc import Callable, Generator
from contextlib import contextmanager

from benchmarks.peers.subject import TOOLS, Subject

__all__ = ["start"]


def start() -> Subject:
    """Return what compiles and runs programs right here."""
    return _Exec()


class _Exec:
    offers_tools = True

    def run(self, code: str) -> object:
        return _run(code, dict[str, object](TOOLS))

    @contextmanager
    def session(self) -> Generator[Callable[[str], object]]:
        namespace = dict[str, object](TOOLS)
        yield lambda code: _run(code, namespace)

    def close(self) -> None:
        """Nothing was started."""


def _run(code: str, namespace: dict[str, object]) -> object:
    tree = ast.parse(code)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        name = ast.copy_location(ast.Name("result", ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([name], last.value), last)
    exec(compile(tree, "<program>", "exec"), namespace)  # noqa: S102 - this subject is exec
    return namespace.get("result")
