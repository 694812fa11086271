"""What a builder is given, checked where it is given: each complaint says what to write instead."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ez_ptc.conversation.loop.settings import OWN_OPTIONS
from ez_ptc.conversation.prices import Price
from ez_ptc.messages import CACHE_LIFETIMES, Message
from ez_ptc.schema.safe_repr import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.messages import Entry

__all__ = [
    "check_function",
    "check_lifetime",
    "check_limit",
    "check_listener",
    "check_options",
    "check_prices",
    "check_said",
    "check_text",
    "check_tool",
    "check_toolkit",
]

F = TypeVar("F", bound=Callable[..., object])

_EXAMPLES: Final[Mapping[str, str]] = {"turns": "20", "calls": "50", "tokens": "100_000", "cost": "0.50"}
_LIMITS: Final = tuple(_EXAMPLES)
_MODES: Final = ("tool", "prompt")
# As near to a name as a slip of the fingers is; fields that providers really have are further off.
_ALIKE: Final = 0.85


def check_text(text: object) -> None:
    """Check what is said. Raises TypeError for what is no text."""
    if not isinstance(text, str):
        message = (
            f"what is said is text, got {type(text).__name__}: write str(...) around it, or say several messages one "
            f"by one, as in .request(...).assistant(...)"
        )
        raise TypeError(message)


def check_lifetime(lifetime: str | None) -> bool | str:
    """Return a mark for a cache: how long it lives, or True for as long as is usual. Raises ValueError for another."""
    if lifetime is not None and lifetime not in CACHE_LIFETIMES:
        message = f"expected a lifetime of {', '.join(CACHE_LIFETIMES)}, got {shown(lifetime)}: write .cache('1h')"
        raise ValueError(message)
    return True if lifetime is None else lifetime


def check_said(entries: Sequence[Entry]) -> Message:
    """Return what was said last. Raises ValueError where nothing was, or where it is an answer."""
    last = entries[-1] if entries else None
    if isinstance(last, Message):
        return last
    came = "nothing" if last is None else "an answer"
    message = f"expected a message of yours to mark, got {came}: write .cache() after .agent(...) or .request(...)"
    raise ValueError(message)


def check_tool(function: object) -> Callable[..., object]:
    """Return a function that is to be a tool. Raises TypeError for what is none."""
    if callable(function):
        return function
    message = (
        f"a tool is a function, got {type(function).__name__}: write .tools(find, book), the functions themselves, "
        f"without calling them"
    )
    raise TypeError(message)


def check_toolkit(toolkit: object, mode: object) -> None:
    """Check a toolkit and how it is used. Raises TypeError for what is none, and ValueError for another mode."""
    from ez_ptc.toolkit.toolkit import Toolkit

    if not isinstance(toolkit, Toolkit):
        message = (
            f"a Toolkit is wanted, got {type(toolkit).__name__}: write .toolkit(Toolkit([find, book])) with tools that "
            f"@ez_tool has made, or .tools(find, book) for single calls"
        )
        raise TypeError(message)
    if mode not in _MODES:
        message = f"the mode of a toolkit is 'tool' or 'prompt', got {shown(mode)}"
        raise ValueError(message)


def check_function(function: F, step: str) -> F:
    """Return a function that is called later. Raises TypeError for what is none."""
    if not callable(function):
        message = f".{step}() takes a function, got {type(function).__name__}: give the function itself, uncalled"
        raise TypeError(message)
    return function


def check_listener(listen: F) -> F:
    """Return who is told of calls. Raises TypeError for what is no function, and for one to be awaited."""
    check_function(listen, "on_tool_call")
    if any(inspect.iscoroutinefunction(each) for each in (listen, getattr(listen, "__call__", None))):  # noqa: B004 - an object with an asynchronous __call__ is meant
        message = (
            "the function that .on_tool_call() takes is not awaited: write it without async, and start a task in it"
        )
        raise TypeError(message)
    return listen


def check_limit(name: str, value: object) -> object:
    """Return a limit. Raises TypeError for an unknown name and for a wrong type, ValueError unless it is positive."""
    if name not in _LIMITS:
        message = f"there is no limit {shown(name)}: there are {', '.join(_LIMITS)}"
        raise TypeError(message)
    given = str(value) if isinstance(value, Decimal) else value
    got = f"got {shown(given)}: write .limits({name}={_EXAMPLES[name]})"
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        message = f"the limit of {name} is a number, {got}"
        raise TypeError(message)
    if name != "cost" and not isinstance(value, int):
        message = f"the limit of {name} is a whole number, {got}"
        raise TypeError(message)
    is_finite = value.is_finite() if isinstance(value, Decimal) else isinstance(value, int) or math.isfinite(value)
    if not is_finite:
        message = f"the limit of {name} is a finite number, {got}"
        raise ValueError(message)
    if value <= 0:
        message = f"the limit of {name} is more than 0, {got}"
        raise ValueError(message)
    return value


def check_prices(prices: Mapping[str, Price]) -> Mapping[str, Price]:
    """Return prices. Raises TypeError for what is none."""
    for model, price in cast("Iterable[tuple[str, object]]", prices.items()):
        if not isinstance(price, Price):
            message = (
                f"the price of {shown(model)} is a Price, got {type(price).__name__}: write "
                f"Price.of('2', '0.20', '10'), US dollars for a million tokens that are "
                f"read, read from a cache, and written"
            )
            raise TypeError(message)
    return prices


def check_options(options: Mapping[str, Any]) -> None:
    """Check options, of which any is sent that is not ours. Raises TypeError for ours, mistyped."""
    for name in options:
        near = get_close_matches(name, OWN_OPTIONS, n=1, cutoff=_ALIKE)
        if near and name != near[0]:
            message = f"there is no option {shown(name)}: did you mean {near[0]!r}?"
            raise TypeError(message)
