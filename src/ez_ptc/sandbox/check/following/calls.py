"""The types of calls: of tools, functions of the program, built-in functions, and methods."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...protocol.both_ends.types import INT, NONE, NOTHING, NUMBERS, UNKNOWN, Type, join, members, of_each
from .functions import ProgramFunction, call_function
from .names import called_name
from .standard_types import CONSTRUCTORS, method_result, result_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .analysis import Analysis

__all__ = ["CHANGING", "type_of_call"]

# Functions that ask a value what it is: nothing more is known of it then.
_ASKING = frozenset({"callable", "dir", "getattr", "hasattr", "isinstance", "issubclass", "type", "vars"})
# Methods that put something into a container.
CHANGING = frozenset(
    {"__iadd__", "__ior__", "__setitem__", "add", "append", "appendleft", "extend", "extendleft", "insert"}
    | {"setdefault", "update"}
)
# Functions of libraries that change what they are given.
_CHANGING = CHANGING | {
    *("__iadd__", "delattr", "heapify", "heappush", "heappushpop", "heapreplace", "iadd", "iconcat", "insort"),
    *("insort_left", "insort_right", "ior", "setattr", "setitem"),
}
_SUBMITTERS = frozenset({"submit", "to_thread", "call_soon"})
_MODULES_OF_CONSTRUCTORS = frozenset({"builtins", "collections", "datetime", "decimal", "uuid"})
_ITERATED = frozenset({"list", "tuple", "str", "dict", "set", "range"})
_COPIES = {"list": "list", "sorted": "list", "set": "set", "frozenset": "set", "reversed": "view", "iter": "view"}


@dataclass(frozen=True, slots=True)
class _TypedCall:
    """A call with the types of its arguments, or without those by position if their number is not known."""

    run: Analysis
    node: ast.Call
    arguments: list[Type]
    named: dict[str, Type]
    is_spread: bool

    @property
    def items(self) -> list[Type]:
        """The types of the items of each argument."""
        return [self.run.item_of(argument) for argument in self.arguments]


def type_of_call(run: Analysis, node: ast.Call) -> Type:
    """Return the type of a call."""
    function = run.of(node.func)
    arguments = [run.constant(argument) for argument in node.args]
    named = {str(keyword.arg): run.constant(keyword.value) for keyword in node.keywords}
    name = called_name(node)
    if name in _ASKING:
        for argument in node.args:
            run.forget(argument)
    if name in _CHANGING and function.kind != "method":
        run.containers.open(*(argument for argument in arguments if argument.kind))
    call = _TypedCall(run, node, arguments, named, is_spread=False)
    if any(isinstance(argument, ast.Starred) for argument in node.args) or "None" in named:
        call = _TypedCall(run, node, [], named, is_spread=True)
    return of_each(function, lambda callee: _result(call, callee))


def _result(call: _TypedCall, callee: Type) -> Type:
    run, node, arguments, named = call.run, call.node, call.arguments, call.named
    result: Type | None = None
    if callee.kind == "tool":
        result = run.shapes[callee.tool].returns
    elif isinstance(callee.value, ProgramFunction):
        with run.silence(silent=callee.value.kind == "async" and run.fails_elsewhere(node)):
            result = call_function(run, callee.value, None if call.is_spread else arguments, named)
    elif callee.kind == "method":
        result = of_each(callee.parts[0], lambda base: _result_of_method(call, base, str(callee.value)))
    elif isinstance(node.func, ast.Name) and node.func.id == "parallel" and run.is_built_in("parallel"):
        result = _parallel(call)
    elif callee.kind in {"function", "class"}:
        result = _built_in_call(call, callee.value)
    if result is not None:
        return result
    _pass_on(call)
    return _made_by(callee.value) if callee.kind == "class" else result_of(callee.value)


def _parallel(call: _TypedCall) -> Type:
    """Return the results of `parallel((tool, x), …)` and `parallel(*[(tool, x) for x in xs])`."""
    run = call.run
    calls = [run.types.get(getattr(item, "value", item), UNKNOWN) for item in call.node.args]
    if len(calls) == 1 and calls[0].kind != "tuple":
        calls = [run.item_of(calls[0])]
    tools = [item.parts[0] if item.parts else UNKNOWN for item in calls]
    results = [run.shapes[tool.tool].returns if tool.kind == "tool" else UNKNOWN for tool in tools]
    return Type("list", item=join(results), site=call.node)


def _made_by(cls: object) -> Type:
    name = getattr(cls, "__name__", "")
    if name in CONSTRUCTORS and getattr(cls, "__module__", "") in _MODULES_OF_CONSTRUCTORS:
        return Type(name)
    if cls is list or cls is tuple or cls is set or cls is dict:
        return Type(name, item=NOTHING)
    return UNKNOWN


def _pass_on(call: _TypedCall) -> None:
    """Follow the functions among the arguments: the callee may call them."""
    name = called_name(call.node)
    passed: list[Type] | None = None
    if name == "map":
        passed = call.items[1:] or None
    elif name in _SUBMITTERS and call.arguments:
        passed = call.arguments[1:]
    for index, value in enumerate([*call.arguments, *call.named.values()]):
        for function in (member.value for member in members(value) if isinstance(member.value, ProgramFunction)):
            is_known = index == 0 and passed is not None
            with call.run.silence(silent=call.run.facts.handles and not (is_known and name == "map")):
                call_function(call.run, function, passed if is_known else None, call.named if is_known else {})


def _keyed(call: _TypedCall, item: Type) -> None:
    """Follow a function passed as `key`."""
    function = call.named.get("key", UNKNOWN).value
    if isinstance(function, ProgramFunction):
        call_function(call.run, function, [item], {})


def _built_in_call(call: _TypedCall, function: object) -> Type | None:
    """Return the result of a function whose result depends on its arguments; None for another one."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    arguments = call.arguments
    if module not in {"builtins", "collections", "copy"} or not (arguments or function is dict):
        return None
    first = call.run.item_of(arguments[0]) if arguments else UNKNOWN
    if name in {"sorted", "min", "max"}:
        _keyed(call, first if len(arguments) == 1 else join(arguments))
    if name in {"min", "max", "next"}:
        if len(arguments) > 1 and name != "next":
            return join(arguments)
        default = [call.named["default"]] if "default" in call.named else arguments[1:]
        return UNKNOWN if first.kind == "nothing" else join([first, *default])
    if name in _COPIES and (name not in {"iter", "reversed"} or arguments[0].kind in _ITERATED):
        return Type(_COPIES[name], item=first, site=call.node)
    return _BUILT_IN[name](call) if name in _BUILT_IN else None


