"""The calls of a running program, as their tools see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.tools.call_lifetime import CallLife

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from ez_ptc.sandbox.exchange import Exchange

__all__ = ["ProgramCall"]


class ProgramCall(CallLife):
    """One call of a program: wanted while the program runs. During an approval, the program's clock stands still."""

    __slots__ = ("_exchange", "_pausing")

    def __init__(self, exchange: Exchange, pausing: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__()
        self._exchange = exchange
        self._pausing = pausing

    @property
    def is_wanted(self) -> bool:
        """Whether the program still waits for the result."""
        return self._exchange.wants_calls and not self.is_given_up

    @property
    def approval_seconds(self) -> float:
        """Seconds the approver has to answer."""
        return self._exchange.limits.approval_timeout

    def pausing(self) -> AbstractContextManager[None]:
        """Return a context in which the program's clock stands still."""
        return self._pausing()
