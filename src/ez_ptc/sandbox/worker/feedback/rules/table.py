"""The rules: each looks at one kind of expression whose types are known, and reports what must fail there.

A rule reports only what fails for every type that a value may have. Its name is the `rule` of its mistakes.
"""

from __future__ import annotations

import ast
import collections
import sys
from typing import TYPE_CHECKING, Any

from ...quoting import on_one_line, quoted
from ..following.functions import Function, arity_problem
from ..following.library import attribute_of_class, class_member, module_member
from ..mistakes import replacing
from ..types import CLASSES, NUMBERS, SCALARS, UNKNOWN, Type, members
from .keys import look_at_missing_key
from .tool_arguments import is_spread, look_at_tool_call
from .undefined_names import look_at_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..following.analysis import Analysis

__all__ = ["RULES"]

_MAX_TEXT = 100
_TIMES = frozenset({"datetime", "date", "time", "timedelta"})
_NO_ITEMS = NUMBERS | _TIMES | {"NoneType", "function", "method", "tool", "module", "Decimal", "complex"}
_NO_INDEX = (
    NUMBERS
    | _TIMES
    | {"NoneType", "set", "function", "method", "tool", "module", "Decimal", "view", "generator", "complex"}
)
_NOT_CALLED = (frozenset(CLASSES) | {"view", "generator", "defaultdict", "counter"}) - {"function", "method"}
_INDEXED = frozenset({"list", "str", "tuple", "range", "bytes"})
_OPERANDS = NUMBERS | _TIMES | {"str", "list", "dict", "record", "NoneType", "set", "tuple"}
_ORDERED = NUMBERS | {"str", "list", "NoneType", "dict", "record", "tuple"}
# Kinds of which one may be the other.
_ALIKE = ({"record", "tuple"}, {"record", "list"}, {"record", "number"}, {"list", "tuple"})
# The built-in functions that need something to iterate over.
_ITERATING = frozenset(
    {"all", "any", "enumerate", "filter", "list", "map", "max", "min", "set", "sorted", "sum", "tuple", "zip"}
)
_NO_NUMBERS = frozenset({"list", "dict", "record", "set", "tuple", "NoneType"})
_CONVERTING = {**dict.fromkeys(("int", "float"), _NO_NUMBERS), **dict.fromkeys(("abs", "round"), _NO_NUMBERS | {"str"})}
# What a tool's list may be.
_ROWS = (list, tuple, collections.deque)


def _types(run: Analysis, node: ast.expr) -> tuple[Type, ...]:
    return members(run.types.get(node, UNKNOWN))


def _all_of(types: Sequence[Type], kinds: frozenset[str]) -> bool:
    return all(member.kind in kinds for member in types)


def _origin_hint(run: Analysis, value: Type) -> str:
    """Return what to do with a list, or with a text or number that a tool's result gave; "" for another value."""
    if value.kind == "list":
        owner = f"{value.tool}() returns" if value.tool else "this is"
        return f"{owner} a list: loop over it, or take one item of it"
    if _is_result(run, value):
        return f"{value.tool}() returns {value.kind}: take it as it is"
    if value.kind in SCALARS and value.tool in run.shapes and run.shapes[value.tool].returns.kind == "dict":
        return f"{value.tool}() returns a dict: what you go over are its keys, use .items(), or do not loop"
    return ""


def _is_result(run: Analysis, value: Type) -> bool:
    """Return whether a text or number is all that a tool returned."""
    return value.kind in SCALARS and value.tool in run.shapes and run.shapes[value.tool].returns.kind == value.kind


