"""The rules, by the nodes they look at: each reports a certain failure there.

A rule reports only failures for every type of a value.
"""

from __future__ import annotations

import ast
import itertools
import operator
import sys
from typing import TYPE_CHECKING, Any

from ...protocol.both_ends.quoting import item_text, on_one_line, quoted
from ...protocol.both_ends.types import SCALARS, UNKNOWN, Type, samples_of, try_on
from ..following.analysis import KEY_OF_RECORD
from ..following.functions import ProgramFunction, arity_problem
from ..following.mixed_types import hint_of_types
from ..following.standard_types import OPERATORS, attribute_of, class_member, module_member
from ..following.statements import Statements
from ..mistakes import replacing
from ..near_names import CONVERSIONS, hint_of_replaced, is_plain_key, keys_text, near_keys, only_near_key, only_spelling
from ..suggestions import names_effect, suggest_for_missing_key
from ..table_hints import hint_of_column, hint_of_table, is_of_table
from .functions_as_values import explain_function
from .tool_arguments import is_spread, look_at_tool_call
from .undefined_names import look_at_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..following.analysis import Analysis
    from ..mistakes import Suggestion

__all__ = ["Rules", "public_names", "report_missing_key", "suggest_iterated"]

_MAX_TEXT = 100
# The built-in functions whose first argument Python is asked about, and the last one of those that take a function.
_BUILT_IN = {
    **{function.__name__: function for function in (abs, all, any, enumerate, float, int, iter, len, list, max, min)},
    **{function.__name__: function for function in (next, range, reversed, round, set, sorted, sum, tuple, zip)},
    **dict.fromkeys(("filter", "map"), iter),
}
_RECORDS = frozenset({"dict", "record"})
_WITHOUT_KEYS = SCALARS | {"NoneType", "list", "set", "tuple"}


