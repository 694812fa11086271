"""The line of a cell: its toolkit and its options."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING, Final

from ez_ptc._wrong_calls import unknown_name
from ez_ptc.schema.safe_repr import safe_name, safe_names, safe_repr
from ez_ptc.toolkit.toolkit import Toolkit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CellOptions", "find_toolkit"]

_USAGE: Final = "Usage: %%ez_ptc [TOOLKIT] [--timeout SECONDS] [--out NAME]"
_OPTIONS: Final = {"--timeout": "timeout", "-t": "timeout", "--out": "out", "-o": "out"}


@dataclass(frozen=True, slots=True)
class CellOptions:
    """What the line of a cell says: the toolkit, the timeout, and the variable for the result."""

    toolkit: Toolkit
    timeout: float | None = None
    out: str | None = None

    @classmethod
    def of(cls, line: str, namespace: Mapping[str, object]) -> CellOptions:
        """Return the options in a line; `namespace` has the notebook's variables. Raises ValueError for others."""
        names, values = _read_words(line)
        if len(names) > 1:
            message = f"expected one toolkit, got {', '.join(map(safe_repr, names))}. {_USAGE}"
            raise ValueError(message)
        out = values.get("out")
        if out is not None and (not out.isidentifier() or iskeyword(out) or out.startswith("__")):
            message = f"--out: expected the name of a variable, got {safe_repr(out)}"
            raise ValueError(message)
        toolkit = find_toolkit("".join(names), namespace)
        if "timeout" not in values:
            return cls(toolkit, None, out)
        try:
            seconds = float(values["timeout"])
            toolkit.limits.with_timeout(seconds)
        except ValueError:
            words = "expected a positive number of seconds, at most a year"
            message = f"--timeout: {words}, got {safe_repr(values['timeout'])}"
            raise ValueError(message) from None
        return cls(toolkit, seconds, out)


def _read_words(line: str) -> tuple[list[str], dict[str, str]]:
    """Return the names and the options of a line. Raises ValueError for an unknown option, or one without a value."""
    try:
        words = iter(shlex.split(line))
    except ValueError as error:
        message = f"cannot read the line of the cell: {error}. {_USAGE}"
        raise ValueError(message) from None
    names: list[str] = []
    values: dict[str, str] = {}
    for word in words:
        option, sign, value = word.partition("=")
        if option in _OPTIONS:
            values[_OPTIONS[option]] = value if sign else next(words, "")
            if not values[_OPTIONS[option]]:
                message = f"{option} needs a value. {_USAGE}"
                raise ValueError(message)
        elif word.startswith("-"):
            message = f"unknown option {safe_repr(option)}: {unknown_name(option, _OPTIONS)} {_USAGE}"
            raise ValueError(message)
        else:
            names.append(word)
    return names, values


def find_toolkit(name: str, namespace: Mapping[str, object]) -> Toolkit:
    """Return the toolkit of a name, such as `toolkit` or `shop.toolkit`.

    Without a name, it is the variable `toolkit`, or the only one there is. Raises ValueError for anything else.
    """
    known = {key: value for key, value in namespace.items() if isinstance(value, Toolkit) and key[:1] != "_"}
    if name:
        first, *rest = name.split(".")
        if first not in namespace:
            message = f"no variable {safe_name(first)}: {unknown_name(first, known)} {_USAGE}"
            raise ValueError(message)
        value = namespace[first]
        for attribute in rest:
            value = getattr(value, attribute, None)
        if isinstance(value, Toolkit):
            return value
        message = (
            f"expected {safe_name(name)} to be a Toolkit, got {type(value).__name__}: write toolkit = Toolkit([...]) "
            f"with your tools in a cell, and %%ez_ptc toolkit"
        )
    elif "toolkit" in known:
        return known["toolkit"]
    elif len({id(toolkit) for toolkit in known.values()}) == 1:
        return next(iter(known.values()))
    elif known:
        message = f"which toolkit? There are {safe_names(known)}: write %%ez_ptc {next(iter(known))}"
    else:
        message = "there is no Toolkit yet: write toolkit = Toolkit([...]) with your tools in a cell before this one"
    raise ValueError(message)
