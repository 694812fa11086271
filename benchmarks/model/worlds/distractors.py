"""Made-up tools of a large business, among which the tools of a task stand; standard library only.

They can be called, return what they declare, and change nothing that a task asks for.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import islice, product
from types import FunctionType
from typing import Any, Final, Literal, TypedDict

__all__ = ["distractors"]


class Entry(TypedDict):
    """What most of them return."""

    entry_id: str
    title: str
    owner: str
    status: str
    amount: float


def _find(entry_id: str) -> Entry:
    return {"entry_id": entry_id, "title": "", "owner": "", "status": "open", "amount": 0.0}


def _list(owner: str, limit: int = 20) -> list[Entry]:
    return [_find(f"{owner}-{number}") for number in range(min(limit, 3))]


def _count(region: str) -> int:
    return len(region)


def _change(entry_id: str, status: Literal["open", "closed"] = "open") -> bool:
    return bool(entry_id and status)


def _export(month: str) -> str:
    return f"{month}.csv"


_VERBS: Final[tuple[tuple[str, str, Callable[..., object]], ...]] = (
    ("look_up_{}", "Look up the {} with an id.", _find),
    ("list_{}_entries", "List the {} entries of an owner.", _list),
    ("count_{}_entries", "Count the {} entries of a region.", _count),
    ("set_{}_status", "Open or close the {} with an id.", _change),
    ("export_{}_report", "Export the {} report of a month, and return the name of its file.", _export),
    ("search_{}_archive", "Search the archive of {} records of an owner.", _list),
    ("get_{}_summary", "Get the summary of the {} with an id.", _find),
    ("archive_{}", "Move the {} with an id to the archive.", _change),
)
# fmt: off
_OBJECTS: Final = (
    "invoice", "contract", "payroll", "vacancy", "warranty", "supplier", "budget", "campaign", "newsletter",
    "survey", "meeting", "ticket", "incident", "backup", "certificate", "license", "server", "deployment",
    "release", "feature", "experiment", "metric", "dashboard", "forecast", "quota", "territory", "lead",
    "opportunity", "quote", "subscription", "coupon", "refund_policy", "return_label", "shelf", "pallet",
    "forklift", "dock", "insurance", "audit", "policy", "risk", "visitor", "badge", "desk", "printer",
    "laptop", "phone_plan", "training", "onboarding", "review", "appraisal",
)
# fmt: on


def distractors(count: int, others: Collection[str] = ()) -> Sequence[Callable[..., object]]:
    """Return up to that many functions, none with a name of `others`."""
    made = (_copy(verb, thing) for thing, verb in product(_OBJECTS, _VERBS))
    return [*islice((function for function in made if function.__name__ not in others), count)]


def _copy(verb: tuple[str, str, Callable[..., object]], thing: str) -> Callable[..., object]:
    name, text, function = verb[0].format(thing), verb[1].format(thing.replace("_", " ")), verb[2]
    original: Any = function
    copied = FunctionType(original.__code__, original.__globals__, name, original.__defaults__)
    copied.__qualname__, copied.__doc__ = name, text
    copied.__annotations__, copied.__module__ = original.__annotations__, original.__module__
    return copied
