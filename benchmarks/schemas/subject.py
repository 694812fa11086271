"""What every subject is asked to do."""

import contextlib
import gc
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol

__all__ = ["Function", "Subject", "timed", "undisturbed"]

Function = Callable[..., object]


class Subject(Protocol):
    """A way to describe functions to a model and to call them with what it sends."""

    def describe(self, function: Function) -> Mapping[str, Any]:
        """Return the JSON Schema of the function's parameters, with nothing left of an earlier call about it.

        What the library keeps about a class or a type may be used again.
        """
        ...

    def call(self, function: Function, arguments: dict[str, Any], times: int) -> float:
        """Return the seconds that it takes to validate the arguments and call the function so many times.

        Getting ready for the function does not count.
        """
        ...


@contextlib.contextmanager
def undisturbed() -> Generator[None]:
    """Collect the garbage that there is, and no more until the end."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def timed(action: Callable[[], object], times: int) -> float:
    """Return the seconds of CPU that so many calls of ``action`` take, after one that gets it ready."""
    action()
    with undisturbed():
        began = time.process_time()
        for _ in range(times):
            action()
        return time.process_time() - began
