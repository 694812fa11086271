"""Progress of calls that a framework makes, while they run."""

import threading
from typing import Any

from ez_ptc import CallProgress, Context, Toolkit, ez_tool
from ez_ptc.integrations.offers import Hooks, offers_of

# As a plain name, for type checkers know only that it marks parameters.
context: Any = Context


def test_progress_is_reported_while_a_call_runs() -> None:
    reported: list[tuple[str, float, bool]] = []
    was_read = threading.Event()

    @ez_tool
    def work() -> None:
        """Report, and wait until that has been read."""
        context.progress(1, 2)
        assert was_read.wait(20)
        context.progress(2, 2)

    async def report(event: object) -> None:
        if isinstance(event, CallProgress):
            reported.append((event.tool, event.done, was_read.is_set()))
            was_read.set()

    program: dict[str, object] = {"code": "work()"}
    with Toolkit([work]) as toolkit:
        for offered, arguments in ((toolkit, program), (work, dict[str, object]())):
            outcome = offers_of(offered)[0].call(arguments, Hooks(report=report))
            assert outcome.error is None
            assert reported == [("work", 1, False), ("work", 2, True)]
            reported.clear()
            was_read.clear()