def _look_at_import(run: Analysis, node: ast.Import | ast.ImportFrom, rule: str) -> None:
    """Imports of tools, which are in scope already, from modules that do not exist."""
    names = [alias.name for alias in node.names]
    module = names[0]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
    module = module.partition(".")[0]
    tools = [name for name in names if name in run.shapes]
    if not tools or module in sys.modules or module in sys.stdlib_module_names:
        return
    suggestion = None
    if tools == names and all(alias.asname in {None, alias.name} for alias in node.names):
        suggestion = replacing(node, "pass", is_forced=True)
    hint = f"{' and '.join(tools)} can be called without an import"
    run.report(node, rule, f"ModuleNotFoundError: No module named {module!r}", hint, suggestion=suggestion)


def _look_at_imported_name(run: Analysis, node: ast.ImportFrom, rule: str) -> None:
    """Names that a module does not have."""
    module = None if node.level else sys.modules.get(node.module or "")
    for alias in node.names:
        if module is not None and alias.name != "*" and module_member(module, alias.name) is None:
            error = f"ImportError: cannot import name {quoted(alias.name)} from {quoted(module.__name__)}"
            run.report(node, rule, error)


def _look_at_attribute(run: Analysis, node: ast.Attribute, rule: str) -> None:
    """Attributes that no value of the type has."""
    types = _types(run, node.value)
    if any(member.kind == "record" for member in types):
        look_at_missing_key(run, node, node.attr, rule)
        return
    missing = [member for member in types if _lacks(member, node.attr)]
    if len(missing) < len(types):
        return
    base, owner = missing[0], f"{missing[0].name!r} object"
    if base.kind in {"module", "class"}:
        owner = f"{'module' if base.kind == 'module' else 'type object'} {quoted(getattr(base.value, '__name__', ''))}"
    hint = _origin_hint(run, base)
    if base.kind == "dict" and node.attr.isidentifier():
        hint = f"this is a dict: read its key as [{node.attr!r}]"
    run.report(node, rule, f"AttributeError: {owner} has no attribute {quoted(node.attr)}", hint)


def _lacks(base: Type, name: str) -> bool:
    if base.kind == "module":
        return module_member(base.value, name) is None  # pyright: ignore[reportArgumentType] - the kind says so
    if base.kind == "class" and isinstance(base.value, type):
        return class_member(base.value, name) is None
    if base.kind in {"function", "method", "record"} or (base.kind == "dict" and base.tool):
        return False  # a tool's dict has its keys as attributes
    if base.kind == "list" and base.tool:
        return not any(hasattr(cls, name) for cls in _ROWS)
    if base.kind == "float" and base.tool and hasattr(int, name):
        return False
    return attribute_of_class(base.kind, name) is None


def _look_at_key(run: Analysis, node: ast.Subscript, rule: str) -> None:
    """Keys and indexes that fail."""
    if isinstance(node.slice, ast.Slice):
        return
    types, index = _types(run, node.value), run.types.get(node.slice, UNKNOWN)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str) and any(member.keys for member in types):
        look_at_missing_key(run, node, key, rule)
        return
    name = types[0].name
    is_wrong_index = index.kind in {"str", "NoneType", "list", "dict"} or (index.kind == "float" and not index.tool)
    if is_wrong_index and all(member.kind in _INDEXED for member in types):
        error = f"TypeError: {name} indices must be integers or slices, not {index.name}"
    elif _all_of(types, _NO_INDEX):
        error = f"TypeError: {name!r} object is not subscriptable"
    else:
        return
    text = ast.unparse(node.value)
    hint = _origin_hint(run, types[0]) or f"{on_one_line(text, _MAX_TEXT)} is of type {name}"
    suggestion = replacing(node, text) if len(types) == 1 and _is_result(run, types[0]) and key is not None else None
    run.report(node, rule, error, hint, suggestion=suggestion)


def _look_at_call(run: Analysis, node: ast.Call, rule: str) -> None:
    """Calls of values other than functions."""
    types = _types(run, node.func)
    if _all_of(types, _NOT_CALLED):
        hint = f"{on_one_line(ast.unparse(node.func), _MAX_TEXT)} is a value: take it as it is"
        run.report(node, rule, f"TypeError: {types[0].name!r} object is not callable", hint)


