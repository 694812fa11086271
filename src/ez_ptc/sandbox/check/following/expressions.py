"""The types of a program's expressions."""

from __future__ import annotations

import ast

from ...protocol.both_ends.types import (
    BOOL,
    FALSE,
    FLOAT,
    INT,
    NONE,
    NOTHING,
    NUMBERS,
    SCALARS,
    STR,
    TRUE,
    UNKNOWN,
    Type,
    join,
    members,
    of_each,
    try_on,
)
from .analysis import Analysis
from .calls import CHANGING, type_of_call
from .conditions import follow_condition, may_be
from .environment import Frame
from .functions import ProgramFunction
from .names import target_names
from .standard_types import OPERATORS, attribute_of, class_member, module_member

__all__ = ["Expressions"]

_CONSTANTS: dict[type, Type] = {
    str: STR,
    int: INT,
    float: FLOAT,
    type(None): NONE,
    bytes: Type("bytes"),
    complex: Type("complex"),
}
_COMPREHENSIONS = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict", ast.GeneratorExp: "generator"}
_DICTS = frozenset({"dict", "defaultdict", "Counter"})
# The kinds of values whose methods may change values of which nothing is known.
_ANY = frozenset({"", "class"})
_RESULTS = SCALARS | {"Decimal", "date", "datetime", "timedelta"}
# The kinds of values that have no attributes but those of their class.
_WITHOUT_OTHERS = frozenset({"str", "int", "float", "bool", "NoneType", "list", "dict", "set", "tuple"})


