"""The types of calls: of tools, functions of the program, built-in functions, and methods."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..types import INT, NONE, NOTHING, NUMBERS, STR, UNKNOWN, Type, join, members, of_each
from .functions import Function, call_function
from .library import CONSTRUCTORS, method_result, result_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .analysis import Analysis

__all__ = ["CHANGING", "FILLING", "type_of_call"]

# Functions that ask a value what it is: nothing more is known of it then.
_ASKING = frozenset({"callable", "dir", "getattr", "hasattr", "isinstance", "issubclass", "type", "vars"})
# Methods that put keys into a dict, and items into others.
CHANGING = frozenset({"__ior__", "__setitem__", "setdefault", "update"})
FILLING = frozenset({"__iadd__", "add", "append", "appendleft", "extend", "extendleft", "insert"})
# Functions of libraries that change what they are given.
_CHANGING = CHANGING | {
    *("__iadd__", "delattr", "heapify", "heappush", "heappushpop", "heapreplace", "iadd", "iconcat", "insort"),
    *("insort_left", "insort_right", "ior", "setattr", "setitem"),
}
_AWAITING = frozenset({"gather", "run", "wait_for"})
_SUBMITTERS = frozenset({"submit", "to_thread", "call_soon"})
_MODULES_OF_CONSTRUCTORS = frozenset({"builtins", "collections", "datetime", "decimal", "uuid"})
_ITERATED = frozenset({"list", "tuple", "str", "dict", "set", "range"})
_COPIES = {"list": "list", "sorted": "list", "set": "set", "frozenset": "set", "reversed": "view", "iter": "view"}
_SIGNED = frozenset({"int", "float", "timedelta"})
_ADDING = {"append": 0, "add": 0, "insert": 1, "appendleft": 0}


def type_of_call(run: Analysis, node: ast.Call) -> Type:
    """Return the type of a call."""
    function = run.of(node.func)
    arguments = [run.constant(argument) for argument in node.args]
    named = {str(keyword.arg): run.constant(keyword.value) for keyword in node.keywords}
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in _ASKING:
        for argument in node.args:
            run.forget(argument)
    if name in _CHANGING and function.kind != "method":
        run.containers.open(*(argument for argument in arguments if argument.kind))
    is_spread = any(isinstance(argument, ast.Starred) for argument in node.args) or "None" in named
    if is_spread:
        run.containers.leak(*arguments, *named.values())
        arguments = None
    return of_each(function, lambda callee: _result(run, node, callee, arguments, named))


def _result(run: Analysis, node: ast.Call, callee: Type, arguments: list[Type] | None, named: dict[str, Type]) -> Type:
    name = getattr(callee.value, "__name__", "")
    is_of_asyncio = (getattr(callee.value, "__module__", None) or "").startswith("asyncio.")
    is_parallel = isinstance(node.func, ast.Name) and node.func.id == "parallel" and run.is_built_in("parallel")
    result: Type | None = None
    if callee.kind == "tool":
        result = run.shapes[callee.tool].returns
    elif isinstance(callee.value, Function):
        is_elsewhere = callee.value.kind == "async" and run.fails_elsewhere(node)
        with run.silence(silent=is_elsewhere):
            result = call_function(run, callee.value, arguments, named)
    elif callee.kind == "method":
        name, values = str(callee.value), arguments or []
        result = of_each(callee.parts[0], lambda base: _result_of_method(run, node, base, name, values, named))
    elif is_parallel:
        result = _parallel(run, node)
    elif is_of_asyncio and name in _AWAITING:
        result = _awaited_together(run, node, name)
    elif callee.value is dict and not arguments:
        result = Type("dict", item=UNKNOWN if named else NOTHING, keys=named, site=node)
    elif arguments and callee.kind in {"function", "class"}:
        result = _built_in_call(run, node, callee.value, arguments, named)
    if result is not None:
        return result
    _pass_on(run, node, arguments, named)
    run.containers.leak(*(arguments or ()), *named.values())
    if callee.kind == "class":
        return _made_by(callee.value)
    return result_of(callee.value)


def _parallel(run: Analysis, node: ast.Call) -> Type:
    """Return the results of `parallel((tool, x), …)` and `parallel(*[(tool, x) for x in xs])`."""
    calls = [run.types.get(item.value if isinstance(item, ast.Starred) else item, UNKNOWN) for item in node.args]
    if len(calls) == 1 and calls[0].kind != "tuple":
        calls = [run.item_of(calls[0])]
    results: list[Type] = []
    for item in calls:
        tool = item.parts[0] if item.parts else UNKNOWN
        results.append(run.shapes[tool.tool].returns if tool.kind == "tool" else UNKNOWN)
        run.containers.leak(item)
    return Type("list", item=join(results), site=node)


def _awaited_together(run: Analysis, node: ast.Call, name: str) -> Type:
    """Return what `asyncio.run`, `wait_for` and `gather` return."""
    values = [
        run.item_of(run.types[item.value]) if isinstance(item, ast.Starred) else run.types[item] for item in node.args
    ]
    results = [value.item or UNKNOWN if value.kind == "coroutine" else value for value in values]
    if name == "gather":
        return UNKNOWN if node.keywords else Type("list", item=join(results), site=node)
    return results[0] if results else UNKNOWN


def _made_by(cls: object) -> Type:
    name = getattr(cls, "__name__", "")
    if name in CONSTRUCTORS and getattr(cls, "__module__", "") in _MODULES_OF_CONSTRUCTORS:
        return Type(name)
    if cls is list or cls is tuple or cls is set or cls is dict:
        return Type(name, item=NOTHING)
    return UNKNOWN


def _pass_on(run: Analysis, node: ast.Call, arguments: list[Type] | None, named: dict[str, Type]) -> None:
    """Follow the functions that are passed to something that may call them."""
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    items = [run.item_of(argument) for argument in (arguments or ())[1:]]
    for index, value in enumerate([*(arguments or ()), *named.values()]):
        for function in (member.value for member in members(value) if isinstance(member.value, Function)):
            if index == 0 and name == "map" and items:
                call_function(run, function, items, {})
                continue
            with run.silence(silent=run.handles):
                if index == 0 and name in _SUBMITTERS and arguments:
                    call_function(
                        run, function, arguments[1:], {key: value for key, value in named.items() if key != "key"}
                    )
                else:
                    call_function(run, function, None, {})


def _keyed(run: Analysis, named: dict[str, Type], item: Type) -> None:
    """Follow a function passed as `key`."""
    function = named.get("key", UNKNOWN).value
    if isinstance(function, Function):
        call_function(run, function, [item], {})


def _built_in_call(
    run: Analysis, node: ast.Call, function: object, arguments: list[Type], named: dict[str, Type]
) -> Type | None:
    """Return the result of a function whose result depends on its arguments; None for another one."""
    if getattr(function, "__module__", None) not in {"builtins", "collections", "copy"}:
        return None
    name: str = getattr(function, "__name__", "")
    first = run.item_of(arguments[0])
    if name in {"sorted", "min", "max"}:
        _keyed(run, named, first if len(arguments) == 1 else join(arguments))
    if name in {"min", "max", "next"}:
        if len(arguments) > 1 and name != "next":
            return join(arguments)
        default = [named["default"]] if "default" in named else arguments[1:]
        return UNKNOWN if first.kind == "nothing" else join([first, *default])
    if name in {"iter", "reversed"} and arguments[0].kind not in _ITERATED:
        return None  # it may be an iterator of any class
    if name in _COPIES:
        return Type(_COPIES[name], item=first, site=node)
    make = _BUILT_IN.get(name)
    return None if make is None else make(run, node, arguments, named)


def _view_of(item: Type) -> Type:
    return Type("view", item=item)


def _dict_of(run: Analysis, node: ast.Call, arguments: list[Type], named: dict[str, Type]) -> Type:
    base = arguments[0]
    if (base.keys or base.kind == "record") and not run.containers.is_open(base):
        return Type("dict", item=UNKNOWN, keys=run.containers.keys_of(base) | named, site=node)
    return Type("dict", site=node)


def _lazily(run: Analysis, node: ast.Call, arguments: list[Type]) -> Type:
    """Return what `map` and `filter` make of items: they call a function of the program later."""
    items, function = [run.item_of(argument) for argument in arguments[1:]], arguments[0]
    if isinstance(function.value, Function):
        with run.silence(silent=run.fails_elsewhere(node)):
            return call_function(run, function.value, items, {})
    if function.kind == "tool":
        return run.shapes[function.tool].returns
    return _made_by(function.value) if function.kind == "class" else result_of(function.value)


def _sum(run: Analysis, arguments: list[Type], named: dict[str, Type]) -> Type:
    values = members(join([run.item_of(arguments[0]), *arguments[1:], *named.values()]))
    if all(member.kind in NUMBERS for member in values):
        return join([INT, *(member for member in values if member.kind == "float")])
    return UNKNOWN


def _round(arguments: list[Type], named: dict[str, Type]) -> Type:
    if arguments[0].kind not in NUMBERS:
        return UNKNOWN
    return INT if len(arguments) == 1 and not named else arguments[0]


def _defaultdict(run: Analysis, node: ast.Call, factory: Type) -> Type:
    item = UNKNOWN
    if isinstance(factory.value, Function):
        item = call_function(run, factory.value, [], {})
    elif factory.kind == "class":
        item = _made_by(factory.value)
        if item.item is not None:
            item = item._replace(site=(node, "default"))
    return Type("defaultdict", item=item, site=node)


def _passed_back(_run: Analysis, _node: ast.Call, arguments: list[Type], _named: dict[str, Type]) -> Type:
    return arguments[0]


_BUILT_IN: dict[str, Callable[[Analysis, ast.Call, list[Type], dict[str, Type]], Type]] = {
    "Counter": lambda _run, node, _arguments, _named: Type("Counter", item=INT, site=node),
    "abs": lambda _run, _node, values, _named: values[0] if values[0].kind in _SIGNED else UNKNOWN,
    "copy": _passed_back,
    "deepcopy": _passed_back,
    "defaultdict": lambda run, node, values, _named: _defaultdict(run, node, values[0]),
    "dict": _dict_of,
    "enumerate": lambda run, _node, values, _named: _view_of(Type("tuple", parts=(INT, run.item_of(values[0])))),
    "filter": lambda run, node, values, _named: (_lazily(run, node, values), _view_of(run.item_of(values[-1])))[1],
    "map": lambda run, node, values, _named: _view_of(_lazily(run, node, values)),
    "round": lambda _run, _node, values, named: _round(values, named),
    "tuple": lambda run, _node, values, _named: (
        values[0] if values[0].kind == "tuple" else Type("tuple", item=run.item_of(values[0]))
    ),
    "sum": lambda run, _node, values, named: _sum(run, values, named),
    "zip": lambda run, _node, values, _named: _view_of(Type("tuple", parts=tuple(map(run.item_of, values)))),
}


# Methods --------------------------------------------------------------------------------------------------------------


def _result_of_method(
    run: Analysis, node: ast.Call, base: Type, name: str, arguments: Sequence[Type], named: dict[str, Type]
) -> Type:
    kind = base.kind
    if kind in {"list", "set"}:
        return _row_method(run, base, name, arguments, named)
    if base.keys or kind == "record":
        return _record_method(run, node, base, name, arguments, named)
    if kind in {"dict", "defaultdict", "Counter"}:
        return _dict_method(run, base, name, arguments)
    if kind == "deque":
        run.containers.leak(*arguments, *named.values())
    return method_result(kind, name)


def _row_method(run: Analysis, base: Type, name: str, arguments: Sequence[Type], named: dict[str, Type]) -> Type:
    """Return the result of a method of a list or set."""
    index = _ADDING.get(name)
    if index is not None and len(arguments) > index:
        run.containers.add_item(base, arguments[index])
    elif name in {"extend", "update", "symmetric_difference_update"}:
        for argument in arguments:
            run.containers.add_item(base, run.item_of(argument))
    elif name == "sort":
        _keyed(run, named, run.item_of(base))
    elif name in {"copy", "union", "intersection", "difference"}:
        return Type(base.kind, item=join([run.item_of(base), *map(run.item_of, arguments)]))
    elif name == "pop":
        item = run.item_of(base)
        return UNKNOWN if item.kind == "nothing" else item
    return method_result(base.kind, name)


def _record_method(
    run: Analysis, node: ast.Call, base: Type, name: str, arguments: Sequence[Type], named: dict[str, Type]
) -> Type:
    """Return the result of a method of a dict whose keys are known."""
    containers = run.containers
    key = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if name in {"get", "setdefault", "pop"} and isinstance(key, str):
        value = containers.value_of(base, key)
        default = arguments[1] if len(arguments) > 1 else NONE
        if name == "setdefault":
            containers.add_key(base, key, default)
        # A key that is not declared may be there nevertheless.
        return join([value or UNKNOWN, default]) if name == "get" else value or UNKNOWN
    if name == "update":
        others = [argument for argument in arguments if argument.keys and not containers.is_open(argument)]
        if len(others) < len(arguments) or "None" in named:
            containers.open(base)
        for keys in (named, *map(containers.keys_of, others)):
            for added, value in keys.items():
                containers.add_key(base, added, value)
    elif name in {"setdefault", "__setitem__"}:
        containers.open(base)
    if containers.is_open(base):
        return _view(name, UNKNOWN, UNKNOWN)
    keys = containers.keys_of(base)
    if name == "copy":
        return base._replace(kind="dict", keys=keys, site=node)
    return _view(name, STR, join(keys.values()))


def _view(name: str, key: Type, value: Type) -> Type:
    items = {"keys": key, "values": value, "items": Type("tuple", parts=(key, value))}
    return _view_of(items[name]) if name in items else UNKNOWN


def _dict_method(run: Analysis, base: Type, name: str, arguments: Sequence[Type]) -> Type:
    """Return the result of a method of a dict."""
    value, default = run.containers.item_of(base), arguments[1] if len(arguments) > 1 else NONE
    if name == "update":
        run.containers.open(base)
    elif name == "setdefault":
        run.containers.add_item(base, default)
        return join([run.containers.item_of(base), default])
    elif name == "get":
        return join([value, default])
    elif name == "copy":
        return Type("dict", item=value, key=base.key)
    elif name == "pop":
        return UNKNOWN if value.kind == "nothing" else value
    elif name == "most_common":
        return Type("list", item=Type("tuple", parts=(UNKNOWN, INT)))
    return _view(name, run.key_of(base), value)
