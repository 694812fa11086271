"""Callers that say what they do."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ez_ptc.sandbox.protocol.records.caller_presence import CallerPresence


class WaitingCaller(CallerPresence):
    """A caller that says when it waits for a worker, or has one."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = threading.Event()

    @contextmanager
    def ending(self, end: Callable[[], object]) -> Generator[None]:
        with super().ending(end):
            self.waits.set()
            yield
