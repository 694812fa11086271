"""The rules, by the nodes they look at: each reports a certain failure there.

A rule reports only failures for every type of a value.
"""

from __future__ import annotations

import ast
import collections
import itertools
import sys
from typing import TYPE_CHECKING

from ...quoting import on_one_line, quoted
from ..following.functions import Function, arity_problem
from ..following.standard_types import attribute_of_class, class_member, module_member
from ..following.statements import Statements
from ..mistakes import replacing
from ..types import CLASSES, NUMBERS, SCALARS, UNKNOWN, Type
from .keys import report_missing_key
from .tool_arguments import is_spread, look_at_tool_call
from .undefined_names import look_at_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Rules"]

_MAX_TEXT = 100
_TIMES = frozenset({"datetime", "date", "time", "timedelta"})
_NO_ITEMS = NUMBERS | _TIMES | {"NoneType", "function", "method", "tool", "module", "Decimal", "complex"}
_NO_INDEX = _NO_ITEMS | {"set", "view", "generator"}
_NOT_CALLED = (frozenset(CLASSES) | {"view", "generator", "defaultdict", "counter"}) - {"function", "method"}
_INDEXED = frozenset({"list", "str", "tuple", "range", "bytes"})
_OPERANDS = NUMBERS | _TIMES | {"str", "list", "dict", "record", "NoneType", "set", "tuple"}
_SIGNS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Pow: "**",
    **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), "<"),
}
# Kinds of which one may be the other: a record may be a named tuple, and a tool's list a tuple.
_ALIKE = ({"record", "tuple"}, {"record", "list"}, {"record", "number"}, {"list", "tuple"})
# The built-in functions that need something to iterate over.
_ITERATING = frozenset(
    {"all", "any", "enumerate", "filter", "list", "map", "max", "min", "set", "sorted", "sum", "tuple", "zip"}
)
_NO_NUMBERS = frozenset({"list", "dict", "record", "set", "tuple", "NoneType"})
_CONVERTING = {**dict.fromkeys(("int", "float"), _NO_NUMBERS), **dict.fromkeys(("abs", "round"), _NO_NUMBERS | {"str"})}
# What a tool's value of a kind may be.
_OTHERS: dict[str, tuple[type, ...]] = {"list": (tuple, collections.deque), "float": (int,)}
_WITHOUT_KEYS = SCALARS | {"NoneType", "list", "set", "tuple"}


