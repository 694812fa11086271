"""Names that are spelt like another, and the keys of dicts."""

from __future__ import annotations

import difflib
import re
import sys
from itertools import takewhile
from typing import TYPE_CHECKING, TypeGuard

from ..protocol.both_ends.quoting import MAX_QUOTED, item_text, name_list, name_text, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = [
    "CONVERSIONS",
    "MAX_COMPARED",
    "close_matches",
    "hint_of_method",
    "hint_of_replaced",
    "hint_of_whole_dict",
    "is_plain_key",
    "is_slip",
    "keys_text",
    "near_keys",
    "only_near_key",
    "only_spelling",
]

# The names compared with another: each comparison takes 10 to 50 µs.
MAX_COMPARED = 100
# Methods of other libraries' records that return a dict.
CONVERSIONS = frozenset({"as_dict", "asdict", "dict", "model_dump", "to_dict"})
_MAX_MEANT = 3
_MIN_SHORTENED = 3
# The minimum similarity (of 1) of a name that can be meant by another: `sorted` is not `sort`.
_MIN_SPELLING = 0.82
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_ .-]{0,59}")


def close_matches(name: str, names: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the names most like one; of many or long names, only some are compared."""
    if len(name) > MAX_QUOTED:
        return []
    begin = name[:1].casefold()
    candidates = [other for other in dict.fromkeys(names) if len(other) <= MAX_QUOTED]
    candidates.sort(key=lambda other: other[:1].casefold() != begin)
    return difflib.get_close_matches(name, candidates[:MAX_COMPARED], n=count, cutoff=cutoff)


def near_keys(wanted: str, keys: Iterable[str]) -> list[str]:
    """Return the keys that may be meant by another: those spelt alike, with the same words at an edge, or shortened."""
    keys = [key for key in keys if len(key) <= MAX_QUOTED]
    near, words = close_matches(wanted, keys), f"_{wanted}_"
    near += [key for key in keys if key not in near and key.casefold() == wanted.casefold()]
    # One of two names may begin or end with the words of the other.
    near += [key for key in keys if key not in near and (_is_edge(f"_{key}_", words) or _is_edge(words, f"_{key}_"))]
    shortened = [key for key in keys if len(key) >= _MIN_SHORTENED and wanted.startswith(key) and key not in near]
    return [*near, *shortened]


def only_near_key(wanted: str, near: list[str]) -> str | None:
    """Return the key that is meant by another; None if it may be one of several near ones."""
    same = [key for key in near if key.casefold() == wanted.casefold()]
    meant = same or near
    if len(meant) != 1:
        return None
    return meant[0]


def only_spelling(name: str, names: Iterable[str]) -> str | None:
    """Return the only near spelling of a name; None without one, or of several."""
    near = close_matches(name, names, 2, _MIN_SPELLING)
    if len(near) != 1:
        return None
    return near[0]


def is_plain_key(key: object) -> TypeGuard[str]:
    """Return whether a key of a result may be written into a program: it looks like a name, or like several words."""
    return type(key) is str and _PLAIN_KEY.fullmatch(key) is not None


def keys_text(keys: Iterable[object], near: list[str]) -> str:
    """Return a hint with all keys of a record, and those near another."""
    listed = f"the keys are: {name_list([*near, *(key for key in keys if key not in near)])}"
    if not near:
        return listed
    return f"did you mean {' or '.join(map(quoted, near[:_MAX_MEANT]))}? {listed}"


def hint_of_whole_dict(text: str, keys: Collection[object] = ()) -> str:
    """Return how to pass one value of a dict, with these keys as far as they are known, instead of the dict."""
    item, listed, names = f'{text}["..."]', "", [*keys]
    if len(names) == 1 and is_plain_key(names[0]):
        item = item_text(text, names[0])
    elif names:
        listed = f"; its keys are: {name_list(names)}"
    return f"{text} is a whole dict: pass one value of it, {item}{listed}"


def hint_of_method(owner: str, name: str, *, is_key: bool) -> str:
    """Return how to write what a method of a dict was taken for: a key of its name, if the dict has one, or a call."""
    method, key = f"{owner}.{name}", item_text(owner, name)
    if is_key:
        return f"{method} is a method of every dict: the key is {key}"
    return f"{method} is a method of every dict: call it, {method}(), or read a key of that name, {key}"


def _is_edge(words: str, longer: str) -> bool:
    return longer.startswith(words) or longer.endswith(words)


def is_slip(name: str, meant: str) -> bool:
    """Return whether a name differs from another by a slip only: in its case or underscores, or by one letter.

    The letter is missing, superfluous, or swapped with the next one, and begins no word: `inactive` is no slip of
    `active`, nor `user2` of `user`, nor `min_price` of `max_price`.
    """
    if name.replace("_", "").casefold() == meant.replace("_", "").casefold():
        return True
    begin = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, meant, strict=False)))
    shorter, longer = sorted((name[begin:], meant[begin:]), key=len)
    if begin == 0 or name[begin - 1] == "_":
        return False
    if len(longer) == len(shorter):
        return longer[:2].isalpha() and longer[:2] == shorter[1::-1] and longer[2:] == shorter[2:]
    return longer[1:] == shorter and longer[0].isalpha()


def hint_of_replaced(name: str) -> str | None:
    """Return the hint for a call of a name a program has bound to a value; None for one that no function had before."""
    if not callable(vars(sys.modules["builtins"]).get(name)):
        return None
    return f"the program itself has bound {name_text(name)}, a function's name, to a value: give the value another name"