def _lazily(call: _TypedCall) -> Type:
    """Return the items made by `map` and `filter`: they call a function of the program later."""
    run, function = call.run, call.arguments[0]
    if isinstance(function.value, ProgramFunction):
        with run.silence(silent=run.fails_elsewhere(call.node)):
            return call_function(run, function.value, call.items[1:], {})
    if function.kind == "tool":
        return run.shapes[function.tool].returns
    return _made_by(function.value) if function.kind == "class" else result_of(function.value)


def _sum(call: _TypedCall) -> Type:
    numbers = members(join([call.items[0], *call.arguments[1:], *call.named.values()]))
    if all(member.kind in NUMBERS for member in numbers):
        return join([INT, *(member for member in numbers if member.kind == "float")])
    return UNKNOWN


def _defaultdict(call: _TypedCall) -> Type:
    factory, item = call.arguments[0], UNKNOWN
    if isinstance(factory.value, ProgramFunction):
        item = call_function(call.run, factory.value, [], {})
    elif factory.kind == "class":
        item = _made_by(factory.value)
        if item.item is not None:
            item = item._replace(site=(call.node, "default"))
    return Type("defaultdict", item=item, site=call.node)


def _view_of(*items: Type) -> Type:
    """Return an iterator over items, or over tuples of them."""
    return Type("view", item=items[0] if len(items) == 1 else Type("tuple", parts=items))


