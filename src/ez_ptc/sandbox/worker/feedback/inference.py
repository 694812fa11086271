"""Inferring the types of a program's expressions from the types of tools, as far as is certain."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .signatures import SCALARS, UNKNOWN, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .signatures import Shapes

__all__ = ["Changed", "Scope", "bound_names", "children", "every", "find_changes"]

_SAME = frozenset({"sorted", "list", "reversed", "tuple", "iter"})
_SETS = frozenset({"set", "frozenset"})
_ROWS = frozenset({"list", "set"})
_ONE = frozenset({"max", "min", "next"})
# Methods that change the items of a list or dict; the items of a set are never known.
_CHANGING = frozenset({"append", "extend", "insert", "setdefault", "update"})
_ROUNDS = 3
_PAIR = 2

# Nodes that bind their `name`; the type parameters exist from Python 3.12 on.
_NAMED: tuple[type | None, ...] = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
    *(getattr(ast, name, None) for name in ("TypeVar", "TypeVarTuple", "ParamSpec")),
)
_BINDERS: dict[type | None, Callable[[Any], Sequence[str | None]]] = {
    **dict.fromkeys(_NAMED, lambda node: [node.name]),
    ast.MatchMapping: lambda node: [node.rest],
    ast.arg: lambda node: [node.arg],
    ast.alias: lambda node: [(node.asname or node.name).partition(".")[0]],
    ast.Global: lambda node: node.names,
    ast.Nonlocal: lambda node: node.names,
}
_NO_NODES = frozenset({"attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "op", "ops", "simple"})
_fields: dict[type[ast.AST], list[str]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """Return the child nodes without operators and contexts, in half the time of `ast.iter_child_nodes`."""
    node_type = type(node)
    names = _fields.get(node_type)
    if names is None:
        names = _fields[node_type] = [name for name in node_type._fields if name not in _NO_NODES]
    nodes: list[ast.AST] = []
    for name in names:
        value: object = getattr(node, name, None)
        if isinstance(value, ast.AST):
            nodes.append(value)
        elif isinstance(value, list):
            nodes += [item for item in cast("list[object]", value) if isinstance(item, ast.AST)]
    return nodes


def every(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes in it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending += children(node)


def bound_names(node: ast.AST) -> Iterable[str]:
    """Return the names that a node binds other than by assignment."""
    bind = _BINDERS.get(type(node))
    if bind is None:
        return ()
    return [name for name in bind(node) if name]


@dataclass(frozen=True, slots=True)
class Changed:
    """Names whose values a program changes: by unknown keys, in their items, or inside a function."""

    computed: frozenset[str] = frozenset()
    items: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()

    def has(self, name: str, value_type: Type) -> bool:
        """Return whether a name of this type may hold another value than the one bound."""
        if name in self.elsewhere or value_type.kind == "set":
            return name in self.elsewhere
        return name in (self.computed if value_type.kind == "record" else self.items)


NOTHING_CHANGED = Changed()


def find_changes(nodes: Iterable[ast.AST]) -> Changed:
    """Return the changes anywhere in a program."""
    computed, items, elsewhere, keys = set[str](), set[str](), set[str](), set[str]()
    for node in nodes:
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            items |= (names := _roots(node.value))
            keys |= _keys(node)
            if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
                computed |= names
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            keys |= _keys(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            items |= _roots(node.func.value)
            keys |= _keys(node.func.value)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            elsewhere |= {*node.names}
    return Changed(frozenset(computed), frozenset(items), frozenset(elsewhere), frozenset(keys))


def _keys(node: ast.expr) -> set[str]:
    """Return the keys in a chain of keys and items, whose values become unknown."""
    keys = set[str]()
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Attribute):
            keys.add(node.attr)
        elif isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            keys.add(node.slice.value)
        node = node.value
    return keys


def _roots(node: ast.expr) -> set[str]:
    """Return the first name of a chain of keys and items."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


