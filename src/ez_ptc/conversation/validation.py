"""Validation of a builder's arguments; each error says what to write instead."""

from __future__ import annotations

import builtins
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from difflib import get_close_matches
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_origin

from ez_ptc._wrong_calls import other_parameters
from ez_ptc.conversation.prices import Price
from ez_ptc.conversation.settings import OWN_OPTIONS
from ez_ptc.errors import ProviderError
from ez_ptc.messages import CACHE_LIFETIMES, Answer, Message
from ez_ptc.schema.safe_repr import safe_name, safe_repr, safe_repr_with_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.messages import Entry

__all__ = [
    "check_entries",
    "check_last_message",
    "check_lifetime",
    "check_limit",
    "check_listener",
    "check_options",
    "check_prices",
    "check_tool",
    "check_toolkit",
    "check_type",
]

F = TypeVar("F", bound=Callable[..., object])

_EXAMPLES: Final[Mapping[str, str]] = {
    "turns": "20",
    "calls": "50",
    "tokens": "100_000",
    "cost": "0.50",
    "text": "10_000",
}
_MODES: Final = ("tool", "prompt")
_OPTION_TYPES: Final[Mapping[str, tuple[tuple[type[object], ...], str]]] = {
    "tool_choice": ((str,), "'auto', 'none', 'required' or the name of a tool"),
    "max_tokens": ((int, NoneType), "a number of tokens"),
    "temperature": ((int, float, NoneType), "a number"),
    "strict": ((bool, NoneType), "True or False"),
    "native_only": ((bool,), "True or False"),
    "hosted_programs": ((bool,), "True or False"),
    "tool_search": ((str, NoneType), "'provider'"),
}
# The modules of what stands for a type without being a class.
_TYPING: Final = frozenset({"types", "typing", "typing_extensions"})
# The similarity of a typo to an option's name; no field of a provider's request comes this close.
_MIN_SIMILARITY: Final = 0.85


def check_lifetime(lifetime: str | None) -> bool | str:
    """Return a cache mark: a lifetime, or True for the default. Raises ValueError for an unknown lifetime."""
    if lifetime is not None and lifetime not in CACHE_LIFETIMES:
        message = f"expected a lifetime of {', '.join(CACHE_LIFETIMES)}, got {safe_repr(lifetime)}: write .cache('1h')"
        raise ValueError(message)
    return lifetime or True


def check_last_message(entries: Sequence[Entry]) -> Message:
    """Return the last message. Raises ValueError if there is none, or if the last entry is an answer."""
    last = entries[-1] if entries else None
    if isinstance(last, Message):
        return last
    actual = "an answer"
    if last is None:
        actual = "nothing"
    message = f"expected a message of yours to mark, got {actual}: write .cache() after .agent(...) or .request(...)"
    raise ValueError(message)


def check_tool(function: object) -> Callable[..., object]:
    """Return a function to make a tool of. Raises TypeError for anything but a function."""
    if hasattr(type(function), "as_async_tool"):
        message = (
            f"expected a function, got a {type(function).__name__}: write .toolkit(toolkit) for programs, or "
            f".tools(*toolkit) for single calls"
        )
        raise TypeError(message)
    if callable(function):
        return function
    message = (
        f"expected a function, got {type(function).__name__}: pass the functions themselves, as in .tools(find, book), "
        f"without calling them"
    )
    raise TypeError(message)


def check_toolkit(toolkit: object, mode: object) -> None:
    """Check a toolkit and its mode. Raises TypeError for anything but a Toolkit, ValueError for an unknown mode."""
    from ez_ptc.toolkit.toolkit import Toolkit

    if not isinstance(toolkit, Toolkit):
        message = (
            f"expected a Toolkit, got {type(toolkit).__name__}: write .toolkit(Toolkit([find, book])) with tools made "
            f"by @ez_tool, or .tools(find, book) for single calls"
        )
        raise TypeError(message)
    if mode not in _MODES:
        message = f"unknown mode {safe_repr(mode)}; expected 'tool' or 'prompt'"
        raise ValueError(message)