_BUILT_IN: dict[str, Callable[[_TypedCall], Type]] = {
    "Counter": lambda call: Type("Counter", item=INT, site=call.node),
    **dict.fromkeys(("abs", "copy", "deepcopy"), lambda call: call.arguments[0]),
    "defaultdict": _defaultdict,
    "dict": lambda call: Type("dict", item=UNKNOWN if call.arguments or call.named else NOTHING, site=call.node),
    "enumerate": lambda call: _view_of(INT, call.items[0]),
    "filter": lambda call: (_lazily(call), _view_of(call.items[-1]))[1],
    "map": lambda call: _view_of(_lazily(call)),
    "round": lambda call: INT if len(call.arguments) == 1 and not call.named else call.arguments[0],
    "tuple": lambda call: call.arguments[0] if call.arguments[0].kind == "tuple" else Type("tuple", item=call.items[0]),
    "sum": _sum,
    "zip": lambda call: Type("view", item=Type("tuple", parts=tuple(call.items))),
}


# Methods --------------------------------------------------------------------------------------------------------------


def _result_of_method(call: _TypedCall, base: Type, name: str) -> Type:
    if base.kind in {"list", "set"}:
        return _row_method(call, base, name)
    if base.keys or base.kind in {"record", "dict", "defaultdict", "Counter"}:
        return _dict_method(call, base, name)
    return method_result(base.kind, name)


def _row_method(call: _TypedCall, base: Type, name: str) -> Type:
    """Return the result of a method of a list or set."""
    run, arguments = call.run, call.arguments
    if name in {"add", "append", "insert"} and arguments:
        run.containers.add_item(base, arguments[-1])
    elif name in {"__iadd__", "extend", "update", "symmetric_difference_update"}:
        for item in call.items:
            run.containers.add_item(base, item)
    elif name == "sort":
        _keyed(call, run.item_of(base))
    elif name in {"copy", "union", "intersection", "difference"}:
        return Type(base.kind, item=join([run.item_of(base), *call.items]))
    elif name == "pop":
        item = run.item_of(base)
        return UNKNOWN if item.kind == "nothing" else item
    return method_result(base.kind, name)


def _dict_method(call: _TypedCall, base: Type, name: str) -> Type:
    """Return the result of a method of a dict; one with known keys is looked at by key."""
    run, containers = call.run, call.run.containers
    default = call.arguments[1] if len(call.arguments) > 1 else NONE
    has_keys, is_open = bool(base.keys) or base.kind == "record", containers.is_open(base) or base.is_open
    key = call.node.args[0].value if call.node.args and isinstance(call.node.args[0], ast.Constant) else None
    # A key that is not declared may be there nevertheless.
    value = (containers.value_of(base, str(key)) or UNKNOWN) if has_keys else containers.item_of(base)
    if name in CHANGING and (has_keys or name in {"__ior__", "update"}):
        containers.open(base)
    elif name in CHANGING:
        containers.add_item(base, default)
    if name in {"get", "setdefault"}:
        return join([value, default])
    if name == "pop":
        return UNKNOWN if value.kind == "nothing" else value
    if name == "most_common":
        return Type("list", item=Type("tuple", parts=(UNKNOWN, INT)))
    if has_keys and not is_open:
        value = join(containers.keys_of(base).values())
    if name == "copy":
        keys = containers.keys_of(base) if has_keys and not is_open else {}
        return Type("dict", item=UNKNOWN if keys else value, key=base.key, keys=keys, tool=base.tool, site=call.node)
    views = {"keys": [run.key_of(base)], "values": [value], "items": [run.key_of(base), value]}
    return _view_of(*views[name]) if name in views else method_result(base.kind, name)
