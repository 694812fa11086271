"""The reasons of a silent program: it never called its functions, or never awaited its coroutines."""

from __future__ import annotations

import ast
import inspect
import warnings
from itertools import islice
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast

from ..protocol.both_ends.quoting import name_text, quoted
from .following.names import names_in
from .reading.program import RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "ASKED_FOR",
    "UnawaitedCoroutines",
    "explain_idleness",
    "explain_silence",
    "find_last_assigned",
    "other_main",
    "uncalled_functions",
]

ASKED_FOR = "write Python statements that call the tools and print the result"
_MAX_ITEMS = 100
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class UnawaitedCoroutines:
    """The names of the coroutines a program has never awaited."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def install(self) -> None:
        """Take note of CPython's warnings."""
        module = cast("Any", warnings)

        def note_and_warn(coroutine: Any) -> None:  # noqa: ANN401 - its names may be a program's own objects
            self._names[str(coroutine.__name__)] = None
            message = f"coroutine '{coroutine.__qualname__}' was never awaited"
            warnings.warn(message, category=RuntimeWarning, stacklevel=2, source=coroutine)

        module._warn_unawaited_coroutine = note_and_warn  # noqa: SLF001 - the interpreter looks it up by this name

    def begin(self) -> None:
        """Start a program."""
        self._names.clear()

    def names(self, values: Iterable[object]) -> list[str]:
        """Return the names, with those of coroutines among the values the program holds, also in its lists."""
        # By its type: `isinstance` may run code of a program's own object.
        candidates: list[object] = []
        for value in values:
            if type(value) is list or type(value) is tuple:
                candidates += islice(cast("Iterable[object]", value), _MAX_ITEMS)
            else:
                candidates.append(value)
        held = (cast("Any", value) for value in candidates if type(value) is CoroutineType)
        waiting = (value.__name__ for value in held if inspect.getcoroutinestate(value) == inspect.CORO_CREATED)
        return [*dict.fromkeys([*self._names, *waiting])]


def explain_silence(tree: ast.Module, unawaited: list[str], namespace: Mapping[str, object]) -> str:
    """Return a note on why a program that made no call has printed nothing, or "" if its text does not say so."""
    if unawaited:
        name = name_text(unawaited[0])
        return (
            f"[The program printed nothing: it never awaited {name}(). Write `await {name}()`, and print its result.]"
        )
    for name in map(other_main, tree.body):
        if name is not None:
            condition = f"`__name__` is '__main__', not {quoted(name)}, so that condition is false"
            return f"[The program printed nothing: {condition}. Compare `__name__` with '__main__'.]"
    uncalled = uncalled_functions(tree, namespace)
    if not uncalled:
        return explain_idleness(tree)
    name = name_text("main" if "main" in uncalled else uncalled[-1])
    return f"[The program printed nothing: it defines {name}() but never calls it. Call it, and print its result.]"


def explain_idleness(tree: ast.Module) -> str:
    """Return a note on a program of nothing but imports, `pass` and texts, or ""."""
    names: dict[str, None] = {}
    for node in tree.body:
        value = getattr(node, "value", None)
        is_kept = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == RESULT  # the last expression
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names["imports"] = None
        elif isinstance(node, ast.Pass):
            names["`pass`"] = None
        elif isinstance(value, ast.Constant) and type(value.value) is str and (is_kept or isinstance(node, ast.Expr)):
            names["text"] = None
        else:
            return ""
    return f"[The program is only {', '.join(names)}, and did nothing: {ASKED_FOR}.]"


def find_last_assigned(tree: ast.Module) -> str | None:
    """Return the name that the last statement of a program assigns, or None."""
    targets: list[ast.expr] = []
    match tree.body[-1:]:
        case [ast.Assign(targets=assigned)]:
            targets = assigned
        case [ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target)]:
            targets = [target]
        case _:
            pass
    if len(targets) == 1 and isinstance(targets[0], ast.Name):
        return targets[0].id
    return None


def other_main(node: ast.stmt) -> str | None:
    """Return the text other than "__main__" in a comparison of an `if` with `__name__`, or None."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare) or node.orelse:
        return None
    sides = [node.test.left, *node.test.comparators]
    is_about_name = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    texts = [side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)]
    if is_about_name and isinstance(node.test.ops[0], ast.Eq) and texts and texts[0] != "__main__":
        return texts[0]
    return None


def uncalled_functions(tree: ast.Module, namespace: Mapping[str, object]) -> list[str]:
    """Return the functions at the top of a program without a use in it, if the program calls none of them."""
    defined = {node.name for node in tree.body if isinstance(node, _FUNCTIONS) and not node.decorator_list}
    uses = {name: names_in(node) - {name} for node in tree.body if (name := getattr(node, "name", None)) in defined}
    outside = set[str]().union(*(names_in(node) for node in tree.body if getattr(node, "name", None) not in defined))
    if defined & outside:
        return []
    used = set[str]().union(*uses.values())
    return [name for name in uses if name not in used and callable(namespace.get(name))]
