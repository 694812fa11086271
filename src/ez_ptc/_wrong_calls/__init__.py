"""Errors of calls whose arguments do not fit: in the names that users know, with a suggestion.

CPython's own message names the class that defines a method, which may be an internal one, and suggests nothing before
Python 3.13. `explain_calls` decorates the functions and classes that users call, and checks the arguments' types.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FunctionType, TracebackType
from typing import Any, Final, TypeVar, cast, overload

from ez_ptc._wrong_calls.argument_types import Expectation, declare, other_parameters, read_expectations
from ez_ptc._wrong_calls.earlier_names import ATTRIBUTES, KEYWORDS, install_advice

__all__ = [
    "check_id",
    "check_path",
    "explain_calls",
    "other_parameters",
    "refuse_interrupted_import",
    "text_advice",
    "unknown_name",
]

T = TypeVar("T")

_TAKES_ANY_KEYWORD: Final = 0x08  # inspect.CO_VARKEYWORDS; `inspect` takes longer to import than all of this
_IS_COROUTINE: Final = 0x80
_TEXTS: Final[Mapping[str, str]] = {
    "NoneType": "write the text, or leave this message out",
    "bytes": "write .decode()",
    "coroutine": "await it first",
}
_MAX_LISTED: Final = 20
_MAX_SHOWN: Final = 5
# Arguments, beside the object itself, that may be in a wrong order.
_MIN_ORDERED: Final = 2
# Dataclasses with so many fields that `help` of the class would list two lines of each as data.
_WITHOUT_DEFAULTS: Final = frozenset({"Toolkit"})


def unknown_name(name: str, known: Iterable[str]) -> str:
    """Return what to say of an unknown name: the nearest known one as a suggestion, or else all known ones."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(name, names, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    if not names:
        return "expected none"
    text = f"expected one of {', '.join(names[:_MAX_LISTED])}"
    if len(names) > _MAX_LISTED:
        text += f", … ({len(names)} in all)"
    return text


def check_id(value: object, owner: str) -> str:
    """Return an id. Raises TypeError for anything but text, such as the object that has the id."""
    if isinstance(value, str):
        return value
    attribute = next((name for name in ("run_id", "id") if hasattr(value, name)), None)
    message = f"expected the id of {owner} (str), got {type(value).__name__}"
    if attribute is not None:
        message += f": pass its .{attribute}"
    raise TypeError(message)


def check_path(value: T, owner: str) -> T:
    """Return a path. Raises TypeError for anything else."""
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return value
    message = f"{owner} is made with the path of its file; got {type(value).__name__}"
    raise TypeError(message)


def text_advice(value: object) -> str:
    """Return advice for a message of another type than text."""
    others = "convert it with str(...), or add several messages one by one, as in .request(...).assistant(...)"
    return _TEXTS.get(type(value).__name__, others)


def refuse_interrupted_import(error: Exception, name: str) -> None:
    """Raise SandboxError if an error came from the use of a module of ours that is half made.

    A signal handler that has interrupted the first import of one cannot use it before it returns.
    """
    # Not a module of a user's, such as 'ez_ptc_shop'.
    if not re.search(r"partially initialized module 'ez_ptc['.]", str(error)):
        return
    from ez_ptc.errors import SandboxError

    message = (
        f"{name}: used in a signal handler that has interrupted the first import of a module of ez_ptc, which cannot "
        "go on before the handler returns: run a program once before, such as Toolkit([]).execute('1')"
    )
    raise SandboxError(message) from error


@overload
def explain_calls(target: T, /) -> T: ...
@overload
def explain_calls(*, checks: str) -> Callable[[T], T]: ...
def explain_calls(target: object = None, /, *, checks: str = "") -> object:
    """Decorate a public function, or a public class with all its public methods, inherited ones included.

    `checks` declares what the function or class checks itself, with messages that say more: words such as `code` (this
    parameter of all methods), `load(id)` (of one), `run()` (all of one) and `names:str` (a list: only text is for it).
    """
    declared = frozenset(checks.split())
    if target is None:
        return functools.partial(_explain_target, declared=declared)
    return _explain_target(target, declared=declared)


def _explain_target(target: object, *, declared: frozenset[str]) -> object:
    if isinstance(target, type):
        _decorate_class(cast("type[object]", target), declared)
        if target.__name__ in _WITHOUT_DEFAULTS:
            _drop_defaults(cast("type[object]", target))
        if target.__name__ in ATTRIBUTES:
            install_advice(cast("type[object]", target))
        return cast("object", target)
    function = cast("FunctionType", target)
    return _explained(function, function.__name__, declared)


def _drop_defaults(cls: type[object]) -> None:
    """Remove a dataclass's defaults from the class; its `__init__` has them. Instances have all attributes."""
    for name in cast("Mapping[str, object]", vars(cls)["__dataclass_fields__"]):
        if name in vars(cls):
            delattr(cls, name)


def _decorate_class(cls: type[object], declared: frozenset[str]) -> None:
    members: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == "ez_ptc":
            members |= vars(base)
    for name, member in members.items():
        if name.startswith("_") and name != "__init__":
            continue
        shown = cls.__name__ if name == "__init__" else f"{cls.__name__}.{name}"
        if isinstance(member, FunctionType):
            setattr(cls, name, _explained(member, shown, declared))
        elif isinstance(member, classmethod | staticmethod):
            wrapped = cast("classmethod[Any, Any, Any]", member)
            setattr(cls, name, type(wrapped)(_explained(cast("FunctionType", wrapped.__func__), shown, declared)))


