"""The one change to correct the failing expression of a program, known by the values at hand."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, cast

from ...protocol.both_ends.copying import MAX_PROGRAM
from ...protocol.both_ends.errors import ToolError
from ...protocol.both_ends.quoting import item_text
from ..following.names import called_name
from ..mistakes import ProgramMistake, parse_quietly, replacing
from ..near_names import is_plain_key, near_keys, only_spelling
from ..suggestions import words
from .failing import call_of, find_failing, look_up, text_of
from .hidden_keys import find_hidden_keys
from .missing_keys import find_elsewhere, find_holder
from .record_hints import equal_readings, find_loops, find_near_key, key_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from ..signatures import Shapes

__all__ = ["FailingExpression", "find_fix"]

_MAX_KEYS = 50
_UNORDERED = "not supported between instances of 'Record' and 'Record'"
_ORDERING = frozenset({"max", "min", "sort", "sorted"})
_SCALARS = (str, int, float)
# A key of at least four letters that looks like a field's: no code of a currency, no name.
_FIELD = re.compile(r"[a-z][a-z0-9_]{3,}")
_WRAPPERS = frozenset({"answer", "content", "count", "data", "item", "output", "response", "result", "total", "value"})
_EMPTY = {"append": "[]", "extend": "[]", "add": "set()"}
# What may be evaluated twice: it calls nothing.
_PLAIN = (ast.Attribute, ast.Constant, ast.Name, ast.Subscript, ast.Tuple, ast.expr_context)


_Change = tuple["ast.expr | ast.stmt", str]


def find_fix(error: BaseException, program: str, shapes: Shapes, results: Mapping[str, object]) -> list[ProgramMistake]:
    """Return the places of a program to change, with their suggestions, if only one change can correct its error.

    `results` are the last dicts and lists of tools, by the tool's name. Hostile objects may raise anything.
    """
    node, frame = find_failing(error.__traceback__)
    # A function of an earlier program of the session has another text.
    if node is None or frame is None or len(program) > MAX_PROGRAM or text_of(frame).rstrip() != program.rstrip():
        return []
    changes = FailingExpression(error, node, frame, shapes, results).find_changes()
    return [
        ProgramMistake("", place.lineno, "", suggestion=replacing(place, replacement, is_only=True))
        for place, replacement in changes
    ]


class FailingExpression:
    """A failing expression, with the program and the results around it."""

    def __init__(
        self, error: BaseException, node: ast.expr, frame: FrameType, shapes: Shapes, results: Mapping[str, object]
    ) -> None:
        self._error = error
        self._node = node
        self._frame = frame
        self._shapes = shapes
        self._results = results
        self._program = text_of(frame)
        self._tree = parse_quietly(self._program)

    def find_changes(self) -> list[_Change]:
        """Return the changes of the only correction: expressions and their replacements; none without one."""
        error, node = self._error, self._node
        changes: list[_Change] = [
            (place, item_text(self._text(place.value), place.attr)) for place in find_hidden_keys(error, self._shapes)
        ]
        if changes:
            return changes
        if isinstance(error, ToolError) and isinstance(error, (LookupError, TypeError, ValueError)):
            changes = self.fix_loop(node)
        elif isinstance(error, KeyError) and isinstance(node, ast.Subscript):
            changes = self.fix_key(node)
        elif isinstance(error, AttributeError) and isinstance(node, ast.Attribute):
            changes = self.fix_attribute(error, node)
        elif isinstance(error, TypeError) and _UNORDERED in str(error):
            changes = self.fix_order()
        elif isinstance(error, TypeError) and " indices must be integers" in str(error):
            changes = self.fix_loop(node)
        return changes

    def fix_key(self, node: ast.Subscript) -> list[_Change]:
        """Return the change of a key: to one spelt alike, with a first value, or of the only list in a dict."""
        owner: object = getattr(self._error, "obj", None)
        if owner is None:
            owner = self._value(node.value)
        if not isinstance(owner, dict):
            return []
        keys = cast("dict[object, object]", owner)
        key, changes = self._error.args[0], self.fix_new_key(node)
        if type(key) is int and not changes and (inner := _list_key(keys)) is not None:
            return [(node.value, item_text(self._text(node.value), inner))]
        others = [str(other) for other in keys if is_plain_key(other)]
        if changes and isinstance(node.slice, ast.Constant) and near_keys(str(key), others):
            return []  # it is unknown whether the key is new or misspelt
        if "error" in keys and not changes:  # the call was refused, perhaps for its argument
            call = call_of(node.value, self._tree)
            return [] if call is None else self.fix_loop(call)
        return changes or self.fix_near_key(keys) or self.fix_only_key(keys) or self.fix_key_elsewhere(keys)

    def fix_key_elsewhere(self, keys: dict[object, object]) -> list[_Change]:
        """Return the changes of all equal expressions to the related record with their key, or to a reader's call."""
        node = cast("ast.Subscript", self._node)
        wanted, holder = key_in(node), find_holder(node, keys, self._frame, self._tree)
        if wanted is None or "error" in keys:
            return []
        meant = find_elsewhere(node, keys, self._shapes)[1] if holder is None else item_text(holder, wanted)
        return [(place, meant) for place in equal_readings(node, self._tree)] if meant else []

    def fix_near_key(self, keys: dict[object, object]) -> list[_Change]:
        """Return the changes of all equal expressions to the key spelt alike."""
        near = find_near_key(self._node, keys, self._tree)
        if near is None or "error" in keys or not is_plain_key(near[0]):
            return []
        return [(place, item_text(self._text(place.value), near[0])) for place in near[1]]

    def fix_only_key(self, keys: dict[object, object]) -> list[_Change]:
        """Return the changes of all equal expressions to the only value a missing key of a tool's dict can mean.

        It has the same key one level below, or the dict's only key, a field and no entry such as a name.
        """
        node, wanted = cast("ast.Subscript", self._node), key_in(self._node)
        call = call_of(node.value, self._tree)
        tool = None if call is None else self._shapes.get(called_name(call) or "")
        if call is None or tool is None or wanted is None or len(keys) > _MAX_KEYS or "error" in keys:
            return []
        path: list[object] = []
        inner = [key for key, value in keys.items() if isinstance(value, dict) and wanted in value]
        if len(inner) == 1:
            path = [*inner, wanted]
        elif len(keys) == 1 and not tool.returns.record.keys and self._is_field(wanted, next(iter(keys)), call):
            path = [*keys]
        if not path or not all(map(is_plain_key, path)):
            return []
        written = "".join(item_text("", str(key)) for key in path)
        return [(place, f"{self._text(place.value)}{written}") for place in equal_readings(node, self._tree)]

    def _is_field(self, wanted: str, key: object, call: ast.Call) -> bool:
        """Return whether two keys name fields of a call's result: of a call with arguments, or named for its tool."""
        if not isinstance(key, str) or not (_FIELD.fullmatch(key) and _FIELD.fullmatch(wanted)):
            return False
        others = [node for node in ast.walk(self._tree) if isinstance(node, ast.Constant) and node.value == wanted]
        if len(others) > len(equal_readings(self._node, self._tree)):  # a name from a list of the program, perhaps
            return False
        about = words(called_name(call) or "") | _WRAPPERS
        return bool(call.args or call.keywords or about & (words(wanted) | words(key)))

    def fix_new_key(self, node: ast.Subscript) -> list[_Change]:
        """Return the change for a key without a value to add to: `counts.get(key, 0)`."""
        if not _is_plain(node):
            return []
        text, base, item = map(self._text, (node, node.value, node.slice))
        for inner in ast.walk(self._tree):
            if isinstance(inner, ast.AugAssign) and _is_at(inner.target, node):
                added = self._text(inner.value)
                if not _is_plain(inner.value):
                    added = f"({added})"
                change = inner, f"{text} = {base}.get({item}, 0) + {added}"
                return [change] * (isinstance(inner.op, ast.Add) and self._is_number(inner.value))
            if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.BinOp) and _is_at(inner.value.left, node):
                is_own = [self._text(target) for target in inner.targets] == [text]
                is_sum = isinstance(inner.value.op, ast.Add) and self._is_number(inner.value.right)
                return [(node, f"{base}.get({item}, 0)")] * (is_own and is_sum)
            empty = _EMPTY.get(called_name(inner) or "")
            if empty and isinstance(inner, ast.Call) and _is_at(getattr(inner.func, "value", None), node):
                return [(node, f"{base}.setdefault({item}, {empty})")]
        return []

    def _is_number(self, node: ast.expr) -> bool:
        """Return whether an expression is certain to be a number."""
        if isinstance(node, ast.Constant):
            return type(node.value) in {int, float}
        return type(self._value(node)) in {int, float}

    def fix_attribute(self, error: AttributeError, node: ast.Attribute) -> list[_Change]:
        """Return the change of an attribute: to a key or another attribute spelt alike, or of the loop over a dict."""
        owner: object = error.obj
        if isinstance(owner, dict):
            keys = cast("dict[object, object]", owner)
            return self.fix_near_key(keys) or self.fix_only_key(keys)
        if isinstance(owner, str) and (changes := self.fix_loop(node)):
            return changes
        if type(owner).__module__ == "__main__":  # its own `__dir__` may say anything
            return []
        near = only_spelling(node.attr, [name for name in dir(owner) if not name.startswith("_")])
        return [(node, f"{self._text(node.value)}.{near}")] * (near is not None)

    def fix_order(self) -> list[_Change]:
        """Return the change of an ordering call: by the only key of the records with a simple value."""
        node = self._node
        if not isinstance(node, ast.Call) or called_name(node) not in _ORDERING or node.keywords or len(node.args) > 1:
            return []
        (rows,) = node.args or [getattr(node.func, "value", node)]
        row = _first_item(self._value(rows))
        if not isinstance(row, dict):
            return []
        keys = [key for key, value in cast("dict[str, object]", row).items() if isinstance(value, _SCALARS)]
        if len(keys) != 1 or not is_plain_key(keys[0]):
            return []
        written = [*map(self._text, node.args), f"key=lambda row: {item_text('row', keys[0])}"]
        return [(node, f"{self._text(node.func)}({', '.join(written)})")]

    def fix_loop(self, node: ast.expr) -> list[_Change]:
        """Return the change of a loop around `node` over the keys of one dict: over its only list, or over itself."""
        names = sorted({name.id for name in ast.walk(node) if isinstance(name, ast.Name)})
        loops = [loop for name in names for loop in find_loops(name, node, self._frame, self._shapes)]
        iterables = [(iterated, self._value(iterated)) for iterated, _ in loops]
        dicts = [
            (iterated, cast("dict[object, object]", value)) for iterated, value in iterables if isinstance(value, dict)
        ]
        if len(dicts) != 1:
            return []
        iterated, record = dicts[0]
        text, wanted = self._text(iterated), key_in(node)
        key = _list_key(record)
        item = _first_item(record.get(key))
        is_item = wanted is None and item is not None
        if isinstance(item, dict):
            is_item = wanted in item
        if is_item == (wanted in record):
            return []  # neither can be meant, or both
        if is_item:
            return [(iterated, item_text(text, key or ""))]
        return [(iterated, f"[{text}]")]

    def _value(self, node: ast.expr) -> object:
        """Return the value of an expression, if it is known without a call, or the last result of a tool's call."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id in self._shapes and self._results.get(node.func.id)
        return look_up(node, self._frame)

    def _text(self, node: ast.AST) -> str:
        return ast.get_source_segment(self._program, node) or ""


def _list_key(record: dict[object, object]) -> str | None:
    """Return the only key of a dict with a list; None without one, or of several."""
    if len(record) > _MAX_KEYS:
        return None
    keys = [key for key, value in record.items() if isinstance(value, list)]
    if len(keys) != 1 or not is_plain_key(keys[0]):
        return None
    return keys[0]


def _first_item(rows: object) -> object:
    if not isinstance(rows, list):
        return None
    return next(iter(cast("list[object]", rows)), None)


def _is_plain(node: ast.expr) -> bool:
    return all(isinstance(inner, _PLAIN) for inner in ast.walk(node))


def _is_at(node: ast.AST | None, other: ast.expr) -> bool:
    return isinstance(node, ast.expr) and _position(node) == _position(other)


def _position(node: ast.expr) -> tuple[int, ...]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
