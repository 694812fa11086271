"""Following a program's statements: which ways there are, and what each one binds."""

from __future__ import annotations

import ast
import builtins
import sys
from typing import TYPE_CHECKING, Any

from ..types import NONE, UNKNOWN, Type, join, members
from .conditions import follow_condition, may_be, narrow
from .environment import Frame
from .expressions import operation_type
from .functions import Function, call_function
from .library import module_member, object_type
from .names import every, names_bound_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .analysis import Analysis, Loop

__all__ = ["STATEMENTS"]

_MAX_ROUNDS = 4
_EXITS = frozenset({"exit", "quit"})
_STACKS = frozenset({"ExitStack", "AsyncExitStack"})
_SUPPRESSING = frozenset({"suppress", "raises"})


def _expression(run: Analysis, node: ast.Expr) -> bool:
    run.of(node.value)
    callee = node.value.func if isinstance(node.value, ast.Call) else None
    is_exit = isinstance(callee, ast.Name) and callee.id in _EXITS and callee.id not in run.facts.bound
    return not (is_exit or (isinstance(callee, ast.Attribute) and ast.unparse(callee) == "sys.exit"))


def _assign(run: Analysis, node: ast.Assign) -> None:
    value = run.of(node.value)
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        value = run.constant(node.value)
    for target in node.targets:
        run.bind(target, value)


def _annotate(run: Analysis, node: ast.AnnAssign) -> None:
    is_evaluated = not run.facts.postpones_annotations and run.frame.owner is None
    if is_evaluated:
        run.of(node.annotation)
    if node.value is not None:
        run.bind(node.target, run.of(node.value))


def _augment(run: Analysis, node: ast.AugAssign) -> None:
    target: Any = node.target
    readable = type(target)(**{**vars(target), "ctx": ast.Load()})
    before, value = run.of(readable), run.of(node.value)
    run.types[target] = before
    count = len(run.mistakes)
    run.apply_rules(node)
    if len(run.mistakes) > count:
        return  # the program gets no further
    for base in members(before):
        if base.kind in {"list", "set"}:
            run.containers.add_item(base, run.item_of(value))
        elif base.kind in {"record", "dict"}:
            run.containers.open(base)
        elif base.kind in {"", "deque"}:
            run.containers.fill_unknown()
            run.containers.leak(value)
    if before.kind not in {"list", "set", "record", "dict"}:
        before = operation_type(before, value, node.op, run)
    if before.kind not in {"list", "set"} or isinstance(target, ast.Name):
        run.bind(target, before)


