"""Checks of calls that a framework asks for before it makes the calls.

A predicate is asked once for a call. Were its answer not kept, it would be asked again when the call is made: one that
has said nothing of the call before, so that it must not run, might let it run then. Its answer is about one context:
two users may have equal calls, with ids that a server numbers in each run.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._sync import to_thread
from ez_ptc.errors import ArgumentsError
from ez_ptc.formats.canonical import call_digest
from ez_ptc.toolkit.execution.callers import reference_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.integrations.offers.hooks import Hooks
    from ez_ptc.integrations.offers.tools import CheckedCall, ToolOffer

    _Arguments = dict[str, object] | str
    _Key = tuple[str | None, str, bool]
    _AskedCheck = tuple[Callable[[], object], CheckedCall]

__all__ = ["AskedChecks", "SharedChecks"]

# More are of calls that a framework has given up.
_MAX_KEPT: Final = 1_000


class SharedChecks:
    """The checks of calls whose ids no other calls have: each made once, whichever thread or task asks for it."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._checks: Final[OrderedDict[_Key, _SharedCheck]] = OrderedDict()

    async def check(self, offer: ToolOffer, arguments: _Arguments, hooks: Hooks) -> CheckedCall:
        """Return the check of a call. One that a person was asked about has none."""
        key = _key_of(offer, arguments, hooks)
        if key is None or hooks.was_asked or not offer.is_undecided:
            return await offer.acheck(arguments, hooks)
        with self._lock:
            check = self._checks.get(key)
            if check is None or check.context() is not hooks.context:
                check = self._checks[key] = _SharedCheck(reference_to(hooks.context))
            _drop_oldest(self._checks)
        return await to_thread(partial(check.make, offer, arguments, hooks))


class _SharedCheck:
    def __init__(self, context: Callable[[], object]) -> None:
        self.context = context
        self._lock = threading.Lock()
        self._outcome: CheckedCall | None = None

    def make(self, offer: ToolOffer, arguments: _Arguments, hooks: Hooks) -> CheckedCall:
        # The first one may have been cancelled before its thread began: then the next one asks.
        with self._lock:
            self._outcome = self._outcome or offer.check(arguments, hooks)
            return self._outcome


class AskedChecks:
    """The checks of calls that run without a person, until they do. Other calls may have their ids; any thread."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._checks: Final[OrderedDict[_Key, list[_AskedCheck]]] = OrderedDict()

    async def check(self, offer: ToolOffer, arguments: _Arguments, hooks: Hooks) -> CheckedCall:
        """Check a call, and keep the outcome for `take`, unless a person is asked."""
        checked = await offer.acheck(arguments, hooks)
        key = _key_of(offer, arguments, hooks)
        if checked.call is None and key is not None:
            with self._lock:
                checks = self._checks.setdefault(key, [])
                checks.append((reference_to(hooks.context), checked))
                del checks[:-_MAX_KEPT]
                _drop_oldest(self._checks)
        return checked

    def take(self, offer: ToolOffer, arguments: _Arguments, hooks: Hooks) -> CheckedCall | None:
        """Return the last check of a call and forget it; None without one."""
        key = _key_of(offer, arguments, hooks)
        if key is None:
            return None
        with self._lock:
            checks = self._checks.pop(key, [])
            position = max((at for at, (context, _) in enumerate(checks) if context() is hooks.context), default=None)
            checked = None
            if position is not None:
                _, checked = checks.pop(position)
            if checks:
                self._checks[key] = checks
        return checked


def _drop_oldest(checks: OrderedDict[_Key, Any]) -> None:
    while len(checks) > _MAX_KEPT:
        checks.popitem(last=False)


def _key_of(offer: ToolOffer, arguments: _Arguments, hooks: Hooks) -> _Key | None:
    """Return what a call is known by, or None if its arguments cannot be read."""
    try:
        # A reference to a context that has ended gives None, too.
        return hooks.id, call_digest(offer.name, offer.read_arguments(arguments)), hooks.context is None
    except ArgumentsError:
        return None
