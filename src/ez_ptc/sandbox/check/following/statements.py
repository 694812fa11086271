"""Following a program's statements: the possible ways, and the names bound on each."""

from __future__ import annotations

import ast
import builtins
import sys
from typing import TYPE_CHECKING

from ...protocol.both_ends.types import NONE, UNKNOWN, Type, join, members
from .conditions import follow_condition, may_be
from .environment import Frame
from .expressions import Expressions
from .functions import ProgramFunction, call_function
from .names import called_name, every, names_bound_in
from .standard_types import module_member, object_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .analysis import Loop

__all__ = ["Statements"]

_MAX_ROUNDS = 4
_EXITS = frozenset({"exit", "quit"})
_SUPPRESSING = frozenset({"raises", "suppress"})
_STACKS = frozenset({"AsyncExitStack", "ExitStack"})


class Statements(Expressions):
    """Each method follows one kind of statement, and returns False if the program never gets past it."""

    def follow_expr(self, node: ast.Expr) -> bool:
        """Follow an expression; some calls end the program."""
        self.of(node.value)
        callee = node.value.func if isinstance(node.value, ast.Call) else None
        is_exit = isinstance(callee, ast.Name) and callee.id in _EXITS and callee.id not in self.facts.bound
        return not (is_exit or (isinstance(callee, ast.Attribute) and ast.unparse(callee) == "sys.exit"))

    def follow_assign(self, node: ast.Assign) -> None:
        """Bind the targets."""
        value = self.of(node.value)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            value = self.constant(node.value)
        for target in node.targets:
            self.bind(target, value)

    def follow_annassign(self, node: ast.AnnAssign) -> None:
        """Bind the target; annotations are not looked at."""
        if node.value is not None:
            self.bind(node.target, self.of(node.value))

    def follow_augassign(self, node: ast.AugAssign) -> None:
        """Change the target's items, or bind it again."""
        before, value = self.of(node.target), self.of(node.value)
        count = len(self.mistakes)
        self.apply_rules(node)
        if len(self.mistakes) > count:
            return  # the program gets no further
        for base in members(before):
            if base.kind in {"list", "set"}:
                self.containers.add_item(base, self.item_of(value))
            elif base.kind in {"record", "dict"}:
                self.containers.open(base)
            elif base.kind in {"", "deque"}:
                self.containers.open(UNKNOWN)
        if before.kind not in {"list", "set", "record", "dict"}:
            before = self.operate(before, value, node.op)
        if before.kind not in {"list", "set"} or isinstance(node.target, ast.Name):
            self.bind(node.target, before)

    def follow_delete(self, node: ast.Delete) -> None:
        """Forget the names."""
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.forget(target)

    def follow_return(self, node: ast.Return) -> bool:
        """Add a result to the function."""
        *_, frame = (frame for frame in self.frame.around() if frame.owner is self.frame.owner)
        frame.results.append(NONE if node.value is None else self.of(node.value))
        return False

    def follow_raise(self, node: ast.Raise) -> bool:
        """Follow the error."""
        for value in filter(None, (node.exc, node.cause)):
            self.of(value)
        return False

    def follow_break(self, node: ast.Break | ast.Continue) -> bool:
        """Leave the loop with the names as they are here."""
        if self.loops:
            self.loops[-1].setdefault(type(node), []).append(dict(self.frame.names))
        return False

    follow_continue = follow_break

    def follow_assert(self, node: ast.Assert) -> None:
        """Assume the condition."""
        follow_condition(self, node.test)

    def follow_if(self, node: ast.If) -> bool:
        """Follow both ways, as far as the condition leaves them."""
        follow_condition(self, node.test)
        ends: list[dict[str, Type]] = []
        before = dict(self.frame.names)
        for truth, body in ((True, node.body), (False, node.orelse)):
            if may_be(self, node.test, truth=truth):
                self.frame.names = dict(before)
                if self.execute(body):
                    ends.append(self.frame.names)
        return self._meet(ends)

    def _meet(self, ends: Sequence[dict[str, Type]]) -> bool:
        """Go on where several ways meet, if any does."""
        if not ends:
            return False
        names = dict(ends[0])
        for end in ends[1:]:
            for name in {**names, **end}:
                one, other = names.get(name), end.get(name)
                if one is not other:
                    names[name] = join(value for value in (one, other) if value is not None)
        self.frame.names = names
        return True

    def follow_for(self, node: ast.For | ast.AsyncFor) -> bool:
        """Follow the loop with any of the items."""
        over = self.of(node.iter)
        self.apply_rules(node)

        def enter() -> bool:
            item = self.item_of(over)
            if item.kind == "nothing":
                return False
            self.bind(node.target, item)
            return True

        return self._repeat(node, enter)

    follow_asyncfor = follow_for

    def follow_while(self, node: ast.While) -> bool:
        """Follow the loop while its condition may be true."""

        def enter() -> bool:
            follow_condition(self, node.test)
            return may_be(self, node.test, truth=True)

        return self._repeat(node, enter)

    def _repeat(self, node: ast.For | ast.AsyncFor | ast.While, enter: Callable[[], bool]) -> bool:
        """Follow a loop until its end gives nothing a new type at its beginning; only then its mistakes count."""
        start = dict(self.frame.names)
        exits: Loop = {}
        count = len(self.mistakes)
        self.containers.enter_loop()
        for number in range(_MAX_ROUNDS):
            self.count_steps(5 * len(start))
            del self.mistakes[count:]
            if self.containers.is_stale:
                self.containers.repeat_loop()
                self.calls.clear()
            self.frame.names = dict(start)
            self.loops.append({})
            ends = [start]
            if enter() and self.execute(node.body):
                ends.append(self.frame.names)
            exits = self.loops.pop()
            self._meet([*ends, *exits.get(ast.Continue, ())])
            after = self.frame.names
            changed = {name: after[name] for name in start if after[name] != start[name]}
            if not (changed or self.containers.is_stale):
                break
            if number == _MAX_ROUNDS - 2:
                # What does not settle is not known.
                changed = dict.fromkeys(changed, UNKNOWN)
            start = start | changed
        self.containers.leave_loop()
        ways = [self.frame.names] if self.execute(node.orelse) else []
        return self._meet([*ways, *exits.get(ast.Break, ())])

    def follow_with(self, node: ast.With | ast.AsyncWith) -> bool:
        """Follow the body, whose errors the managers may handle."""
        handled: set[str] = set()
        for item in node.items:
            manager = self.of(item.context_expr)
            name = called_name(item.context_expr)
            if isinstance(item.context_expr, ast.Call) and name in _SUPPRESSING:
                handled |= _exceptions(item.context_expr.args)
            elif name in _STACKS or (self.facts.has_exits and not manager.kind):
                handled.add("")
            if item.optional_vars is not None:
                self.bind(item.optional_vars, UNKNOWN)
        return self._guarded(node.body, handled) or bool(handled)

    follow_asyncwith = follow_with

    def _guarded(self, body: Sequence[ast.stmt], handled: set[str]) -> bool:
        outer = self.guards
        if handled:
            self.guards = (*outer, frozenset(handled))
        is_passed = self.execute(body)
        self.guards = outer
        return is_passed

    def follow_try(self, node: ast.Try | ast.TryStar) -> bool:
        """Follow the body, and each handler as if the body had been left anywhere."""
        before = dict(self.frame.names)
        handled = _exceptions([handler.type for handler in node.handlers])
        if any(
            isinstance(inner, (ast.Return, ast.Break, ast.Continue)) for last in node.finalbody for inner in every(last)
        ):
            handled.add("")  # leaving the last block drops any error
        ends: list[dict[str, Type]] = []
        if self._guarded(node.body, handled) and self.execute(node.orelse):
            ends.append(self.frame.names)
        changed = names_bound_in(node.body) & self.frame.bound
        for handler in node.handlers:
            # The body may have been left anywhere.
            self.frame.names = before | dict.fromkeys(changed, UNKNOWN)
            if handler.name:
                self.bind_name(handler.name, UNKNOWN)
            if self.execute(handler.body):
                ends.append(self.frame.names)
        is_passed = self._meet(ends)
        if not is_passed:
            self.frame.names = before | dict.fromkeys(changed, UNKNOWN)
        return self.execute(node.finalbody) and is_passed

    follow_trystar = follow_try

    def follow_match(self, node: ast.Match) -> bool:
        """Follow each case; nothing is known of the names bound by its pattern."""
        self.of(node.subject)
        self.forget(node.subject)
        before = dict(self.frame.names)
        ends = [before]
        for case in node.cases:
            self.frame.names = dict(before)
            for name in names_bound_in([case.pattern]):
                self.bind_name(name, UNKNOWN)
            if case.guard is not None:
                follow_condition(self, case.guard)
            if self.execute(case.body):
                ends.append(self.frame.names)
        return self._meet(ends)

    def follow_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Bind the function; follow a method now if others may call it."""
        for decorator in node.decorator_list:
            self.of(decorator)
        outer = next(frame for frame in self.frame.around() if frame.owner != "class")
        function = ProgramFunction(node, outer, self.defaults(node.args), bool(node.decorator_list))
        if self.frame.owner != "class":
            self.bind_name(node.name, Type("function", value=function))
        elif node.name in self.facts.called_attributes or node.name.startswith("__"):
            with self.silence(silent=self.facts.handles):
                call_function(self, function, None, {})

    follow_asyncfunctiondef = follow_functiondef

    def follow_classdef(self, node: ast.ClassDef) -> None:
        """Follow the body, and bind the class."""
        for value in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.of(value)
        self.frame, outer = Frame(names_bound_in(node.body), self.frame, owner="class"), self.frame
        self.execute(node.body)
        self.frame = outer
        self.bind_name(node.name, Type("class", value=node))

    def follow_import(self, node: ast.Import) -> None:
        """Bind imported modules."""
        for alias in node.names:
            module = sys.modules.get(alias.name if alias.asname else alias.name.partition(".")[0])
            name = alias.asname or alias.name.partition(".")[0]
            self.bind_name(name, UNKNOWN if module is None else object_type(module))
        self.apply_rules(node)

    def follow_importfrom(self, node: ast.ImportFrom) -> None:
        """Bind members of a module."""
        module = None if node.level else sys.modules.get(node.module or "")
        for alias in node.names:
            member = None if module is None else module_member(module, alias.name)
            name = alias.asname or alias.name
            self.bind_name(name, member or UNKNOWN)
        self.apply_rules(node)


def _exceptions(types: Sequence[ast.expr | None]) -> set[str]:
    """Return the names of built-in exceptions; "" for any other class."""
    classes = [cls for caught in types for cls in (caught.elts if isinstance(caught, ast.Tuple) else [caught])]
    names = {getattr(cls, "id", "") for cls in classes}
    return {name if name == "ToolError" or isinstance(vars(builtins).get(name), type) else "" for name in names}
