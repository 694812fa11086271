"""Why a test that passes in a plain process does not in the sandbox: found in what was raised, not in its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .running import Outcome, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Difference", "differences", "find_cause"]

_MISSING: Final = re.compile(
    r"No module named '(\w+)|(?:cannot import name '|requires )(_testcapi|_xx\w+)|import of (\w+) halted"
)
_REFUSED: Final = re.compile(r"PermissionError|Errno (1|13|38)\b|not permitted|Permission denied|NotImplementedError")
_NO_FOLDER: Final = re.compile(r"No usable temporary directory")
_NONE: Final = re.compile(r"'NoneType' object has no attribute")
_MEMORY: Final = re.compile(r"MemoryError|can't start new thread")
_SKIPPED: Final = (
    ("processes", re.compile(r"\b(fork|vfork|spawn|subprocess|process|multiprocessing|shell|SemLock)", re.IGNORECASE)),
    ("network", re.compile(r"socket|network|IPv6|TCP|localhost|\bssl\b", re.IGNORECASE)),
    ("files", re.compile(r"file|symlink|hardlink|TESTFN|director|chmod|locale|timezone data|tzset", re.IGNORECASE)),
)
_OF_CPYTHONS_TESTS: Final = ("_test", "_xx", "_ctypes_test", "xx", "__phello__", "__hello__")
_ORDER: Final = ("processes", "network", "files", "signals", "limits", "machine code")


@dataclass(frozen=True, slots=True)
class Difference:
    """A test that passes in a plain process and not in the sandbox; no cause is documented where it is empty."""

    test: str
    inside: Outcome
    cause: str


# What docs/programs/standard-library.md says of the sandbox besides what is absent.
_SAID: Final = (
    ("no source of the standard library", re.compile(r"could not get source code")),
    ("streams without fileno()", re.compile(r"UnsupportedOperation: fileno")),
    ("the least recursion limit", re.compile(r"cannot set the recursion limit .*: the limit is too low")),
)


def differences(inside: Side, outside: Side, module: str, is_absent: Callable[[str], bool]) -> Iterator[Difference]:
    """Yield what differs, with its cause; `is_absent` says whether a module's absence is documented."""
    for test, outcome in outside.tests.items():
        if outcome.outcome != "ok":
            continue
        there = inside.tests.get(test) or _setup_of(test, inside, module)
        if there.outcome != "ok":
            yield Difference(test, there, find_cause(there, is_absent))


def _setup_of(test: str, side: Side, module: str) -> Outcome:
    """Return what became of the setup of a test's class or module, where the test itself was never run."""
    owner = test.rpartition(".")[0]
    for name in (f"setUpClass ({owner})", f"setUpModule ({module})", module):
        if name in side.tests:
            return side.tests[name]
    # It came after one that never ended.
    hung = next((found.asked for found in side.tests.values() if found.outcome == "started"), ())
    return Outcome("lost", (side.end[:300],), hung)


def find_cause(outcome: Outcome, is_absent: Callable[[str], bool]) -> str:
    """Return the documented absence that a test met, or nothing."""
    return next(filter(None, _causes(outcome, is_absent)), "")


def _causes(outcome: Outcome, is_absent: Callable[[str], bool]) -> Iterator[str]:
    """Yield what may be the cause, the surest first."""
    text = "\n".join(outcome.raised)
    for found in _MISSING.finditer(text):
        yield _absence(found[1] or found[2] or found[3], is_absent)
    if _NO_FOLDER.search(text):
        yield "files"
    if _NONE.search(text) and "module _testcapi" in outcome.asked:
        yield _absence("_testcapi", is_absent)
    if _MEMORY.search(text):
        yield "limits"
    if outcome.outcome == "skipped":
        yield from (kind for kind, pattern in _SKIPPED if pattern.search(text))
    else:
        yield from (kind for kind in _ORDER if kind in outcome.asked)
        yield "system calls" if _REFUSED.search(text) else ""
    yield from (cause for cause, said in _SAID if said.search(text))
    if outcome.outcome == "skipped":
        missing = (name.removeprefix("module ") for name in outcome.asked if name.startswith("module "))
        yield from (_absence(name, is_absent) for name in missing)


def _absence(name: str, is_absent: Callable[[str], bool]) -> str:
    if name.startswith(_OF_CPYTHONS_TESTS):
        return "CPython's modules for its own tests"
    return f"module {name}" if is_absent(name) else ""