class Rules(Statements):
    """Each method looks at one kind of node when the types of its parts are known."""

    def look_at_name(self, node: ast.Name) -> None:
        """Undefined names."""
        look_at_name(self, node)

    def look_at_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Imports of tools from missing modules: they are in scope already."""
        names = [alias.name for alias in node.names]
        module = names[0] if isinstance(node, ast.Import) else node.module or ""
        module = module.partition(".")[0]
        tools = [name for name in names if name in self.shapes]
        if not tools or module in sys.modules or module in sys.stdlib_module_names:
            return
        suggestion = None
        if tools == names and all(alias.asname in {None, alias.name} for alias in node.names):
            suggestion = replacing(node, "pass", is_forced=True)
        hint = f"{' and '.join(tools)} can be called without an import"
        error = f"ModuleNotFoundError: No module named {module!r}"
        self.report(node, "import-of-tool", error, hint, suggestion=suggestion)

    def look_at_importfrom(self, node: ast.ImportFrom) -> None:
        """Imports of tools, and of names missing in a module."""
        self.look_at_import(node)
        module = None if node.level else sys.modules.get(node.module or "")
        for alias in node.names:
            if module is not None and alias.name != "*" and module_member(module, alias.name) is None:
                error = f"ImportError: cannot import name {quoted(alias.name)} from {quoted(module.__name__)}"
                self.report(node, "imported-name", error)

    def look_at_attribute(self, node: ast.Attribute) -> None:
        """Attributes missing in every type of a value."""
        types = self.types_of(node.value)
        if not all(self._lacks(member, node.attr) for member in types):
            return
        record = next((member for member in types if member.kind == "record"), None)
        if record is not None:
            report_missing_key(self, node, node.attr, record)
            return
        base, owner = types[0], f"{types[0].name!r} object"
        if base.kind in {"module", "class"}:
            sort = "module" if base.kind == "module" else "type object"
            owner = f"{sort} {quoted(getattr(base.value, '__name__', ''))}"
        hint = self._origin(base)
        if base.kind == "dict" and node.attr.isidentifier():
            hint = f"this is a dict: read its key as [{node.attr!r}]"
        self.report(node, "attribute", f"AttributeError: {owner} has no attribute {quoted(node.attr)}", hint)

    def look_at_subscript(self, node: ast.Subscript) -> None:
        """Keys and indexes certain to fail."""
        types, index = self.types_of(node.value), self.types.get(node.slice, UNKNOWN)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.slice, ast.Slice):
            return
        record = next((member for member in types if member.keys), None)
        if isinstance(key, str) and record is not None:
            if all(member.kind in _WITHOUT_KEYS or self._has_no_key(member, key) for member in types):
                report_missing_key(self, node, key, record)
            return
        name = types[0].name
        is_wrong_index = index.kind in {"str", "NoneType", "list", "dict"} or (index.kind == "float" and not index.tool)
        if is_wrong_index and _all_of(types, _INDEXED):
            error = f"TypeError: {name} indices must be integers or slices, not {index.name}"
        elif _all_of(types, _NO_INDEX):
            error = f"TypeError: {name!r} object is not subscriptable"
        else:
            return
        text = ast.unparse(node.value)
        hint = self._origin(types[0]) or f"{on_one_line(text, _MAX_TEXT)} is of type {name}"
        is_result = len(types) == 1 and self._is_result(types[0]) and key is not None
        self.report(node, "key", error, hint, suggestion=replacing(node, text) if is_result else None)

    def look_at_call(self, node: ast.Call) -> None:
        """Calls of values other than functions, and arguments refused by a function."""
        callee, types = self.types.get(node.func, UNKNOWN), self.types_of(node.func)
        if callee.kind == "tool":
            look_at_tool_call(self, node, self.shapes[callee.tool])
        elif _all_of(types, _NOT_CALLED):
            hint = f"{on_one_line(ast.unparse(node.func), _MAX_TEXT)} is a value: take it as it is"
            self.report(node, "not-callable", f"TypeError: {types[0].name!r} object is not callable", hint)
        elif isinstance(callee.value, Function):
            if not callee.value.is_decorated and not is_spread(node):
                problem = arity_problem(callee.value, len(node.args), [str(word.arg) for word in node.keywords])
                if problem:
                    self.report(node, "own-arguments", f"TypeError: {problem}")
        elif isinstance(node.func, ast.Name) and self.is_built_in(node.func.id) and node.args:
            self._look_at_built_in_call(node, node.func.id)

    def _look_at_built_in_call(self, node: ast.Call, name: str) -> None:
        value = node.args[-1] if name in {"filter", "map"} else node.args[0]
        types = self.types_of(value)
        error = ""
        if name == "len" and _all_of(types, _NO_ITEMS):
            error = f"object of type {types[0].name!r} has no len()"
        elif name in _ITERATING and (len(node.args) == 1 or name not in {"max", "min"}) and _all_of(types, _NO_ITEMS):
            error = f"{types[0].name!r} object is not iterable"
        elif len(node.args) == 1 and _all_of(types, _CONVERTING.get(name, frozenset[str]())):
            error = f"{name}() does not take a {types[0].name}"
        if error and not isinstance(value, ast.Starred):
            self.report(node, "built-in-arguments", f"TypeError: {error}")

    def look_at_for(self, node: ast.For | ast.comprehension) -> None:
        """Loops over values without items."""
        types = self.types_of(node.iter)
        if _all_of(types, _NO_ITEMS):
            self.report(node.iter, "not-iterable", f"TypeError: {types[0].name!r} object is not iterable")

    def look_at_listcomp(self, node: ast.ListComp) -> None:
        """Loops of a comprehension over values without items."""
        for loop in node.generators:
            self.look_at_for(loop)

    look_at_setcomp = look_at_dictcomp = look_at_generatorexp = look_at_listcomp

    def look_at_tuple(self, node: ast.Tuple) -> None:
        """Values unpacked into more or fewer names than they have items."""
        if isinstance(node.ctx, ast.Load):
            return
        types = self.types_of(node)
        if _all_of(types, _NO_ITEMS):
            self.report(node, "unpacking", f"TypeError: cannot unpack non-iterable {types[0].name} object")
            return
        starred = any(isinstance(element, ast.Starred) for element in node.elts)
        sizes = [self._size(member) for member in types if member.kind not in _NO_ITEMS]
        wanted = len(node.elts) - starred
        if any(size is None or size == wanted or (starred and size >= wanted) for size in sizes):
            return
        if (sizes[0] or 0) > wanted:
            error = f"ValueError: too many values to unpack (expected {wanted})"
        else:
            error = f"ValueError: not enough values to unpack (expected {wanted}, got {sizes[0]})"
        keys = [*self.containers.keys_of(types[0])][:10]
        self.report(node, "unpacking", error, f"it is a record: read its keys, {', '.join(keys)}" if keys else "")

    def _size(self, value: Type) -> int | None:
        if value.kind == "tuple":
            return len(value.parts) or None
        is_known = value.kind == "record" and not self.containers.is_open(value)
        return len(value.keys) if is_known and len(self.containers.keys_of(value)) == len(value.keys) else None

    def look_at_binop(self, node: ast.BinOp) -> None:
        """Operands refused by an operator."""
        self._look_at_operands(node, [*itertools.product(self.types_of(node.left), self.types_of(node.right))])

    def look_at_augassign(self, node: ast.AugAssign) -> None:
        """Operands refused by a changing operator."""
        pairs = [*itertools.product(self.types_of(node.target), self.types_of(node.value))]
        if isinstance(node.op, ast.Add) and any(
            to.kind == "list" and added.kind not in _NO_ITEMS for to, added in pairs
        ):
            return  # a list is extended by all that has items
        self._look_at_operands(node, pairs)

    def _look_at_operands(self, node: ast.BinOp | ast.AugAssign, pairs: Sequence[tuple[Type, Type]]) -> None:
        sign = _SIGNS.get(type(node.op))
        if not sign or any(_fits(left.kind, right.kind, sign) for left, right in pairs):
            return
        left, right = pairs[0]
        hint = "write a number as text with str(), or use an f-string" if "str" in {left.kind, right.kind} else ""
        error = f"TypeError: unsupported operand type(s) for {sign}: {left.name!r} and {right.name!r}"
        if sign == "+" and left.kind == "str":
            error = f"TypeError: can only concatenate str (not {right.name!r}) to str"
        self.report(node, "operands", error, hint)

    def look_at_compare(self, node: ast.Compare) -> None:
        """Values without order, and searches in values without items."""
        left, right, sign = self.types_of(node.left), self.types_of(node.comparators[0]), node.ops[0]
        error = ""
        if len(node.ops) > 1:
            return
        if isinstance(sign, (ast.In, ast.NotIn)):
            if _all_of(right, _NO_ITEMS - {"Decimal"}):
                error = f"argument of type {right[0].name!r} is not iterable"
            elif _all_of(right, frozenset({"str"})) and _all_of(left, NUMBERS | {"list", "NoneType", "record", "dict"}):
                error = f"'in <string>' requires string as left operand, not {left[0].name}"
        elif _SIGNS.get(type(sign)) == "<" and not any(
            _fits(one.kind, other.kind, "<") for one in left for other in right
        ):
            error = f"these have no order: {left[0].name!r} and {right[0].name!r}"
        if error:
            self.report(node, "operands", f"TypeError: {error}")

    def _has_no_key(self, base: Type, key: str) -> bool:
        return bool(base.keys or base.kind == "record") and self.containers.value_of(base, key) is None

    def _lacks(self, base: Type, name: str) -> bool:
        if base.kind == "module":
            return module_member(base.value, name) is None  # pyright: ignore[reportArgumentType] - the kind says so
        if base.kind == "class" and isinstance(base.value, type):
            return class_member(base.value, name) is None
        if base.kind == "record":  # it may be a named tuple
            is_known = hasattr(dict, name) or hasattr(tuple, name) or name.startswith("_")
            return not is_known and self._has_no_key(base, name)
        if base.kind in {"function", "method"} or (base.kind == "dict" and base.tool):
            return False  # a tool's dict has its keys as attributes
        others = _OTHERS.get(base.kind, ()) if base.tool else ()
        return attribute_of_class(base.kind, name) is None and not any(hasattr(cls, name) for cls in others)

    def _origin(self, value: Type) -> str:
        """Return how to use a list, or a text or number from a tool's result; "" for another value."""
        if value.kind == "list":
            owner = f"{value.tool}() returns" if value.tool else "this is"
            return f"{owner} a list: loop over it, or take one item of it"
        if self._is_result(value):
            return f"{value.tool}() returns {value.kind}: take it as it is"
        if value.kind in SCALARS and value.tool in self.shapes and self.shapes[value.tool].returns.kind == "dict":
            return f"{value.tool}() returns a dict: what you go over are its keys, use .items(), or do not loop"
        return ""

    def _is_result(self, value: Type) -> bool:
        """Return whether a text or number is a tool's whole result."""
        return (
            value.kind in SCALARS and value.tool in self.shapes and self.shapes[value.tool].returns.kind == value.kind
        )


def _all_of(types: Sequence[Type], kinds: frozenset[str]) -> bool:
    return all(member.kind in kinds for member in types)


def _fits(left: str, right: str, sign: str) -> bool:
    """Return whether an operator may take two kinds; "<" is any comparison of order."""
    if left not in _OPERANDS or right not in _OPERANDS:
        return True
    one, other = ("number" if kind in NUMBERS else kind for kind in (left, right))
    if one == other == "number" or {one, other} in _ALIKE:
        return True
    if one in _TIMES or other in _TIMES:
        return {one, other} <= _TIMES or {one, other} == {"timedelta", "number"}
    if sign in {"+", "<"}:
        return one == other and one not in {"dict", "NoneType"} and (one != "set" or sign == "<")
    if sign == "*":
        return {one, other} in ({"number", "str"}, {"number", "list"}, {"number", "tuple"})
    return sign == "-" and one == other == "set"
