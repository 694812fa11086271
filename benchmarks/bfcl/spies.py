"""The leaderboard's classes with an ear: every public method notes what it received, then does what it does."""

import functools
import inspect
from collections.abc import Callable
from typing import cast

from benchmarks.bfcl.oracle import Arrival, received

__all__ = ["Spies"]


class Spies:
    """Makes listening subclasses; what their instances received is in :attr:`arrivals`, in order."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self._inside = False

    def take(self) -> list[Arrival]:
        """Return what arrived since the last time."""
        taken, self.arrivals = self.arrivals, []
        return taken

    def listening(self, api: type) -> type:
        """Return a subclass of ``api`` whose public methods note their arguments before they run."""
        found = inspect.getmembers(api, inspect.isfunction)
        methods = {name: self._noting(function) for name, function in found if not name.startswith("_")}
        return cast("type", type(api.__name__, (api,), {"__module__": api.__module__, **methods}))

    def _noting(self, function: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(function)
        def method(instance: object, *args: object, **kwargs: object) -> object:
            bound = cast("Callable[..., object]", function.__get__(instance))
            if self._inside:  # the methods call one another
                return bound(*args, **kwargs)
            self.arrivals.append(received(bound, args, kwargs))
            self._inside = True
            try:
                return bound(*args, **kwargs)
            finally:
                self._inside = False

        return method