def _explained(function: FunctionType, name: str, declared: frozenset[str]) -> Callable[..., Any]:
    """Return a function that calls another one, known to users by `name`."""
    function = innermost = getattr(function, "__explained__", function)
    wrappers = 1
    while hasattr(innermost, "__wrapped__"):
        innermost, wrappers = cast("FunctionType", vars(innermost)["__wrapped__"]), wrappers + 1
    declare(innermost, name, declared)
    check = _ArgumentCheck(innermost, name)
    call: Callable[..., Any]
    if function.__code__.co_flags & _IS_COROUTINE:

        @functools.wraps(function)
        async def call_and_await(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the function's own
            if check.is_needed:
                check(args, kwargs)
            try:
                coroutine = function(*args, **kwargs)
            except TypeError as error:
                raise _explain(error, innermost, name, args, kwargs) from None
            return await coroutine

        call = call_and_await
    else:

        @functools.wraps(function)
        def call_and_return(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the function's own
            if check.is_needed:
                check(args, kwargs)
            try:
                return function(*args, **kwargs)
            except (ImportError, TypeError) as error:
                if _depth(error.__traceback__) > wrappers:
                    refuse_interrupted_import(error, name)
                    raise  # by the function itself
                raise _explain(error, innermost, name, args, kwargs) from None

        call = call_and_return
    vars(call)["__explained__"] = function
    return call


class _ArgumentCheck:
    """A check of a function's arguments by its annotations, which are read at the first call."""

    __slots__ = ("_expectations", "_function", "_known", "_name", "_positional", "is_needed")

    def __init__(self, function: FunctionType, name: str) -> None:
        self._function, self._name = function, name
        self._positional = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._expectations: dict[str, Expectation] | None = None
        # By parameter, the types whose values are right: nearly all calls need no more.
        self._known: dict[str, set[type[object]]] = {}
        self.is_needed = True
        """Whether any argument is checked; True until the first call."""

    def __call__(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """Raise TypeError for an argument of a wrong type, and ValueError for an unknown choice."""
        if self._expectations is None:
            expectations = read_expectations(self._function, self._name)
            self._known = {name: expectation.known for name, expectation in expectations.items()}
            self._expectations, self.is_needed = expectations, bool(expectations)
        known = self._known
        for name, value in zip(self._positional, args):  # noqa: B905 - with `strict`, it takes twice the time
            if name in known and type(value) not in known[name]:
                self._look_closer(name, value, args, kwargs)
        if kwargs:
            for name, value in kwargs.items():
                if name in known and type(value) not in known[name]:
                    self._look_closer(name, value, (), kwargs)

    def _look_closer(self, name: str, value: object, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        expectation = cast("dict[str, Expectation]", self._expectations)[name]
        if expectation.accepts(value):
            return
        code = self._function.__code__
        if not code.co_flags & _TAKES_ANY_KEYWORD and not kwargs.keys() <= {*_keywords(code)}:
            return  # CPython refuses the call for a keyword, and that is the error to see first
        message = _tools_one_by_one(self._name, self._positional, args)
        if message is not None:
            raise TypeError(message)
        message = f"{self._name}(): {expectation.problem(name, value)}"
        if len(args) > _MIN_ORDERED:
            message += f"; its order is {self._name}({', '.join(self._positional[1:])})"
        if isinstance(value, str) and expectation.choices:
            message += f": {unknown_name(value, expectation.choices)}"
            raise ValueError(message)
        raise TypeError(message)


def _depth(traceback: TracebackType | None) -> int:
    depth = 0
    while traceback is not None:
        traceback, depth = traceback.tb_next, depth + 1
    return depth


def _tools_one_by_one(name: str, positional: tuple[str, ...], args: tuple[object, ...]) -> str | None:
    """Return the message for tools passed one by one, as in Toolkit(find, book), instead of in a list; else None."""
    if positional[1:2] != ("tools",) or len(args) <= _MIN_ORDERED:
        return None
    things: list[object] = []
    for argument in args[1:]:
        things += cast("list[object]", argument) if isinstance(argument, list | tuple) else [argument]
    if not all(map(callable, things)):
        return None
    names = ", ".join(str(getattr(thing, "__name__", "...")) for thing in things[:_MAX_LISTED])
    return f"{name}(): expected one list of tools, got several arguments: write {name}([{names}])"


def _explain(
    error: Exception, function: FunctionType, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> TypeError:
    one_by_one = _tools_one_by_one(name, function.__code__.co_varnames[:2], args)
    if one_by_one is not None:
        return TypeError(one_by_one)
    code = function.__code__
    known = _keywords(code)
    unknown = [keyword for keyword in kwargs if keyword not in known]
    names = [keyword for keyword in known if not keyword.startswith("_") and keyword not in {"self", "cls"}]
    if code.co_argcount == 1 < len(args) and code.co_flags & _TAKES_ANY_KEYWORD:
        short = name.rpartition(".")[2]
        return TypeError(
            f"{name}() takes all arguments by name, got {len(args) - 1} by position: write {short}(name=value, ...), "
            f"or {short}(**arguments) for those in a dict"
        )
    if not unknown or code.co_flags & _TAKES_ANY_KEYWORD:
        message = str(error).replace(f"{function.__qualname__}()", f"{name}()")
        if unknown and "missing" in message:  # as a misspelt one is, among keywords for something else
            message += f"; got the keyword argument {unknown[0]!r}: {unknown_name(unknown[0], names)}"
        elif "positional argument" in message and "missing" not in message and code.co_kwonlyargcount:
            by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
            message += f"; by name it takes {', '.join(f'{name}=...' for name in by_name[:_MAX_SHOWN])}"
        return TypeError(message)
    advice = KEYWORDS.get(unknown[0]) or unknown_name(unknown[0], names)
    return TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}: {advice}")


def _keywords(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
