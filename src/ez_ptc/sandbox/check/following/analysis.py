"""Following a program without running it: the type of each value, on each way that the program can take.

Statements are followed in their order. Where ways part, each is followed on its own; where they meet, a name has the
types of all of them. A loop is followed again with the types that its end gives to its beginning, and with what it puts
into containers, until they stay the same. The body of a function is followed at each call, so code without a way to it
is never looked at, and a mistake is one on every way to its place. Rules look at each expression when its type is
known.

The number of steps is bounded. After that, the program is not checked: it runs.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import sys
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

from ...protocol.both_ends.types import BOOL, INT, NOTHING, SCALARS, STR, UNKNOWN, Type, join, limit_depth, members
from ..mistakes import ProgramMistake
from .environment import Containers, Frame
from .facts import TooLongError
from .names import children, names_bound_in
from .standard_types import object_type

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence

    from ..mistakes import Suggestion
    from ..signatures import Shapes
    from .facts import Facts


__all__ = ["KEY_OF_RECORD", "MAX_MISTAKES", "Analysis", "Loop"]

# As many as take less than 20 ms on any machine; of a slow one, the time is bounded, too.
_MAX_STEPS = 2_500
_STEPS_UNTIMED = 16
_MAX_PASSES = 4
MAX_MISTAKES = 50
# The most mistakes for which suggestions are looked for, which takes a millisecond each.
_MAX_SUGGESTED = 10
_ALL = frozenset({"BaseException", "Exception"})
# The site of a text over which a program goes where it goes over one record.
KEY_OF_RECORD = "a key of a record"
# The types of expressions that depend on nothing in them.
_PLAIN: dict[type, Type] = {ast.Compare: BOOL, ast.FormattedValue: STR, ast.JoinedStr: STR}
Loop = dict[type[ast.stmt], list[dict[str, Type]]]
"""The types of names where a loop is left: by `break` and by `continue`."""


@functools.cache
def _methods(cls: type[Analysis], verb: str) -> dict[type, Callable[[Analysis, Any], Any]]:
    """Return the methods whose names begin with a verb, by the nodes they take."""
    # Those in lower case are the base classes of others.
    nodes = {f"{verb}_{name.lower()}": node for name, node in vars(ast).items() if name != name.lower()}
    return {nodes[name]: getattr(cls, name) for name in dir(cls) if name in nodes}


class Analysis:
    """One look at a program.

    Methods are named for the nodes they take: `follow_if` follows an `if`, and `look_at_call` is the rule for calls.
    """

    def __init__(self, facts: Facts, shapes: Shapes, outer_names: Collection[str], deadline: int) -> None:
        """Take the program's facts, the tools, and names from outside.

        `deadline` is in nanoseconds of the thread's time.
        """
        self.facts = facts
        self.shapes = shapes
        self.outer_names = outer_names
        self.containers = Containers(facts.keys_set)
        self.types: dict[ast.AST, Type] = {}
        self.mistakes: list[tuple[ast.AST, ProgramMistake]] = []
        self.calls: dict[ast.AST, list[tuple[object, Type]]] = {}
        self.stack: list[ast.AST] = []  # the functions that are followed
        self.guards: tuple[frozenset[str], ...] = ()
        self.module = self.frame = Frame(())
        self.loops: list[Loop] = []
        self._followers, self._rules = _methods(type(self), "follow"), _methods(type(self), "look_at")
        self._silent = 0
        self._forgotten: set[str] = set()  # expressions other than names, as text
        self._steps = self._timed_steps = 0
        self._deadline, self._suggesting_until = deadline, (deadline + thread_time_ns()) // 2
        self._used_by_functions: set[tuple[Frame, str]] = set()
        self.version = 0  # of what functions see of the names around them

    def run(self, body: Sequence[ast.stmt]) -> list[ProgramMistake]:
        """Return the mistakes of the program; none if it cannot be followed to its end.

        Raises TooLongError, and RecursionError for too much nesting.
        """
        if self.facts.makes_names:
            return []
        self.module = Frame(names_bound_in(body))
        for _ in range(_MAX_PASSES):
            self.containers.start()
            self.types.clear()
            self.calls.clear()
            self.mistakes.clear()
            self._used_by_functions.clear()
            self.frame = self.module
            self.frame.names.clear()
            self.execute(body)
            if not self.containers.is_stale:
                return [mistake for _, mistake in self.mistakes]
        return []

    @property
    def state(self) -> object:
        """What a call's mistakes and result depend on in addition to its arguments."""
        return self.guards, bool(self._silent), self.version

    # Following -------------------------------------------------------------------------------------------------------

    def of(self, node: ast.expr) -> Type:
        """Return the type of an expression, and look at it by the rules."""
        self.count_steps(1)
        follow = self._followers.get(type(node))
        value: Type = self.follow_other(node) if follow is None else follow(self, node)
        if (
            value.site is None
            and value.kind in {"list", "set", "dict"}
            and isinstance(node, (ast.Call, ast.BinOp, ast.Subscript))
        ):
            value = value._replace(site=node)
        if value.parts or value.keys or value.item is not None:
            value = limit_depth(value)
        if self._forgotten and ast.unparse(node) in self._forgotten:
            value = UNKNOWN
        self.types[node] = value
        self.apply_rules(node)
        return value

    def follow_other(self, node: ast.expr) -> Type:
        """Follow the parts of an expression, and return its type if it is the same whatever they are."""
        for child in children(node):
            if isinstance(child, ast.expr):
                self.of(child)
        return _PLAIN.get(type(node), UNKNOWN)

    def types_of(self, node: ast.AST) -> tuple[Type, ...]:
        """Return the types that a followed expression may have."""
        return members(self.types.get(node, UNKNOWN))

    def count_steps(self, number: int) -> None:
        """Count steps, and raise TooLongError when there are too many."""
        self._steps += number
        if self._steps > self._timed_steps:
            self._timed_steps = self._steps + _STEPS_UNTIMED
            if self._steps > _MAX_STEPS or thread_time_ns() > self._deadline:
                raise TooLongError

    def apply_rules(self, node: ast.AST) -> None:
        """Look for mistakes at a node whose parts have their types."""
        if self._silent or len(self.mistakes) >= MAX_MISTAKES:
            return
        look = self._rules.get(type(node))
        if look is not None:
            look(self, node)

    def constant(self, node: ast.expr) -> Type:
        """Return the type of an expression that is bound to a name; of a constant text or flag, with its value."""
        value = self.of(node)
        if isinstance(node, ast.Constant) and type(node.value) in {str, int, bool}:
            return value._replace(choices=(node.value,))
        return value

    @property
    def may_suggest(self) -> bool:
        """Whether there is time to look for a suggestion; for the first mistake, there always is."""
        has_time = len(self.mistakes) < _MAX_SUGGESTED and thread_time_ns() < self._suggesting_until
        return has_time or not self.mistakes

    def execute(self, body: Sequence[ast.AST]) -> bool:
        """Follow statements, and return whether the program may get past them."""
        for statement in body:
            self.count_steps(1)
            follow = self._followers.get(type(statement))
            if follow is not None and follow(self, statement) is False:
                return False
        return True

    def report(
        self,
        node: ast.expr | ast.stmt,
        rule: str,
        error: str,
        hint: str = "",
        *,
        suggestion: Suggestion | None = None,
        begin: str | None = None,
    ) -> None:
        """Add a mistake, unless the program handles it; a tool's own error is handled by any handler."""
        if any(node is other for other, _ in self.mistakes):
            return
        error_class = vars(builtins).get(error.partition(":")[0], Exception)
        handled = {name for names in self.guards for name in names}
        if handled and (
            rule == "tool-arguments" or handled & {*_ALL, *(cls.__name__ for cls in error_class.__mro__), ""}
        ):
            return
        self.mistakes.append((node, ProgramMistake(rule, node.lineno, error, hint, suggestion, begin)))

    @contextlib.contextmanager
    def silence(self, *, silent: bool) -> Generator[None]:
        """Report no mistakes meanwhile if `silent`."""
        self._silent += silent
        yield
        self._silent -= silent

    def fails_elsewhere(self, node: ast.expr) -> bool:
        """Return whether the errors of a coroutine or generator may be handled where its value is used."""
        return self.facts.handles and id(node) in self.facts.deferred

    def defaults(self, arguments: ast.arguments) -> dict[str, Type]:
        """Return the default values of a function that is defined, by parameter."""
        ordered = [*arguments.posonlyargs, *arguments.args]
        pairs = (
            *zip(reversed(ordered), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        )
        return {parameter.arg: self.constant(value) for parameter, value in pairs if value is not None}

    # Names -----------------------------------------------------------------------------------------------------------

    def bind(self, target: ast.expr, value: Type) -> None:
        """Bind the names of a target, and put values into containers."""
        if isinstance(target, ast.Name):
            self.types[target] = value
            self.bind_name(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.types[target] = value
            for element, item in zip(target.elts, self.unpack(target.elts, value), strict=True):
                self.bind(element, item)
            self.apply_rules(target)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value)
        elif isinstance(target, ast.Subscript):
            self._store(target, value)
        elif isinstance(target, ast.Attribute):
            for base in members(self.of(target.value)):
                if base.kind == "dict" and not base.keys:
                    self.containers.add_item(base, value)  # a tool's dict has its keys as attributes

    def unpack(self, targets: Sequence[ast.expr], value: Type) -> list[Type]:
        """Return the types of the names that a value is unpacked into."""
        starred = [isinstance(target, ast.Starred) for target in targets]
        if value.kind == "tuple" and len(value.parts) == len(targets) and not any(starred):
            return list(value.parts)
        item = self.item_of(value)
        if value.kind in {"record", "tuple"} or (value.kind == "union"):
            item = UNKNOWN  # a named tuple has its values, not its keys
        return [
            Type("list", item=item, site=target) if is_rest else item
            for target, is_rest in zip(targets, starred, strict=True)
        ]

    def bind_name(self, name: str, value: Type) -> None:
        """Bind a name in the frame in which a statement binds it here."""
        frame = self.frame_with(name) or self.frame
        frame.names[name] = value
        before = frame.history.get(name, NOTHING)
        if value is not before:
            after = join((before, value))
            if after != before:
                frame.history[name] = after
                if (frame, name) in self._used_by_functions:
                    self.version += 1
                    if frame is self.module:
                        self.containers.expire()

    def _store(self, target: ast.Subscript, value: Type) -> None:
        """Put a value into a container."""
        bases, index = members(self.of(target.value)), self.of(target.slice)
        key = target.slice.value if isinstance(target.slice, ast.Constant) else None
        for base in bases:
            has_keys = bool(base.keys) or base.kind == "record"
            if has_keys and isinstance(key, str):
                continue  # it is among the keys that are set
            if has_keys or not base.kind:
                self.containers.open(base)
            elif isinstance(target.slice, ast.Slice):
                self.containers.add_item(base, self.item_of(value))
            elif base.kind in {"list", "dict", "defaultdict", "Counter"}:
                self.containers.add_item(base, value)
                if base.key and index.kind != base.key:
                    self.containers.open(base)

    def lookup(self, name: str) -> Type:
        """Return the type of a name here and now."""
        frame = self.frame.binding(name)
        if frame is not None:
            is_shared = name in self.facts.shared_names
            if frame.owner is self.frame.owner and not is_shared:
                return frame.names.get(name, UNKNOWN)
            if frame.outer is None and (name in self.shapes or name in vars(builtins)):
                return UNKNOWN  # a function may run before the program binds the name
            if not is_shared:
                self._used_by_functions.add((frame, name))
            return frame.history.get(name, UNKNOWN)
        if name in self.shapes:
            return Type("tool", tool=name)
        if not self.is_built_in(name):
            return UNKNOWN
        return object_type(vars(sys.modules["builtins"]).get(name, ...))

    def is_built_in(self, name: str) -> bool:
        """Return whether a name certainly is a built-in one."""
        return name not in self.facts.bound and name not in self.outer_names

    def frame_with(self, name: str) -> Frame | None:
        """Return the frame of a name that the function which is followed may bind, or None."""
        is_shared = name in self.facts.shared_names
        for frame in self.frame.around():
            if not is_shared and frame.owner is not self.frame.owner:
                break
            declared = self.facts.declared.get(getattr(frame.owner, "node", None), frozenset[str]())
            if name in frame.bound and name not in declared:
                return frame
        return None

    def may_stay(self, before: Mapping[str, Type]) -> None:
        """Let each name keep the type that it had, where it is not certain that what followed has happened."""
        names = self.frame.names
        for name, value in before.items():
            if names[name] is not value:
                names[name] = join((value, names[name]))

    def forget(self, node: ast.AST) -> None:
        """Forget the type of what a program asks itself."""
        while isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
            node = node.value
        if not isinstance(node, ast.Name):
            self._forgotten.add(ast.unparse(node))
        elif (frame := self.frame_with(node.id)) is not None:
            frame.names[node.id] = UNKNOWN

    # Items -----------------------------------------------------------------------------------------------------------

    def item_of(self, value: Type) -> Type:
        """Return the type of the items of a value that can be iterated over."""
        if value.kind == "union" or (value.kind == "tuple" and value.parts):
            item = join(map(self.item_of, value.parts) if value.kind == "union" else value.parts)
        elif value.kind in {"list", "set", "view", "generator"}:
            item = self.containers.item_of(value)
        elif value.kind in {"dict", "defaultdict", "Counter"}:
            item = self.key_of(value)
        elif value.kind == "record" and value.keys and not self.containers.is_open(value):
            # It may be a named tuple, which gives its values; a dict gives its keys.
            item = join([Type("str", tool=value.tool, site=KEY_OF_RECORD), *self.containers.keys_of(value).values()])
        else:
            item = {"str": STR, "range": INT}.get(value.kind, UNKNOWN)
        return item

    def key_of(self, value: Type) -> Type:
        """Return the type of a dict's keys."""
        if self.containers.is_open(value):
            return UNKNOWN
        if value.keys:
            return STR
        if value.item is not None and value.item.kind == "nothing" and self.containers.item_of(value).kind == "nothing":
            return NOTHING
        return Type(value.key, tool=value.tool) if value.key in SCALARS else UNKNOWN