def _look_at_own_call(run: Analysis, node: ast.Call, rule: str) -> None:
    """Arguments that a function of the program does not take."""
    function = run.types.get(node.func, UNKNOWN).value
    if not isinstance(function, Function) or function.is_decorated:
        return
    if is_spread(node):
        return
    problem = arity_problem(function, len(node.args), [str(word.arg) for word in node.keywords])
    if problem:
        run.report(node, rule, f"TypeError: {problem}")


def _look_at_built_in_call(run: Analysis, node: ast.Call, rule: str) -> None:
    """Values that a built-in function cannot take."""
    if not isinstance(node.func, ast.Name) or not run.is_built_in(node.func.id) or not node.args:
        return
    name = node.func.id
    value = node.args[-1] if name in {"filter", "map"} else node.args[0]
    types = _types(run, value)
    if isinstance(value, ast.Starred) or not types[0].kind:
        return
    error = ""
    if name == "len" and _all_of(types, _NO_ITEMS):
        error = f"object of type {types[0].name!r} has no len()"
    elif name in _ITERATING and (len(node.args) == 1 or name not in {"max", "min"}) and _all_of(types, _NO_ITEMS):
        error = f"{types[0].name!r} object is not iterable"
    elif name in _CONVERTING and len(node.args) == 1 and _all_of(types, _CONVERTING[name]):
        error = f"{name}() does not take a {types[0].name}"
    if error:
        run.report(node, rule, f"TypeError: {error}")


def _look_at_loop(run: Analysis, node: ast.For | ast.ListComp, rule: str) -> None:
    """Loops over what has no items."""
    for loop in (node,) if isinstance(node, ast.For) else node.generators:
        types = _types(run, loop.iter)
        if _all_of(types, _NO_ITEMS):
            run.report(loop.iter, rule, f"TypeError: {types[0].name!r} object is not iterable")


def _look_at_unpacking(run: Analysis, node: ast.Tuple | ast.List, rule: str) -> None:
    """Values unpacked into more or fewer names than they have items."""
    if isinstance(node.ctx, ast.Load):
        return
    types = _types(run, node)
    starred = any(isinstance(element, ast.Starred) for element in node.elts)
    if _all_of(types, _NO_ITEMS):
        run.report(node, rule, f"TypeError: cannot unpack non-iterable {types[0].name} object")
        return
    sizes = [_size(run, member) for member in types if member.kind not in _NO_ITEMS]
    wanted = len(node.elts) - starred
    if None in sizes or any(size == wanted or (starred and (size or 0) >= wanted) for size in sizes):
        return
    if (sizes[0] or 0) > wanted:
        error = f"ValueError: too many values to unpack (expected {wanted})"
    else:
        error = f"ValueError: not enough values to unpack (expected {wanted}, got {sizes[0]})"
    keys = run.containers.keys_of(types[0])
    run.report(node, rule, error, f"it is a record: read its keys, {', '.join([*keys][:10])}" if keys else "")


def _size(run: Analysis, value: Type) -> int | None:
    if value.kind == "tuple" and value.parts:
        return len(value.parts)
    if value.kind == "record" and not run.containers.is_open(value) and not run.containers.has_added(value):
        return len(value.keys)
    return None


_SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**"}


def _look_at_operands(run: Analysis, node: ast.BinOp | ast.AugAssign, rule: str) -> None:
    """Operands that an operator does not take."""
    first, second = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    sign = _SIGNS.get(type(node.op), "")
    pairs = [(left, right) for left in _types(run, first) for right in _types(run, second)]
    if isinstance(node, ast.AugAssign) and sign == "+":
        # A list is extended by all that has items.
        pairs = [pair for pair in pairs if pair[0].kind != "list" or pair[1].kind in _NO_ITEMS]
        if len(pairs) < len(_types(run, first)) * len(_types(run, second)):
            return
    if not sign or any(_fits(left.kind, right.kind, sign) for left, right in pairs):
        return
    left, right = pairs[0]
    hint = ""
    if "str" in {left.kind, right.kind}:
        hint = "write a number as text with str(), or use an f-string"
    error = f"TypeError: unsupported operand type(s) for {sign}: {left.name!r} and {right.name!r}"
    if sign == "+" and left.kind == "str":
        error = f"TypeError: can only concatenate str (not {right.name!r}) to str"
    run.report(node, rule, error, hint)


