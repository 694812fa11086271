"""Regular expressions of ours mean the same in each supported release of Python."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import ez_ptc

# The parser of the standard library has no public name.
_parser: Any = importlib.import_module("re._parser")


def test_no_possessive_repeat_has_a_lookahead() -> None:
    """Python 3.11.0 to 3.11.4 reads such a repeat too far; an atomic group `(?>...)` is right in all of them."""
    misread = [
        f"{name}: {pattern.pattern!r}"
        for name, pattern in _patterns()
        if _has_lookahead_in_possessive_repeat(_parser.parse(pattern.pattern, pattern.flags))
    ]
    assert misread == []


@pytest.mark.parametrize(
    ("pattern", "is_misread"),
    [(r"(?:a|b(?!c))*+", True), (r"(?>(?:a|b(?!c))*)", False), (r"(?:a(?:b|(?=c)d)++)*", True), (r"a*+(?!b)", False)],
)
def test_search_for_misread_repeats_finds_them(pattern: str, *, is_misread: bool) -> None:
    assert _has_lookahead_in_possessive_repeat(_parser.parse(pattern)) is is_misread


def _patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for module in pkgutil.walk_packages(ez_ptc.__path__, "ez_ptc.", onerror=lambda _: None):
        if ".worker" in module.name or ".guest" in module.name:
            continue
        try:
            found = importlib.import_module(module.name)
        except ImportError:
            # Needs an extra.
            continue
        for name, value in vars(found).items():
            if isinstance(value, re.Pattern):
                yield f"{module.name}.{name}", value


def _has_lookahead_in_possessive_repeat(
    tree: Any,  # noqa: ANN401 - the parser of the standard library has no types
    *,
    is_possessive: bool = False,
) -> bool:
    if isinstance(tree, list | tuple | _parser.SubPattern):
        items: list[Any] = list(tree)
        name = str(items[0]) if items else ""
        if is_possessive and name in {"ASSERT", "ASSERT_NOT"}:
            return True
        inside = is_possessive or name == "POSSESSIVE_REPEAT"
        return any(_has_lookahead_in_possessive_repeat(item, is_possessive=inside) for item in items)
    return False