class Rules(Statements):
    """Each method looks at one kind of node when the types of its parts are known."""

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
        """Add a mistake; one about a function says how the value meant is written."""
        explained = explain_function(self, node, error)
        if explained is not None:
            hint, suggestion = explained
        super().report(node, rule, error, hint, suggestion=suggestion, begin=begin)

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
                return  # the first is what Python reports; the rest would cost a walk over all of the names each

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
        error = f"AttributeError: {owner} has no attribute {quoted(node.attr)}"
        hint = self._origin(base) or hint_of_types(error)
        if base.kind == "list" and is_of_table(node.attr):
            hint = _hint_of_list(base)
        if base.kind == "dict" and node.attr.isidentifier():
            hint = f"this is a dict: read its key as [{node.attr!r}]"
        near = only_spelling(node.attr, public_names(types))
        text = near and f"{ast.unparse(node.value)}.{near}"
        if node.attr in {"name", "value"} and all(member.kind == "str" and member.choices for member in types):
            hint = "it is text already: a tool's member of an Enum comes as its value"
            text = ast.unparse(node.value) if node.attr == "value" else None
        suggestion = suggest_iterated(self, node, node.attr) or replacing(node, text, is_only=True)
        self.report(node, "attribute", error, hint, suggestion=suggestion)

    def look_at_subscript(self, node: ast.Subscript) -> None:
        """Keys and indexes certain to fail."""
        types = self.types_of(node.value)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.slice, ast.Slice):
            error = self._error_of(operator.itemgetter(slice(None)), types)
            if error:
                self.report(node, "key", error, hint_of_types(error))
            return
        record = next((member for member in types if member.keys), None)
        if isinstance(key, str) and record is not None:
            if all(member.kind in _WITHOUT_KEYS or self._has_no_key(member, key) for member in types):
                report_missing_key(self, node, key, record)
            return
        error = self._error_of(operator.getitem, types, self.types_of(node.slice))
        if not error:
            return
        text = ast.unparse(node.value)
        type_text = f"{on_one_line(text, _MAX_TEXT)} is of type {types[0].name}"
        hint = self._origin(types[0]) or hint_of_types(error) or type_text
        if isinstance(key, str) and types[0].kind == "list" and types[0].record.kind in _RECORDS:
            hint = f"{hint}; {_hint_of_list(types[0])}"
        suggestion = suggest_iterated(self, node, key) if isinstance(key, str) else None
        if suggestion is None and key is not None and len(types) == 1 and self._is_result(types[0]):
            suggestion = replacing(node, text)
        self.report(node, "key", error, hint, suggestion=suggestion)

    def look_at_call(self, node: ast.Call) -> None:
        """Calls of values other than functions, and arguments refused by a function."""
        callee, types = self.types.get(node.func, UNKNOWN), self.types_of(node.func)
        if callee.kind == "tool":
            look_at_tool_call(self, node, self.shapes[callee.tool])
        elif all(samples_of(member) and not any(map(callable, samples_of(member))) for member in types):
            hint = f"{on_one_line(ast.unparse(node.func), _MAX_TEXT)} is a value: take it as it is"
            if isinstance(node.func, ast.Name):
                hint = hint_of_replaced(node.func.id) or hint
            self.report(node, "not-callable", f"TypeError: {types[0].name!r} object is not callable", hint)
        elif isinstance(callee.value, ProgramFunction):
            if not callee.value.is_decorated and not is_spread(node):
                problem = arity_problem(callee.value, len(node.args), [str(word.arg) for word in node.keywords])
                if problem:
                    self.report(node, "own-arguments", f"TypeError: {problem}")
        elif isinstance(node.func, ast.Name) and self.is_built_in(node.func.id) and node.args:
            name = node.func.id
            value = node.args[-1] if name in {"filter", "map"} else node.args[0]
            if (
                name in _BUILT_IN
                and not isinstance(value, ast.Starred)
                and (len(node.args) == 1 or name not in {"max", "min"})
            ):
                error = self._error_of(_BUILT_IN[name], self.types_of(value))
                if error:
                    self.report(node, "built-in-arguments", error)

    def look_at_for(self, node: ast.For | ast.comprehension) -> None:
        """Loops over values without items."""
        error = self._error_of(iter, self.types_of(node.iter))
        if error:
            self.report(node.iter, "not-iterable", error)

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
        if self._error_of(iter, types):
            self.report(node, "unpacking", f"TypeError: cannot unpack non-iterable {types[0].name} object")
            return
        starred = any(isinstance(element, ast.Starred) for element in node.elts)
        sizes = [self._size(member) for member in types if not try_on(iter, member)[1]]
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
        is_known = value.kind == "record" and not (value.is_open or self.containers.is_open(value))
        return len(value.keys) if is_known and len(self.containers.keys_of(value)) == len(value.keys) else None

    def look_at_binop(self, node: ast.BinOp) -> None:
        """Operands refused by an operator."""
        self._look_at_operands(node, OPERATORS.get(type(node.op)), node.left, node.right)

    def look_at_augassign(self, node: ast.AugAssign) -> None:
        """Operands refused by a changing operator."""
        if not isinstance(node.op, ast.BitOr):  # which adds any pairs to a dict
            function = _add_in_place if isinstance(node.op, ast.Add) else OPERATORS.get(type(node.op))
            self._look_at_operands(node, function, node.target, node.value)

    def look_at_compare(self, node: ast.Compare) -> None:
        """Values without order, and searches in values without items."""
        if len(node.ops) == 1:
            self._look_at_operands(node, OPERATORS.get(type(node.ops[0])), node.left, node.comparators[0])

    def _look_at_operands(
        self,
        node: ast.BinOp | ast.AugAssign | ast.Compare,
        function: Callable[..., object] | None,
        left: ast.expr,
        right: ast.expr,
    ) -> None:
        operands = self.types_of(left), self.types_of(right)
        error = function and self._error_of(function, *operands)
        if error:
            self.report(node, "operands", error, hint_of_types(error))

    def _error_of(self, function: Callable[..., object], *operands: Sequence[Type]) -> str:
        """Return Python's error for a function that refuses all types of its operands, or ""."""
        errors = [try_on(function, *types)[1] for types in itertools.product(*operands)]
        return errors[0] if all(errors) else ""

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
        if base.kind == "method" and name.startswith("__"):
            return False  # one that is written in Python has more of these
        if base.kind == "function" or (base.kind == "dict" and base.tool):
            return False  # a tool's dict has its keys as attributes
        return attribute_of(base, name) is None

    def _origin(self, value: Type) -> str:
        """Return how to use a list, or a text or number from a tool's result; "" for another value."""
        if value.site == KEY_OF_RECORD and value.tool in self.shapes:
            tool = self.shapes[value.tool]
            text = f"{tool.call} returns one dict"
            if tool.returns.kind != "record":
                text = f"this is one dict in what {tool.call} returns"
            return f"{text}: use it directly; a loop over it gives its keys"
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