class Expressions(Analysis):
    """Each method returns the type of one kind of expression."""

    def follow_constant(self, node: ast.Constant) -> Type:
        """Return the type of a literal."""
        if isinstance(node.value, bool):
            return TRUE if node.value else FALSE
        return _CONSTANTS.get(type(node.value), UNKNOWN)

    def follow_name(self, node: ast.Name) -> Type:
        """Look the name up."""
        return self.lookup(node.id)

    def follow_namedexpr(self, node: ast.NamedExpr) -> Type:
        """Bind the name."""
        value = self.of(node.value)
        self.bind(node.target, value)
        return value

    def follow_await(self, node: ast.Await) -> Type:
        """Return the result of a coroutine; a tool's result can be awaited or not."""
        value = self.of(node.value)
        return (value.item or UNKNOWN) if value.kind == "coroutine" else value

    def follow_list(self, node: ast.List | ast.Set | ast.Tuple) -> Type:
        """Return a list with the types of its items."""
        items = [
            self.item_of(self.of(item.value)) if isinstance(item, ast.Starred) else self.of(item) for item in node.elts
        ]
        return Type(type(node).__name__.lower(), item=join(items), site=node)

    follow_set = follow_list

    def follow_tuple(self, node: ast.Tuple) -> Type:
        """Return a tuple; without stars, with the type of each item."""
        if any(isinstance(item, ast.Starred) for item in node.elts):
            return self.follow_list(node)._replace(site=None)
        return Type("tuple", parts=tuple(map(self.of, node.elts)))

    def follow_dict(self, node: ast.Dict) -> Type:
        """Return a dict, with its keys if all of them are texts."""
        keys: dict[str, Type] = {}
        values: list[Type] = []
        is_known = bool(node.keys)
        for key, expression in zip(node.keys, node.values, strict=True):
            value = self.of(expression)
            if key is None:
                is_closed = not (value.is_open or self.containers.is_open(value))
                is_known = is_known and bool(value.keys) and is_closed
                keys |= self.containers.keys_of(value) if is_known else {}
                values.append(UNKNOWN)
                continue
            self.of(key)
            values.append(value)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                keys[key.value] = value
            else:
                is_known = False
        if is_known:
            return Type("dict", item=UNKNOWN, keys=keys, site=node)
        return Type("dict", item=join(values), site=node)

    def follow_listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Type:
        """Return the result of a comprehension over the items its conditions may admit."""
        names = {name for clause in node.generators for name in target_names(clause.target)}
        self.frame, outer = Frame(names, self.frame, owner=self.frame.owner), self.frame
        item, key, is_empty = NOTHING, "", False
        for clause in node.generators:
            value = self.item_of(self.of(clause.iter))
            is_empty = is_empty or value.kind == "nothing"
            if is_empty:
                break
            self.bind(clause.target, value)
            for test in clause.ifs:
                follow_condition(self, test)
                is_empty = is_empty or not may_be(self, test, truth=True)
        if not is_empty and isinstance(node, ast.DictComp):
            key, item = self.of(node.key).kind, self.of(node.value)
        elif not is_empty and not isinstance(node, ast.DictComp):
            with self.silence(silent=isinstance(node, ast.GeneratorExp) and self.fails_elsewhere(node)):
                item = self.of(node.elt)
        self.frame = outer
        return Type(_COMPREHENSIONS[type(node)], item=item, key=key if item.kind != "nothing" else "", site=node)

    follow_setcomp = follow_generatorexp = follow_dictcomp = follow_listcomp

    def follow_lambda(self, node: ast.Lambda) -> Type:
        """Return the function."""
        return Type("function", value=ProgramFunction(node, self.frame, self.defaults(node.args)))

    def follow_subscript(self, node: ast.Subscript) -> Type:
        """Return an item, or a part of a text or list."""
        base, index = self.of(node.value), self.of(node.slice)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        containers = self.containers

        def item_of(member: Type) -> Type:
            item = UNKNOWN
            if isinstance(node.slice, ast.Slice):
                if member.kind in {"list", "str"}:
                    item = STR if member.kind == "str" else Type("list", item=containers.item_of(member))
            elif member.kind == "tuple":
                item = self.item_of(member)
                if isinstance(key, int) and -len(member.parts) <= key < len(member.parts):
                    item = member.parts[key]
            elif member.keys or member.kind == "record":
                if isinstance(key, str):
                    item = containers.value_of(member, key) or UNKNOWN
            elif member.kind == "str" and index.kind == "int":
                item = STR
            elif (member.kind == "list" and index.kind != "str") or member.kind in _DICTS:
                item = containers.item_of(member)
            return UNKNOWN if item.kind == "nothing" else item

        return of_each(base, item_of)

    def follow_attribute(self, node: ast.Attribute) -> Type:
        """Return an attribute; a method may change its owner."""
        base = self.of(node.value)
        if node.attr == "__class__":
            self.forget(node.value)
        if node.attr in CHANGING and any(member.kind in _ANY for member in members(base)):
            self.containers.open(UNKNOWN)
        elif node.attr in CHANGING and id(node) not in self.facts.called:
            self.containers.open(base)  # a method that is called elsewhere
        member = of_each(base, lambda member: self._member(member, node.attr))
        return UNKNOWN if member.kind == "nothing" else member

    def _member(self, base: Type, name: str) -> Type:
        result = attribute_of(base, name)
        if base.kind == "record" and not hasattr(dict, name):
            result = self.containers.value_of(base, name)
        elif base.kind == "dict" and base.tool and not hasattr(dict, name):
            result = self.containers.item_of(base)
        elif base.kind == "module":
            result = module_member(base.value, name)  # pyright: ignore[reportArgumentType] - the kind says so
        elif base.kind == "class" and isinstance(base.value, type):
            result = class_member(base.value, name)
        elif result is None and base.kind in _WITHOUT_OTHERS:
            result = NOTHING
        elif result is not None and result.kind == "method":
            result = Type("method", value=name, parts=(base,))
        return result or UNKNOWN

    def follow_call(self, node: ast.Call) -> Type:
        """Return the result of a call."""
        return type_of_call(self, node)

    def follow_binop(self, node: ast.BinOp) -> Type:
        """Return the result of arithmetic."""
        return self.operate(self.of(node.left), self.of(node.right), node.op)

    def operate(self, left: Type, right: Type, sign: ast.operator) -> Type:
        """Return the type of an arithmetic operation."""
        if "union" in {left.kind, right.kind}:
            return join(self.operate(one, other, sign) for one in members(left) for other in members(right))
        if type(sign) not in OPERATORS or isinstance(sign, ast.Pow):
            return UNKNOWN  # the result depends on the exponent
        result, _ = try_on(OPERATORS[type(sign)], left, right)
        if result.kind in {"list", "set"}:
            return Type(
                result.kind, item=join(self.item_of(side) for side in (left, right) if side.kind not in NUMBERS)
            )
        if result.kind == "float" and not isinstance(sign, ast.Div):
            return result._replace(tool=left.tool or right.tool)  # a tool's float may be a whole number
        return result if result.kind in _RESULTS else UNKNOWN

    def follow_unaryop(self, node: ast.UnaryOp) -> Type:
        """Return the type of a negation."""
        if isinstance(node.op, ast.Not):
            follow_condition(self, node.operand)
            return BOOL
        operand = self.of(node.operand)
        return operand if operand.kind in {"int", "float", "timedelta"} else UNKNOWN

    def follow_boolop(self, node: ast.BoolOp) -> Type:
        """Return the type of `and` and `or`: each operand is evaluated only if those before it let it."""
        is_and = isinstance(node.op, ast.And)
        types: list[Type] = []
        before = dict(self.frame.names)
        for operand in node.values[:-1]:
            follow_condition(self, operand)
            value = self.types[operand]
            # An operand that `or` passes over is false; one that is the result is not None.
            types += [member for member in members(value) if is_and or member.kind != "NoneType"]
            if not may_be(self, operand, truth=is_and):
                break
        else:
            types.append(self.of(node.values[-1]))
        self.may_stay(before)
        return join(types)

    def follow_ifexp(self, node: ast.IfExp) -> Type:
        """Return the types on the ways its condition leaves."""
        follow_condition(self, node.test)
        types: list[Type] = []
        for truth, expression in ((True, node.body), (False, node.orelse)):
            if may_be(self, node.test, truth=truth):
                before = dict(self.frame.names)
                types.append(self.of(expression))
                self.may_stay(before)
        return join(types)

    def follow_yield(self, node: ast.Yield | ast.YieldFrom) -> Type:
        """Follow the value; what is sent back is not known."""
        if node.value is not None:
            self.of(node.value)
        return UNKNOWN

    follow_yieldfrom = follow_yield
