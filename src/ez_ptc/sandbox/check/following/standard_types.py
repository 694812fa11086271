"""What the functions and methods of Python return, as far as it depends on no value."""

from __future__ import annotations

import ast
import sys
import types
from typing import TYPE_CHECKING, Any

from ...protocol.both_ends.types import BOOL, FLOAT, INT, NONE, STR, UNKNOWN, Type, samples_of, type_named

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CONSTRUCTORS",
    "OPERATORS",
    "attribute_of",
    "class_member",
    "method_result",
    "module_member",
    "object_type",
    "result_of",
]

_METHODS = """
str: str capitalize casefold center expandtabs format format_map join ljust lower lstrip removeprefix removesuffix
str: str replace rjust rstrip strip swapcase title translate upper zfill
str: int count find index rfind rindex
str: bool endswith isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle
str: bool isupper startswith
str: list[str] rsplit split splitlines
str: bytes encode
list: int count index
list: NoneType append clear extend insert remove reverse sort
tuple: int count index
set: NoneType add clear difference_update discard intersection_update remove symmetric_difference_update update
set: bool isdisjoint issubset issuperset
dict: NoneType clear update
record: NoneType clear update
int: int bit_count bit_length conjugate
float: bool is_integer
datetime: str ctime isoformat strftime
datetime: int isoweekday toordinal weekday
datetime: float timestamp
datetime: date date
datetime: time time
datetime: datetime astimezone replace
date: str ctime isoformat strftime
date: int isoweekday toordinal weekday
date: date replace
time: str isoformat strftime
timedelta: float total_seconds
bytes: str decode hex
"""
_ATTRIBUTES = """
datetime: int year month day hour minute second microsecond
date: int year month day
time: int hour minute second microsecond
timedelta: int days seconds microseconds
"""
_FUNCTIONS = """
builtins: str ascii bin chr format hex input oct repr
builtins: int hash id len ord
builtins: bool all any callable hasattr isinstance issubclass
builtins: NoneType print delattr setattr
json: str dumps
math: float acos asin atan atan2 cos degrees dist exp fabs fmod fsum hypot log log10 log2 radians sin sqrt tan
math: int ceil comb factorial floor gcd isqrt lcm perm
math: bool isclose isfinite isinf isnan
random: float gauss random uniform
random: int randint randrange
re: str escape
re: list findall
statistics: float fmean stdev variance pstdev pvariance
time: float monotonic perf_counter time
textwrap: str dedent fill indent shorten
textwrap: list[str] wrap
"""
_CLASS_METHODS = """
datetime: datetime combine fromisoformat fromtimestamp now strptime today utcnow
date: date fromisoformat fromisocalendar fromordinal fromtimestamp today
"""
# The classes whose calls make a value of that kind, whatever the arguments.
CONSTRUCTORS = frozenset(
    {"str", "int", "float", "bool", "datetime", "date", "time", "timedelta", "Decimal", "range", "bytes", "UUID"}
    | {"deque"}
)
# The submodules of packages that may be attributes of them without being imported by name.
_SUBMODULES = {
    "asyncio": {"windows_events", "windows_utils"},
    "collections": {"abc"},
    "json": {"tool"},
    "logging": {"config", "handlers"},
    "re": set[str](),
}


# What the operators do. What a text takes after `%` depends on what is in it.
OPERATORS: dict[type[ast.AST], Callable[[Any, Any], object]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left if isinstance(left, (str, bytes)) else left % right,
    ast.Pow: lambda left, right: left**right,
    ast.BitAnd: lambda left, right: left & right,
    ast.BitOr: lambda left, right: left | right,
    ast.BitXor: lambda left, right: left ^ right,
    **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), lambda left, right: left < right),
    **dict.fromkeys((ast.In, ast.NotIn), lambda item, items: item in items),
}
_FUNCTION_CLASSES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
# Modules whose names depend on the system.
_VARYING = frozenset({"os", "sys"})


def _table(text: str) -> dict[tuple[str, str], Type]:
    table: dict[tuple[str, str], Type] = {}
    for line in text.strip().splitlines():
        owner, result, *names = line.split()
        table |= {(owner.rstrip(":"), name): type_named(result) for name in names}
    return table


_METHOD_RESULTS, _ATTRIBUTE_TYPES = _table(_METHODS), _table(_ATTRIBUTES)
_FUNCTION_RESULTS, _CLASS_METHOD_RESULTS = _table(_FUNCTIONS), _table(_CLASS_METHODS)


def method_result(kind: str, method: str) -> Type:
    """Return what a method of a built-in class returns."""
    return _METHOD_RESULTS.get((kind, method), UNKNOWN)


def result_of(function: object) -> Type:
    """Return what a function of a module, or a class's own method, returns."""
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type):
        return _CLASS_METHOD_RESULTS.get((owner.__name__, name), UNKNOWN)
    return _FUNCTION_RESULTS.get((getattr(function, "__module__", "") or "", name), UNKNOWN)


def attribute_of(value: Type, name: str) -> Type | None:
    """Return the type of an attribute, "method" if it can be called; None if the value has none of that name."""
    samples = samples_of(value)
    owner = next((sample for sample in samples if hasattr(sample, name)), None)
    if owner is None:
        return None if samples else UNKNOWN
    if callable(getattr(owner, name)) and not name.startswith("__"):
        return Type("method", value=name)
    return _ATTRIBUTE_TYPES.get((value.kind, name), UNKNOWN)


def module_member(module: types.ModuleType, name: str) -> Type | None:
    """Return the type of a name in a module; None if the module certainly has none."""
    names = vars(module)
    if name in names:
        return object_type(names[name])
    is_certain = (
        "__getattr__" not in names
        and module.__name__ not in _VARYING
        and module.__name__.partition(".")[0] in sys.stdlib_module_names
    )
    is_package = hasattr(module, "__path__") and name in _SUBMODULES.get(module.__name__, {name})
    if not is_certain or is_package or f"{module.__name__}.{name}" in sys.modules:
        return UNKNOWN
    return None


def class_member(cls: type, name: str) -> Type | None:
    """Return the type of an attribute of a class that cannot be changed; None if it certainly has none."""
    if cls.__module__ not in {"builtins", "datetime", "decimal"}:
        return UNKNOWN
    return object_type(getattr(cls, name)) if hasattr(cls, name) else None


def object_type(value: object) -> Type:
    """Return the type of a value that exists already: one of a module, or a built-in name."""
    if isinstance(value, types.ModuleType):
        return Type("module", value=value)
    if isinstance(value, type):
        return Type("class", value=value)
    if isinstance(value, _FUNCTION_CLASSES):
        return Type("function", value=value)
    simple: dict[type, Type] = {str: STR, int: INT, float: FLOAT, bool: BOOL, type(None): NONE}
    return simple.get(type(value), UNKNOWN)