class Scope:
    """The names of a function or the module with their types, those of comprehensions and lambdas included."""

    def __init__(
        self, shapes: Shapes, outer: Scope | None = None, *, changes: Changed = NOTHING_CHANGED, of_class: bool = False
    ) -> None:
        """Start without names. The names of a class are unknown in its methods, and changed values have no type."""
        self._shapes = shapes
        self.of_class = of_class
        self.outer: Scope | None = outer.outer if outer is not None and outer.of_class else outer
        self.changes: Changed = changes if outer is None else outer.changes
        self._types: dict[str, Type] = {}
        self._settled: dict[str, Type] = {}
        self._passed: dict[object, Type] = {}

    def read(self, body: Iterable[ast.AST]) -> None:
        """Find the types of the names bound in statements; a name bound to different types has none."""
        nodes: list[ast.AST] = []
        for statement in body:
            _add_nodes(statement, nodes)
        nodes = [node for node in nodes if type(node) in _BINDING]
        for _ in range(_ROUNDS):
            self._types = {}
            for node in nodes:
                bind = _STATEMENTS.get(type(node))
                if bind is not None:
                    bind(self, node)
                for name in bound_names(node):
                    self._add(name, self._passed.get(node, UNKNOWN))
            if self._types == self._settled:
                break
            self._settled = self._types

    def knows(self, name: str) -> bool:
        """Return whether a name is bound here or outside."""
        return name in self._settled or (self.outer is not None and self.outer.knows(name))

    def holding(self, key: str) -> str | None:
        """Return the name of a record with a key, or None."""
        for name, value_type in self._settled.items():
            if value_type.kind == "record" and key in value_type.keys:
                return name
        return None if self.outer is None else self.outer.holding(key)

    def of(self, node: ast.expr) -> Type:
        """Return the type of an expression."""
        find = _EXPRESSIONS.get(type(node))
        if find is None:
            return UNKNOWN
        return find(self, node)

    def item_of(self, node: ast.expr) -> Type:
        """Return the type of the items of an iterable expression."""
        container = self.of(node)
        if container.kind in _ROWS:
            return container.item or UNKNOWN
        if container.kind == "dict" and container.key:
            return Type(container.key, tool=container.tool)
        if container.kind == "record":
            return Type("str", tool=container.tool)
        return UNKNOWN

    # What statements bind ---------------------------------------------------------------------------------------------

    def assign(self, node: ast.Assign) -> None:
        """Bind the names of an assignment."""
        for target in node.targets:
            self._bind(target, self.of(node.value))

    def assign_one(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        """Bind the only name of an assignment."""
        self._bind(node.target, UNKNOWN if node.value is None else self.of(node.value))

    def change(self, node: ast.AugAssign) -> None:
        """Forget the type of a value that is added to."""
        self._bind(node.target, UNKNOWN)

    def delete(self, node: ast.Delete) -> None:
        """Forget the type of a value with a deleted part."""
        for target in node.targets:
            self._bind(target, UNKNOWN)

    def loop(self, node: ast.For | ast.AsyncFor | ast.comprehension) -> None:
        """Bind the names of a loop."""
        target, over = node.target, node.iter
        if isinstance(target, ast.Tuple) and len(target.elts) == _PAIR and isinstance(over, ast.Call):
            for element, value_type in zip(target.elts, self._pair(over), strict=True):
                self._bind(element, value_type)
        else:
            self._bind(target, self.item_of(over))

    def _pair(self, node: ast.Call) -> tuple[Type, Type]:
        """Return the types of the two names of a loop over `found.items()` or `enumerate(rows)`."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "items" and not node.args:
            container = self.of(node.func.value)
            if container.kind == "dict":
                return self.item_of(node.func.value), container.item or UNKNOWN
        is_numbered = isinstance(node.func, ast.Name) and node.func.id == "enumerate" and not self.knows("enumerate")
        if is_numbered and node.args:
            return Type("int"), self.item_of(node.args[0])
        return UNKNOWN, UNKNOWN

    def enter(self, node: ast.With | ast.AsyncWith) -> None:
        """Bind the name of a context manager's value."""
        for item in node.items:
            if item.optional_vars is not None:
                self._bind(item.optional_vars, UNKNOWN)

    def pass_on(self, node: ast.Call) -> None:
        """Bind the parameter of a function applied to a list's items: `max(rows, key=lambda row: …)`."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in {"sorted", "max", "min"} and len(node.args) == 1:
            over, functions = node.args[0], [keyword.value for keyword in node.keywords if keyword.arg == "key"]
        elif name in {"filter", "map"} and len(node.args) == _PAIR:
            over, functions = node.args[1], node.args[:1]
        else:
            return
        for function in functions:
            if isinstance(function, ast.Lambda) and len(function.args.args) == 1:
                self._passed[function.args.args[0]] = self.item_of(over)

    def _bind(self, target: ast.expr, value: Type) -> None:
        if isinstance(target, ast.Name):
            self._add(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._bind(element, UNKNOWN)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, UNKNOWN)

    def _add(self, name: str, value: Type) -> None:
        if self.changes.has(name, value) or self._types.get(name, value) != value:
            value = UNKNOWN
        self._types[name] = value

    # What expressions are ---------------------------------------------------------------------------------------------

    def name(self, node: ast.Name) -> Type:
        """Return the type of a name."""
        value_type = self._settled.get(node.id) or self._types.get(node.id)
        if value_type is None and self.outer is not None:
            return self.outer.name(node)
        return value_type or UNKNOWN

    def subscript(self, node: ast.Subscript) -> Type:
        """Return the type of an item, a slice or a key's value."""
        base = self.of(node.value)
        if base.kind == "record" and isinstance(node.slice, ast.Constant):
            return self._value(base, str(node.slice.value))
        if base.kind in _ROWS and isinstance(node.slice, ast.Slice):
            return base
        if base.kind in _ROWS and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return UNKNOWN
        return base.item or UNKNOWN

    def attribute(self, node: ast.Attribute) -> Type:
        """Return the type of a record's attribute."""
        return self._value(self.of(node.value), node.attr)

    def _value(self, record: Type, key: str) -> Type:
        return UNKNOWN if key in self.changes.keys else record.keys.get(key, UNKNOWN)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Type:
        """Return the type of a comprehension."""
        return Type("set" if isinstance(node, ast.SetComp) else "list", item=self.of(node.elt))

    def infer_list(self, node: ast.List | ast.Set) -> Type:
        """Return the type of a list, with the items' type if they have only one."""
        types = [self.of(element) for element in node.elts]
        item = types[0] if types and types.count(types[0]) == len(types) else UNKNOWN
        return Type("set" if isinstance(node, ast.Set) else "list", item=item)

    def constant(self, node: ast.Constant) -> Type:
        """Return the type of a constant."""
        name = type(node.value).__name__
        return Type(name) if name in SCALARS else UNKNOWN

    def infer_call(self, node: ast.Call) -> Type:
        """Return the return type of a tool, or of a built-in function that keeps its argument's type."""
        if isinstance(node.func, ast.Attribute):
            return self._infer_dict_view(node.func)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if not name or self.knows(name):
            return UNKNOWN
        if name in self._shapes:
            return self._shapes[name].returns
        if name == "parallel":
            return self._infer_parallel(node)
        return self._infer_builtin_call(name, node.args)

    def _infer_builtin_call(self, name: str, args: Sequence[ast.expr]) -> Type:
        if name == "filter" and len(args) == _PAIR:
            return Type("list", item=self.item_of(args[1]))
        if name in _SETS:
            return Type("set", item=self.item_of(args[0]) if args else UNKNOWN)
        if name in _SAME and args:
            return Type("list", item=self.item_of(args[0]))
        if name in _ONE and len(args) == 1:
            return self.item_of(args[0])
        return UNKNOWN

    def _infer_dict_view(self, node: ast.Attribute) -> Type:
        """Return the type of a dict's keys or values."""
        container = self.of(node.value)
        if container.kind != "dict" or node.attr not in {"keys", "values"}:
            return UNKNOWN
        return Type("list", item=self.item_of(node.value) if node.attr == "keys" else container.item)

    def _infer_parallel(self, node: ast.Call) -> Type:
        """Return the type of `parallel(*[(tool, x) for x in xs])`."""
        rows = node.args[0] if len(node.args) == 1 else None
        if isinstance(rows, ast.Starred):
            rows = rows.value
        if isinstance(rows, (ast.ListComp, ast.GeneratorExp)) and isinstance(rows.elt, ast.Tuple) and rows.elt.elts:
            tool = rows.elt.elts[0]
            if isinstance(tool, ast.Name) and tool.id in self._shapes and not self.knows(tool.id):
                return Type("list", item=self._shapes[tool.id].returns)
        return UNKNOWN


_STATEMENTS: dict[type, Callable[[Scope, Any], None]] = {
    ast.Assign: Scope.assign,
    ast.AnnAssign: Scope.assign_one,
    ast.NamedExpr: Scope.assign_one,
    ast.AugAssign: Scope.change,
    ast.Delete: Scope.delete,
    ast.For: Scope.loop,
    ast.AsyncFor: Scope.loop,
    ast.comprehension: Scope.loop,
    ast.With: Scope.enter,
    ast.AsyncWith: Scope.enter,
    ast.Call: Scope.pass_on,
}
_EXPRESSIONS: dict[type, Callable[[Scope, Any], Type]] = {
    ast.Name: Scope.name,
    ast.Await: lambda scope, node: scope.of(node.value),
    ast.Call: Scope.infer_call,
    ast.Subscript: Scope.subscript,
    ast.Attribute: Scope.attribute,
    ast.ListComp: Scope.comprehension,
    ast.GeneratorExp: Scope.comprehension,
    ast.SetComp: Scope.comprehension,
    ast.DictComp: lambda scope, node: Type("dict", item=scope.of(node.value)),
    ast.Dict: lambda _scope, _node: Type("dict"),
    ast.List: Scope.infer_list,
    ast.Set: Scope.infer_list,
    ast.Constant: Scope.constant,
    ast.JoinedStr: lambda _scope, _node: Type("str"),
}
_BINDING = frozenset({*_STATEMENTS, *_BINDERS})


def _add_nodes(node: ast.AST, nodes: list[ast.AST]) -> None:
    """Add a statement and its nodes, without those in functions and classes it defines.

    Assigned values come before the assignment, so that their types are known.
    """
    is_assignment = isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr))
    if not is_assignment:
        nodes.append(node)
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        for child in children(node):
            _add_nodes(child, nodes)
    if is_assignment:
        nodes.append(node)