def public_names(types: Sequence[Type]) -> list[str]:
    """Return the attributes of a value of one type; none for one of several types."""
    if len(types) != 1 or types[0].kind in {"module", "class", *_RECORDS}:
        return []
    return [name for sample in samples_of(types[0])[:1] for name in dir(sample) if not name.startswith("_")]


def _hint_of_list(value: Type) -> str:
    """Return how to use a list that a program uses as a table or a column."""
    return hint_of_table(value.record.keys) if value.record.kind in _RECORDS else hint_of_column()


def _add_in_place(left: Any, right: Any) -> object:  # noqa: ANN401 - anything may be added
    """Return the sum; lists and deques are extended by all that has items, and the samples have none."""
    left += right
    return left


def report_missing_key(run: Analysis, node: ast.Attribute | ast.Subscript, key: str, record: Type) -> None:
    """Report a key that none of the records has that a value may be, unless the program knows more of it."""
    if key in run.facts.texts or (len(run.types_of(node.value)) > 1 and run.guards):
        return
    rule, error = "key", f"KeyError: {quoted(key)}"
    if isinstance(node, ast.Attribute):
        owner = "'dict' object has no attribute" if record.kind == "dict" else "this record has no"
        rule, error = "attribute", f"AttributeError: {owner} {quoted(key)}"
    if not run.may_suggest:
        run.report(node, rule, error)
        return
    keys, text = run.containers.keys_of(record), ast.unparse(node.value)
    call = run.facts.called.get(id(node))
    if call is not None and key in CONVERSIONS:
        hint = f"a record is a dict already: use it as it is; {keys_text(keys, [])}"
        # Other arguments leave fields out or rename them.
        is_whole = not call.args and all(keyword.arg == "mode" for keyword in call.keywords)
        run.report(node, rule, error, hint, suggestion=replacing(call, text if is_whole else None, is_only=True))
        return
    near = near_keys(key, keys)
    hint, meant = keys_text(keys, near), only_near_key(key, near)
    replacement: str | None = None
    if meant is not None:
        replacement = item_text(text, meant)
    elif not near and not names_effect(node.value, run.shapes):
        elsewhere, replacement = suggest_for_missing_key(key, text, record, run.shapes)
        hint = "; ".join([hint, *elsewhere])
    run.report(node, rule, error, hint, suggestion=replacing(node, replacement, is_only=is_plain_key(meant)))


def suggest_iterated(run: Analysis, node: ast.Attribute | ast.Subscript, key: str) -> Suggestion | None:
    """Return the value to loop over instead of a record's keys, if items of one value alone have a key.

    That is the record itself, or the list under its only key with one.
    """
    loops = run.facts.loops.get(ast.unparse(node.value), [])
    types = [member for loop in loops for member in run.types_of(loop)]
    if len(types) != 1 or types[0].kind not in {"dict", "record"} or run.containers.is_open(types[0]):
        return None
    keys, text = run.containers.keys_of(types[0]), ast.unparse(loops[0])
    lists = [name for name, value in keys.items() if value.kind == "list"]
    replacements = [f"[{text}]"] * (key in keys)
    if len(lists) == 1 and is_plain_key(lists[0]) and key in keys[lists[0]].record.keys:
        replacements.append(item_text(text, lists[0]))
    if len(replacements) != 1:
        return None
    return replacing(loops[0], replacements[0], is_only=True)