def _fits(left: str, right: str, sign: str) -> bool:
    """Return whether an operator may take two kinds."""
    if left not in _OPERANDS or right not in _OPERANDS:
        return True
    one, other = ("number" if kind in NUMBERS else kind for kind in (left, right))
    # A record may be a named tuple, and a tool's list a tuple.
    if one == other == "number" or {one, other} in _ALIKE:
        return True
    if one in _TIMES or other in _TIMES:
        return {one, other} <= _TIMES or {one, other} == {"timedelta", "number"}
    if sign == "+":
        return one == other and one not in {"dict", "NoneType", "set"}
    if sign == "*":
        return {one, other} in ({"number", "str"}, {"number", "list"}, {"number", "tuple"})
    return sign == "-" and one == other == "set"


def _look_at_comparison(run: Analysis, node: ast.Compare, rule: str) -> None:
    """Values that have no order, and searches in what has no items."""
    if len(node.ops) != 1:
        return
    left, right = _types(run, node.left), _types(run, node.comparators[0])
    sign = node.ops[0]
    if isinstance(sign, (ast.In, ast.NotIn)):
        if _all_of(right, _NO_ITEMS - {"Decimal"}):
            run.report(node, rule, f"TypeError: argument of type {right[0].name!r} is not iterable")
        elif _all_of(right, frozenset({"str"})) and _all_of(left, NUMBERS | {"list", "NoneType", "record", "dict"}):
            run.report(node, rule, f"TypeError: 'in <string>' requires string as left operand, not {left[0].name}")
    elif isinstance(sign, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        pairs = [(one.kind, other.kind) for one in left for other in right]
        if all(_has_no_order(*pair) for pair in pairs):
            names = f"{left[0].name!r} and {right[0].name!r}"
            run.report(node, rule, f"TypeError: these have no order: {names}")


def _has_no_order(left: str, right: str) -> bool:
    if left not in _ORDERED or right not in _ORDERED or {left, right} in _ALIKE:
        return False
    one, other = ("number" if kind in NUMBERS else kind for kind in (left, right))
    return one != other or one in {"NoneType", "dict"}


_NAMED: tuple[tuple[str, Callable[[Analysis, Any, str], None], tuple[type, ...]], ...] = (
    ("import-of-tool", _look_at_import, (ast.Import, ast.ImportFrom)),
    ("imported-name", _look_at_imported_name, (ast.ImportFrom,)),
    ("undefined-name", look_at_name, (ast.Name,)),
    ("attribute", _look_at_attribute, (ast.Attribute,)),
    ("key", _look_at_key, (ast.Subscript,)),
    ("tool-arguments", look_at_tool_call, (ast.Call,)),
    ("not-callable", _look_at_call, (ast.Call,)),
    ("own-arguments", _look_at_own_call, (ast.Call,)),
    ("built-in-arguments", _look_at_built_in_call, (ast.Call,)),
    ("not-iterable", _look_at_loop, (ast.For, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)),
    ("unpacking", _look_at_unpacking, (ast.Tuple,)),
    ("operands", _look_at_operands, (ast.BinOp, ast.AugAssign)),
    ("operands", _look_at_comparison, (ast.Compare,)),
)
RULES = {
    kind: [(name, look) for name, look, kinds in _NAMED if kind in kinds]
    for _, _, all_kinds in _NAMED
    for kind in all_kinds
}
"""The names of the rules and what they do, by the kind of the nodes that they look at."""