def _delete(run: Analysis, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            run.forget(target)


def _return(run: Analysis, node: ast.Return) -> bool:
    run.frame_of_function().results.append(NONE if node.value is None else run.of(node.value))
    return False


def _raise(run: Analysis, node: ast.Raise) -> bool:
    for value in filter(None, (node.exc, node.cause)):
        run.of(value)
    return False


def _leave_loop(run: Analysis, node: ast.Break | ast.Continue) -> bool:
    if run.loops:
        run.loops[-1].setdefault(type(node), []).append(dict(run.frame.names))
    return False


def _assert(run: Analysis, node: ast.Assert) -> None:
    follow_condition(run, node.test)
    narrow(run, node.test, truth=True)


def _if(run: Analysis, node: ast.If) -> bool:
    follow_condition(run, node.test)
    ends: list[dict[str, Type]] = []
    before = dict(run.frame.names)
    for truth, body in ((True, node.body), (False, node.orelse)):
        if may_be(run, node.test, truth=truth):
            run.frame.names = dict(before)
            narrow(run, node.test, truth=truth)
            if run.execute(body):
                ends.append(run.frame.names)
    return _meet(run, ends)


def _meet(run: Analysis, ends: Sequence[dict[str, Type]]) -> bool:
    """Go on where several ways meet, if any does."""
    if not ends:
        return False
    names = dict(ends[0])
    for end in ends[1:]:
        for name in {**names, **end}:
            one, other = names.get(name), end.get(name)
            if one is not other:
                names[name] = join(value for value in (one, other) if value is not None)
    for name, value in names.items():
        if not value.kind:
            run.containers.leak(*(end[name] for end in ends if name in end))
    run.frame.names = names
    return True


def _for(run: Analysis, node: ast.For | ast.AsyncFor) -> bool:
    over = run.of(node.iter)
    run.apply_rules(node)

    def enter() -> bool:
        item = run.item_of(over)
        if item.kind == "nothing":
            return False
        run.bind(node.target, item)
        return True

    return _repeat(run, node, enter)


def _while(run: Analysis, node: ast.While) -> bool:
    def enter() -> bool:
        follow_condition(run, node.test)
        narrow(run, node.test, truth=True)
        return may_be(run, node.test, truth=True)

    return _repeat(run, node, enter)


def _repeat(run: Analysis, node: ast.For | ast.AsyncFor | ast.While, enter: Callable[[], bool]) -> bool:
    """Follow a loop until its end gives no name a new type at its beginning; only then its mistakes count."""
    start = dict(run.frame.names)
    exits: Loop = {}
    count = len(run.mistakes)
    for number in range(_MAX_ROUNDS):
        run.count_steps(5 * len(start))
        del run.mistakes[count:]
        run.frame.names = dict(start)
        run.loops.append({})
        ends = [start]
        if enter() and run.execute(node.body):
            ends.append(run.frame.names)
        exits = run.loops.pop()
        _meet(run, [*ends, *exits.get(ast.Continue, ())])
        after = run.frame.names
        changed = {name: after[name] for name in start if after[name] != start[name]}
        if not changed:
            break
        if number == _MAX_ROUNDS - 2:
            # What does not settle is not known.
            changed = dict.fromkeys(changed, UNKNOWN)
        start = start | changed
    ways = [run.frame.names] if run.execute(node.orelse) else []
    return _meet(run, [*ways, *exits.get(ast.Break, ())])


def _with(run: Analysis, node: ast.With | ast.AsyncWith) -> bool:
    suppressed: set[str] = set()
    for item in node.items:
        manager = run.of(item.context_expr)
        call = item.context_expr
        name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and name in _SUPPRESSING:
            suppressed |= _class_names(call.args)
        elif name in _STACKS and run.handles:
            suppressed.add("")  # what it enters may handle anything
        elif not manager.kind and run.facts.has_exits:
            suppressed.add("")  # a manager of the program's own may handle anything
        run.containers.leak(manager)
        if item.optional_vars is not None:
            run.bind(item.optional_vars, UNKNOWN)
    return _guarded(run, node.body, suppressed) or bool(suppressed)


def _guarded(run: Analysis, body: Sequence[ast.stmt], handled: set[str]) -> bool:
    outer = run.guards
    if handled:
        run.guards = (*outer, frozenset(handled))
    is_passed = run.execute(body)
    run.guards = outer
    return is_passed


def _class_names(nodes: Sequence[ast.expr | None]) -> set[str]:
    """Return the names of exception classes; "" for one that may be any."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Tuple):
            names |= _class_names(node.elts)
        elif isinstance(node, ast.Name) and (node.id == "ToolError" or isinstance(vars(builtins).get(node.id), type)):
            names.add(node.id)
        else:
            names.add("")
    return names


def _try(run: Analysis, node: ast.Try) -> bool:
    before = dict(run.frame.names)
    handled = {name for handler in node.handlers for name in _class_names([handler.type])}
    if any(isinstance(part, (ast.Return, ast.Break, ast.Continue)) for last in node.finalbody for part in every(last)):
        handled.add("")  # leaving the last block drops any error
    ends: list[dict[str, Type]] = []
    if _guarded(run, node.body, handled) and run.execute(node.orelse):
        ends.append(run.frame.names)
    changed = names_bound_in(node.body) & run.frame.bound
    run.containers.leak(*(run.frame.history[name] for name in changed if name in run.frame.history))
    for handler in node.handlers:
        # The body may have been left anywhere.
        run.frame.names = before | dict.fromkeys(changed, UNKNOWN)
        if handler.name:
            run.bind_name(run.frame, handler.name, UNKNOWN)
        if run.execute(handler.body):
            ends.append(run.frame.names)
    is_passed = _meet(run, ends)
    if not is_passed:
        run.frame.names = before | dict.fromkeys(changed, UNKNOWN)
    return run.execute(node.finalbody) and is_passed


def _match(run: Analysis, node: ast.Match) -> bool:
    run.containers.leak(run.of(node.subject))
    run.forget(node.subject)
    before = dict(run.frame.names)
    ends = [before]
    for case in node.cases:
        run.frame.names = dict(before)
        for name in names_bound_in([case.pattern]):
            run.bind_name(run.frame, name, UNKNOWN)
        if case.guard is not None:
            follow_condition(run, case.guard)
        if run.execute(case.body):
            ends.append(run.frame.names)
    return _meet(run, ends)


def _define(run: Analysis, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for decorator in node.decorator_list:
        run.of(decorator)
    run.defaults(node.args)
    function = Function(node, _frame_for_functions(run.frame), is_decorated=bool(node.decorator_list))
    if run.frame.owner != "class":
        run.bind_name(run.frame_of_name(node.name), node.name, Type("function", value=function))
    elif node.name in run.facts.called_attributes or node.name.startswith("__"):
        with run.silence(silent=run.handles):
            call_function(run, function, None, {})


def _frame_for_functions(frame: Frame) -> Frame:
    while frame.owner == "class" and frame.outer is not None:
        frame = frame.outer
    return frame


def _define_class(run: Analysis, node: ast.ClassDef) -> None:
    for value in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
        run.of(value)
    run.frame, outer = Frame(names_bound_in(node.body), run.frame, owner="class"), run.frame
    run.execute(node.body)
    run.containers.leak(*run.frame.names.values())
    run.frame = outer
    run.bind_name(run.frame_of_name(node.name), node.name, Type("class", value=node))


def _import(run: Analysis, node: ast.Import) -> None:
    for alias in node.names:
        module = sys.modules.get(alias.name if alias.asname else alias.name.partition(".")[0])
        name = alias.asname or alias.name.partition(".")[0]
        run.types[alias] = UNKNOWN
        run.bind_name(run.frame_of_name(name), name, UNKNOWN if module is None else object_type(module))
    run.apply_rules(node)


def _import_from(run: Analysis, node: ast.ImportFrom) -> None:
    module = None if node.level else sys.modules.get(node.module or "")
    for alias in node.names:
        member = None if module is None else module_member(module, alias.name)
        name = alias.asname or alias.name
        run.bind_name(run.frame_of_name(name), name, member or UNKNOWN)
    run.apply_rules(node)


STATEMENTS: dict[type, Callable[[Analysis, Any], bool | None]] = {
    ast.AnnAssign: _annotate,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AsyncFor: _for,
    ast.AsyncFunctionDef: _define,
    ast.AsyncWith: _with,
    ast.AugAssign: _augment,
    ast.Break: _leave_loop,
    ast.ClassDef: _define_class,
    ast.Continue: _leave_loop,
    ast.Delete: _delete,
    ast.Expr: _expression,
    ast.For: _for,
    ast.FunctionDef: _define,
    ast.If: _if,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Match: _match,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.While: _while,
    ast.With: _with,
}
