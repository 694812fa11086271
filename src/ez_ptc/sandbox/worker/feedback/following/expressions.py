"""The types of a program's expressions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..types import BOOL, FALSE, FLOAT, INT, NONE, NOTHING, NUMBERS, STR, TRUE, UNKNOWN, Type, join, members, of_each
from .calls import CHANGING, FILLING, call
from .conditions import follow_condition, may_be, narrow, widen
from .environment import Frame
from .functions import Function
from .library import attribute_of_class, class_member, module_member
from .names import children, target_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from .analysis import Analysis
    from .conditions import Narrowed

__all__ = ["EXPRESSIONS", "operation_type"]

_CONSTANTS: dict[type, Type] = {
    str: STR,
    int: INT,
    float: FLOAT,
    type(None): NONE,
    bytes: Type("bytes"),
    complex: Type("complex"),
}
# The kinds of values whose methods may change values of which nothing is known.
_ANY = frozenset({"", "class"})
# The kinds of values that have no attributes but those of their class.
_WITHOUT_OTHERS = frozenset({"str", "int", "float", "bool", "NoneType", "list", "dict", "set", "tuple"})


def _constant(_run: Analysis, node: ast.Constant) -> Type:
    if isinstance(node.value, bool):
        return TRUE if node.value else FALSE
    return _CONSTANTS.get(type(node.value), UNKNOWN)


def _evaluated(result: Type) -> Callable[[Analysis, Any], Type]:
    """Return a function that follows the parts of an expression which has this type."""

    def follow(run: Analysis, node: ast.AST) -> Type:
        for part in children(node):
            if isinstance(part, ast.expr):
                run.of(part)
        return result

    return follow


def _named(run: Analysis, node: ast.NamedExpr) -> Type:
    value = run.of(node.value)
    run.bind(node.target, value)
    return value


def _awaited(run: Analysis, node: ast.Await) -> Type:
    value = run.of(node.value)
    if value.kind == "coroutine":
        return value.item or UNKNOWN
    return value  # a tool's, which can be awaited or not


def _list(run: Analysis, node: ast.List | ast.Set) -> Type:
    items = [run.item_of(run.of(item.value)) if isinstance(item, ast.Starred) else run.of(item) for item in node.elts]
    return Type("set" if isinstance(node, ast.Set) else "list", item=join(items), site=node)


def _tuple(run: Analysis, node: ast.Tuple) -> Type:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return Type("tuple", item=_list(run, ast.List(node.elts)).item)
    return Type("tuple", parts=tuple(map(run.of, node.elts)))


def _dict(run: Analysis, node: ast.Dict) -> Type:
    """Return the type of a dict; with keys that are all texts, it is known which."""
    keys: dict[str, Type] = {}
    values: list[Type] = []
    is_known = bool(node.keys)
    for key, expression in zip(node.keys, node.values, strict=True):
        value = run.of(expression)
        if key is None:
            is_known = is_known and bool(value.keys) and not run.containers.is_open(value)
            keys |= run.containers.keys_of(value) if is_known else {}
            values.append(UNKNOWN)
            continue
        run.of(key)
        values.append(value)
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            keys[key.value] = value
        else:
            is_known = False
    if is_known:
        return Type("dict", item=UNKNOWN, keys=keys, site=node)
    return Type("dict", item=join(values), site=node)


def _comprehension(run: Analysis, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Type:
    frame = Frame(
        {name for part in node.generators for name in target_names(part.target)}, run.frame, owner=run.frame.owner
    )
    run.frame, outer = frame, run.frame
    is_empty = False
    for part in node.generators:
        item = run.item_of(run.of(part.iter))
        is_empty = is_empty or item.kind == "nothing"
        if is_empty:
            break
        run.bind(part.target, item)
        for test in part.ifs:
            follow_condition(run, test)
            is_empty = is_empty or not may_be(run, test, truth=True)
    item = NOTHING
    if not is_empty and isinstance(node, ast.DictComp):
        run.of(node.key)
        item = run.of(node.value)
    elif not is_empty and not isinstance(node, ast.DictComp):
        with run.silence(silent=isinstance(node, ast.GeneratorExp) and run.fails_elsewhere(node)):
            item = run.of(node.elt)
    run.frame = outer
    if isinstance(node, ast.DictComp):
        return Type("dict", item=item, key=run.types[node.key].kind if item.kind != "nothing" else "", site=node)
    if isinstance(node, ast.GeneratorExp):
        return Type("generator", item=item, site=node)
    return Type("set" if isinstance(node, ast.SetComp) else "list", item=item, site=node)


def _lambda(run: Analysis, node: ast.Lambda) -> Type:
    run.defaults(node.args)
    return Type("function", value=Function(node, run.frame))


def _subscript(run: Analysis, node: ast.Subscript) -> Type:
    base, index = run.of(node.value), run.of(node.slice)
    if isinstance(node.ctx, ast.Load):
        return of_each(base, lambda member: _item(run, member, node.slice, index))
    return UNKNOWN


def _item(run: Analysis, base: Type, index: ast.expr, index_type: Type) -> Type:
    key = index.value if isinstance(index, ast.Constant) else None
    item = UNKNOWN
    if isinstance(index, ast.Slice):
        if base.kind in {"list", "str"}:
            item = STR if base.kind == "str" else Type("list", item=run.containers.item_of(base))
    elif base.kind == "tuple":
        item = run.item_of(base)
        if isinstance(key, int) and -len(base.parts) <= key < len(base.parts):
            item = base.parts[key]
    elif base.keys or base.kind == "record":
        if isinstance(key, str):
            item = run.containers.value_of(base, key) or UNKNOWN
    elif base.kind == "str" and index_type.kind == "int":
        item = STR
    elif (base.kind == "list" and index_type.kind != "str") or base.kind in {"dict", "defaultdict", "Counter"}:
        item = run.containers.item_of(base)
    return UNKNOWN if item.kind == "nothing" else item


def _attribute(run: Analysis, node: ast.Attribute) -> Type:
    base = run.of(node.value)
    if node.attr == "__class__":
        run.forget(node.value)
    if not isinstance(node.ctx, ast.Load):
        return UNKNOWN
    if any(member.kind in _ANY for member in members(base)):
        if node.attr in FILLING:
            run.containers.fill_unknown()
        elif node.attr in CHANGING:
            run.containers.open(UNKNOWN)
    elif id(node) not in run.facts.called and node.attr in FILLING | CHANGING:
        run.containers.open(base)  # a method that is called elsewhere
    member = of_each(base, lambda member: _member(run, member, node.attr))
    return UNKNOWN if member.kind == "nothing" else member


def _member(run: Analysis, base: Type, name: str) -> Type:
    if base.kind == "record" and not hasattr(dict, name):
        return run.containers.value_of(base, name) or UNKNOWN
    if base.kind == "dict" and base.tool and not hasattr(dict, name):
        return run.containers.item_of(base)
    if base.kind == "module":
        return module_member(base.value, name) or UNKNOWN  # pyright: ignore[reportArgumentType] - the kind says so
    if base.kind == "class" and isinstance(base.value, type):
        return class_member(base.value, name) or UNKNOWN
    found = attribute_of_class(base.kind, name)
    if found is None and base.kind in _WITHOUT_OTHERS:
        found = NOTHING
    elif found is not None and found.kind == "method":
        found = Type("method", value=name, parts=(base,))
    return found or UNKNOWN


def operation_type(left: Type, right: Type, sign: ast.operator, run: Analysis) -> Type:
    """Return the type of an arithmetic operation."""
    return of_each(left, lambda one: of_each(right, lambda other: _operate(run, one, other, sign)))


def _operate(run: Analysis, left: Type, right: Type, sign: ast.operator) -> Type:
    kinds = {left.kind, right.kind}
    result = UNKNOWN
    if left.kind == "str" and (isinstance(sign, (ast.Mod, ast.Mult)) or right.kind == "str"):
        result = STR
    elif kinds <= NUMBERS and isinstance(sign, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div)):
        result = FLOAT if "float" in kinds or isinstance(sign, ast.Div) else INT
    elif (kinds == {"list"} and isinstance(sign, ast.Add)) or kinds == {"set"}:
        result = Type(left.kind, item=join(map(run.item_of, (left, right))))
    elif left.kind == "list" and isinstance(sign, ast.Mult):
        result = Type("list", item=run.item_of(left))
    elif left.kind in {"datetime", "date"}:
        if right.kind == "timedelta":
            result = left
        elif left.kind == right.kind and isinstance(sign, ast.Sub):
            result = Type("timedelta")
    return result


def _negation(run: Analysis, node: ast.UnaryOp) -> Type:
    if isinstance(node.op, ast.Not):
        follow_condition(run, node.operand)
        return BOOL
    operand = run.of(node.operand)
    return operand if operand.kind in {"int", "float", "timedelta"} else UNKNOWN


def _choice(run: Analysis, node: ast.BoolOp) -> Type:
    """Return the type of `and` and `or`: each operand is evaluated only if those before it let it."""
    is_and = isinstance(node.op, ast.And)
    narrowed: list[Narrowed] = []
    types: list[Type] = []
    before = dict(run.frame.names)
    for operand in node.values[:-1]:
        follow_condition(run, operand)
        types.append(run.types[operand])
        if not may_be(run, operand, truth=is_and):
            widen(narrowed)
            run.may_stay(before)
            return join(types)
        narrowed += narrow(run, operand, truth=is_and)
    types.append(run.of(node.values[-1]))
    widen(narrowed)
    run.may_stay(before)
    # The value of an operand that is passed over is false in `or`, and so not None's opposite.
    kept = [member for value in types[:-1] for member in members(value) if is_and or member.kind != "NoneType"]
    return join([*kept, types[-1]])


def _conditional(run: Analysis, node: ast.IfExp) -> Type:
    follow_condition(run, node.test)
    types: list[Type] = []
    for truth, expression in ((True, node.body), (False, node.orelse)):
        if may_be(run, node.test, truth=truth):
            before = dict(run.frame.names)
            narrowed = narrow(run, node.test, truth=truth)
            types.append(run.of(expression))
            widen(narrowed)
            run.may_stay(before)
    return join(types)


def _yielded(run: Analysis, node: ast.Yield | ast.YieldFrom) -> Type:
    if node.value is not None:
        run.containers.leak(run.of(node.value))
    return UNKNOWN


EXPRESSIONS: dict[type, Callable[[Analysis, Any], Type]] = {
    ast.Attribute: _attribute,
    ast.Await: _awaited,
    ast.BinOp: lambda run, node: operation_type(run.of(node.left), run.of(node.right), node.op, run),
    ast.BoolOp: _choice,
    ast.Call: call,
    ast.Compare: _evaluated(BOOL),
    ast.Constant: _constant,
    ast.Dict: _dict,
    ast.DictComp: _comprehension,
    ast.FormattedValue: _evaluated(STR),
    ast.GeneratorExp: _comprehension,
    ast.IfExp: _conditional,
    ast.JoinedStr: _evaluated(STR),
    ast.Lambda: _lambda,
    ast.List: _list,
    ast.ListComp: _comprehension,
    ast.Name: lambda run, node: run.lookup(node.id),
    ast.NamedExpr: _named,
    ast.Set: _list,
    ast.SetComp: _comprehension,
    ast.Slice: _evaluated(UNKNOWN),
    ast.Starred: _evaluated(UNKNOWN),
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _negation,
    ast.Yield: _yielded,
    ast.YieldFrom: _yielded,
}
