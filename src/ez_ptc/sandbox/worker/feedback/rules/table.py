"""The rules: each looks at one kind of expression whose types are known, and reports what must fail there.

A rule reports only what fails for every type that a value may have. Its name is the `rule` of its mistakes.
"""

from __future__ import annotations

import ast
import collections
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...quoting import on_one_line, quoted
from ..following.functions import Function, arity_problem
from ..following.library import attribute_of_class, class_member, module_member
from ..mistakes import Mistake, replacing
from ..types import CLASSES, NUMBERS, UNKNOWN, Type, members
from .keys import look_at_missing_key, look_at_scalar_key
from .tool_arguments import look_at_tool_call
from .undefined_names import look_at_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..following.analysis import Analysis

__all__ = ["RULES", "Rule"]

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


# What a tool's list may be.
_ROWS = (list, tuple, collections.deque)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, and how it looks at an expression."""

    name: str
    look: Callable[[Analysis, Any, str], None]


def _types(run: Analysis, node: ast.expr) -> tuple[Type, ...]:
    return members(run.types.get(node, UNKNOWN))


def _all_of(types: Sequence[Type], kinds: frozenset[str]) -> bool:
    return all(member.kind in kinds for member in types)


def _report(run: Analysis, node: ast.expr, rule: str, error: str, hint: str = "") -> None:
    run.report(node, Mistake(rule, node.lineno, error, hint))


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
    run.report(node, Mistake(rule, node.lineno, f"ModuleNotFoundError: No module named {module!r}", hint, suggestion))


def _look_at_imported_name(run: Analysis, node: ast.ImportFrom, rule: str) -> None:
    """Names that a module does not have."""
    module = None if node.level else sys.modules.get(node.module or "")
    for alias in node.names:
        if module is not None and alias.name != "*" and module_member(module, alias.name) is None:
            error = f"ImportError: cannot import name {quoted(alias.name)} from {quoted(module.__name__)}"
            run.report(node, Mistake(rule, node.lineno, error))


def _look_at_attribute(run: Analysis, node: ast.Attribute, rule: str) -> None:
    """Attributes that no value of the type has."""
    if not isinstance(node.ctx, ast.Load):
        return
    types = _types(run, node.value)
    if any(member.kind == "record" for member in types):
        look_at_missing_key(run, node, node.value, node.attr, rule)
        return
    missing = [member for member in types if _lacks(member, node.attr)]
    if len(missing) < len(types):
        return
    base = missing[0]
    hint = ""
    if base.kind in {"module", "class"}:
        owner = f"{'module' if base.kind == 'module' else 'type object'} {quoted(getattr(base.value, '__name__', ''))}"
        _report(run, node, rule, f"AttributeError: {owner} has no attribute {quoted(node.attr)}")
        return
    if base.kind == "list" and base.tool:
        hint = f"{base.tool}() returns a list: loop over it, or take one item of it"
    elif base.kind == "list":
        hint = "this is a list: take one item of it, or loop over it"
    elif base.kind == "dict":
        hint = f"this is a dict: read its key as [{node.attr!r}]" if node.attr.isidentifier() else ""
    _report(run, node, rule, f"AttributeError: {base.name!r} object has no attribute {quoted(node.attr)}", hint)


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
    if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Slice):
        return
    types, index = _types(run, node.value), run.types.get(node.slice, UNKNOWN)
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        if any(member.keys for member in types):
            look_at_missing_key(run, node, node.value, node.slice.value, rule)
            return
        if len(types) == 1 and types[0].tool and look_at_scalar_key(run, node, node.slice.value, types[0], rule):
            return
    is_wrong_index = index.kind in {"str", "NoneType", "list", "dict"} or (index.kind == "float" and not index.tool)
    if is_wrong_index and all(member.kind in _INDEXED for member in types):
        text, name = on_one_line(ast.unparse(node.value), _MAX_TEXT), types[0].name
        _report(
            run,
            node,
            rule,
            f"TypeError: {name} indices must be integers or slices, not {index.name}",
            f"{text} is a {name}",
        )
    elif _all_of(types, _NO_INDEX):
        _report(run, node, rule, f"TypeError: {types[0].name!r} object is not subscriptable")


def _look_at_call(run: Analysis, node: ast.Call, rule: str) -> None:
    """Calls of values other than functions."""
    types = _types(run, node.func)
    if _all_of(types, _NOT_CALLED):
        text = on_one_line(ast.unparse(node.func), _MAX_TEXT)
        _report(
            run,
            node,
            rule,
            f"TypeError: {types[0].name!r} object is not callable",
            f"{text} is a value: take it as it is",
        )


def _look_at_own_call(run: Analysis, node: ast.Call, rule: str) -> None:
    """Arguments that a function of the program does not take."""
    function = run.types.get(node.func, UNKNOWN).value
    if not isinstance(function, Function) or function.is_decorated:
        return
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        word.arg is None for word in node.keywords
    ):
        return
    problem = arity_problem(function, len(node.args), [str(word.arg) for word in node.keywords])
    if problem:
        _report(run, node, rule, f"TypeError: {problem}")


def _look_at_built_in_call(run: Analysis, node: ast.Call, rule: str) -> None:
    """Values that a built-in function cannot take."""
    if not isinstance(node.func, ast.Name) or not run.is_built_in(node.func.id) or not node.args:
        return
    name = node.func.id
    value = node.args[-1] if name in {"filter", "map"} else node.args[0]
    types = _types(run, value)
    if isinstance(value, ast.Starred) or not types[0].kind:
        return
    if name == "len" or (name in _ITERATING and (len(node.args) == 1 or name not in {"max", "min"})):
        if _all_of(types, _NO_ITEMS):
            problem = (
                f"object of type {types[0].name!r} has no len()"
                if name == "len"
                else f"{types[0].name!r} object is not iterable"
            )
            _report(run, node, rule, f"TypeError: {problem}")
    elif name in {"int", "float", "round", "abs"} and len(node.args) == 1:
        wrong = frozenset({"list", "dict", "record", "set", "tuple", "NoneType"}) | (
            {"str"} if name in {"round", "abs"} else set[str]()
        )
        if _all_of(types, wrong):
            _report(run, node, rule, f"TypeError: {name}() does not take a {types[0].name}")


def _look_at_loop(run: Analysis, node: ast.For | ast.comprehension, rule: str) -> None:
    """Loops over what has no items."""
    types = _types(run, node.iter)
    if _all_of(types, _NO_ITEMS):
        _report(run, node.iter, rule, f"TypeError: {types[0].name!r} object is not iterable")


def _look_at_comprehension(run: Analysis, node: ast.ListComp, rule: str) -> None:
    for part in node.generators:
        _look_at_loop(run, part, rule)


def _look_at_unpacking(run: Analysis, node: ast.Tuple | ast.List, rule: str) -> None:
    """Values unpacked into more or fewer names than they have items."""
    if isinstance(node.ctx, ast.Load):
        return
    types = _types(run, node)
    starred = any(isinstance(element, ast.Starred) for element in node.elts)
    if _all_of(types, _NO_ITEMS):
        _report(run, node, rule, f"TypeError: cannot unpack non-iterable {types[0].name} object")
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
    _report(run, node, rule, error, f"it is a record: read its keys, {', '.join([*keys][:10])}" if keys else "")


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
    run.report(node, Mistake(rule, node.lineno, error, hint))


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
            _report(run, node, rule, f"TypeError: argument of type {right[0].name!r} is not iterable")
        elif _all_of(right, frozenset({"str"})) and _all_of(left, NUMBERS | {"list", "NoneType", "record", "dict"}):
            _report(run, node, rule, f"TypeError: 'in <string>' requires string as left operand, not {left[0].name}")
    elif isinstance(sign, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        pairs = [(one.kind, other.kind) for one in left for other in right]
        if all(_has_no_order(*pair) for pair in pairs):
            names = f"{left[0].name!r} and {right[0].name!r}"
            _report(run, node, rule, f"TypeError: these have no order: {names}")


def _has_no_order(left: str, right: str) -> bool:
    if left not in _ORDERED or right not in _ORDERED or {left, right} in _ALIKE:
        return False
    one, other = ("number" if kind in NUMBERS else kind for kind in (left, right))
    return one != other or one in {"NoneType", "dict"}


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
RULES: dict[type, tuple[Rule, ...]] = {
    ast.Import: (Rule("import-of-tool", _look_at_import),),
    ast.ImportFrom: (Rule("import-of-tool", _look_at_import), Rule("imported-name", _look_at_imported_name)),
    ast.Name: (Rule("undefined-name", look_at_name),),
    ast.Attribute: (Rule("attribute", _look_at_attribute),),
    ast.Subscript: (Rule("key", _look_at_key),),
    ast.Call: (
        Rule("tool-arguments", look_at_tool_call),
        Rule("not-callable", _look_at_call),
        Rule("own-arguments", _look_at_own_call),
        Rule("built-in-arguments", _look_at_built_in_call),
    ),
    ast.For: (Rule("not-iterable", _look_at_loop),),
    ast.Tuple: (Rule("unpacking", _look_at_unpacking),),
    ast.BinOp: (Rule("operands", _look_at_operands),),
    ast.AugAssign: (Rule("operands", _look_at_operands),),
    ast.Compare: (Rule("operands", _look_at_comparison),),
    **dict.fromkeys(_COMPREHENSIONS, (Rule("not-iterable", _look_at_comprehension),)),
}
