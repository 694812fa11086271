"""RestrictedPython: compiles a subset of Python for the host's own process; by itself that is no isolation."""

import ast
import builtins
import importlib
import operator
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CodeType
from typing import Any, Protocol, cast

from benchmarks.peers.subject import TOOLS, Subject

__all__ = ["start"]


class _Compiled(Protocol):
    code: CodeType | None
    errors: tuple[str, ...]


class _Library(Protocol):
    safe_builtins: dict[str, object]

    @staticmethod
    def compile_restricted_exec(source: ast.Module, /) -> _Compiled: ...


def start() -> Subject:
    """Return what compiles and runs programs right here. Raises ImportError where RestrictedPython is not installed."""
    return _Restricted(cast("_Library", cast("object", importlib.import_module("RestrictedPython"))))


class _Restricted:
    offers_tools = True

    def __init__(self, library: _Library) -> None:
        self._library = library

    def run(self, code: str) -> object:
        with self.session() as run:
            return run(code)

    @contextmanager
    def session(self) -> Generator[Callable[[str], object]]:
        more = {name: vars(builtins)[name] for name in ("__import__", "dict", "list", "max", "sorted", "sum")}
        namespace: dict[str, object] = {
            **TOOLS,
            "__builtins__": {**self._library.safe_builtins, **more},
            # What its programs need to loop, to subscript and to add up; it leaves them to whoever uses it.
            "_getiter_": iter,
            "_getitem_": operator.getitem,
            "_getattr_": getattr,
            "_write_": _as_it_is,
            "_inplacevar_": _in_place,
            "time": time,
        }
        yield lambda code: self._run(code, namespace)

    def _run(self, code: str, namespace: dict[str, object]) -> object:
        tree = ast.parse(code)
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            name = ast.copy_location(ast.Name("result", ast.Store()), last)
            tree.body[-1] = ast.copy_location(ast.Assign([name], last.value), last)
        compiled = self._library.compile_restricted_exec(tree)
        if compiled.code is None:
            raise SyntaxError("; ".join(compiled.errors))
        exec(compiled.code, namespace)  # noqa: S102 - this subject is exec over what it has compiled
        return namespace.get("result")

    def close(self) -> None:
        """Nothing was started."""


def _as_it_is(target: object) -> object:
    return target


def _in_place(symbol: str, left: Any, right: Any) -> object:  # noqa: ANN401 - whatever a program adds up
    if symbol != "+=":
        raise NotImplementedError(symbol)
    left += right
    return left