def check_type(kind: object) -> None:
    """Check the type of an answer. Raises TypeError for anything but a type, such as its name or a value of it."""
    is_special = type(kind).__module__ in _TYPING or isinstance(kind, typing.NewType)
    if kind is None or isinstance(kind, type) or get_origin(kind) is not None or is_special:
        return
    advice = "pass the type itself, such as int, list[str] or a class"
    if isinstance(kind, str):
        if hasattr(builtins, kind):
            advice = f"write {kind} without quotes"
    elif is_dataclass(kind) or hasattr(type(kind), "model_fields"):
        advice = f"pass the class {safe_name(type(kind).__name__)}, not an object of it"
    message = f"expected a type, got {safe_repr_with_type(kind)}: {advice}"
    raise TypeError(message)


def check_entries(entries: Iterable[object]) -> None:
    """Raise TypeError for an entry of a conversation other than a message or an answer."""
    for entry in entries:
        if not isinstance(entry, Message | Answer):
            advice = "make one, as in TextMessage('Hi'), or write .request('Hi')"
            if type(entry) in (list, tuple):
                advice = "pass them one by one, .continued(*entries)"
            elif hasattr(entry, "entries"):
                advice = "pass its entries, .continued(*conversation.entries)"
            message = f".continued() expected messages and answers, got {safe_repr_with_type(entry)}: {advice}"
            raise TypeError(message)


def check_listener(listen: F) -> F:
    """Return a listener. Raises TypeError for anything but a function, and for an asynchronous one."""
    if not callable(listen):
        message = f".on_tool_call() expected a function, got {type(listen).__name__}: pass it without calling it"
        raise TypeError(message)
    if inspect.iscoroutinefunction(listen) or inspect.iscoroutinefunction(getattr(listen, "__call__", None)):  # noqa: B004 - an object with an asynchronous __call__ is meant
        message = ".on_tool_call() expected a plain function, got an async one: start a task in a plain one instead"
        raise TypeError(message)
    other = other_parameters(listen, 1)
    if other is not None:
        message = f".on_tool_call() expected a function of one argument, the record of a call, got {other}"
        raise TypeError(message)
    return listen


def check_limit(name: str, value: object) -> object:
    """Return a limit. Raises TypeError for a wrong type, ValueError unless it is positive and finite."""
    actual = safe_repr(str(value) if isinstance(value, Decimal) else value)
    hint = f"write .limits({name}={_EXAMPLES[name]})"
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        message = f"the limit `{name}` must be a number, got {actual}: {hint}"
        raise TypeError(message)
    if name != "cost" and not isinstance(value, int):
        message = f"the limit `{name}` must be an int, got {actual}: {hint}"
        raise TypeError(message)
    if not (isinstance(value, int) or Decimal(value).is_finite()):
        message = f"the limit `{name}` must be finite, got {actual}: {hint}"
        raise ValueError(message)
    if value <= 0:
        message = f"the limit `{name}` must be positive, got {actual}: {hint}"
        raise ValueError(message)
    return value


def check_prices(prices: Mapping[str, Price]) -> Mapping[str, Price]:
    """Return prices. Raises TypeError for anything but `Price` objects."""
    for model, price in cast("Iterable[tuple[str, object]]", prices.items()):
        if not isinstance(price, Price):
            message = (
                f"expected a Price for {safe_repr(model)}, got {type(price).__name__}: write "
                f"Price.of('2', '0.20', '10'), US dollars for a million tokens of input, cached input, and output"
            )
            raise TypeError(message)
    return prices


def check_options(options: Mapping[str, Any]) -> None:
    """Check options. Unknown ones are fields of the request.

    Raises TypeError for a misspelt option of ours, and ProviderError for one of the wrong type.
    """
    for name, value in options.items():
        near = get_close_matches(name, (*OWN_OPTIONS, "message"), n=1, cutoff=_MIN_SIMILARITY)
        if near and name != near[0]:
            message = f"unknown option {safe_repr(name)}; did you mean {near[0]!r}?"
            raise TypeError(message)
        types, expected = _OPTION_TYPES.get(name, ((object,), ""))
        # True is an int, but no number.
        is_wrong = not isinstance(value, types) or (isinstance(value, bool) and int in types)
        if is_wrong or (name == "tool_search" and value not in {None, "provider"}):
            message = f"the option {name}: expected {expected}, got {safe_repr_with_type(value)}"
            raise ProviderError(message)
