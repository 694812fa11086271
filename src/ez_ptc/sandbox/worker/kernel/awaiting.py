"""The replies that event loops wait for, without a thread for each call.

Theory of operation. A loop with open calls looks for replies once its other tasks have run as far as they can: it polls
for a moment, as any reader does. If nothing comes, its selector watches the pipe. A thread that reads for a call of its
own passes on the replies to others. So a reply is taken by one thread, and a future is touched in its loop's only.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, cast

from ..running.async_support import answer_future
from ..running.call_paths import running_loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ..running.link import Link, Pending
    from .pipe import DescriptorPipe

__all__ = ["AwaitedReplies"]


class AwaitedReplies:
    """The open calls of all event loops of a program."""

    def __init__(self) -> None:
        self._futures: dict[Pending, asyncio.Future[object]] = {}
        # The loops that look for replies, and whether their selectors do.
        self._looking: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, bool] = weakref.WeakKeyDictionary()

    def wait(
        self, loop: asyncio.AbstractEventLoop, pending: Pending, take: Callable[[Pending], object]
    ) -> asyncio.Future[object]:
        """Return a future of what `take` returns for a call, set after its reply."""
        future = self._futures[pending] = loop.create_future()
        settle = partial(self._settle, loop, pending, take)

        def notify() -> None:
            if running_loop() is loop:
                settle()
                return
            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:  # the loop is closed, and nothing waits for the reply
                self._futures.pop(pending, None)

        pending.notify = notify
        if pending.reply is not None:  # another thread has read it
            notify()
        elif loop not in self._looking:
            self._looking[loop] = False
            loop.call_soon(self._look, loop, pending.link)
        return future

    def finish(self) -> None:
        """Wait for the replies that nothing has waited for, as at the end of a program."""
        while self._futures:
            self._futures.popitem()[0].wait()

    def _settle(self, loop: asyncio.AbstractEventLoop, pending: Pending, take: Callable[[Pending], object]) -> None:
        future = self._futures.pop(pending, None)
        if future is not None:
            answer_future(future, take, pending)
        if self._looking.get(loop) and not self._waits(loop):
            self._stop_watching(loop, pending.link)

    def _waits(self, loop: asyncio.AbstractEventLoop) -> bool:
        return any(future.get_loop() is loop for future in [*self._futures.values()])  # other threads change it

    def _stop_watching(self, loop: asyncio.AbstractEventLoop, link: Link) -> None:
        loop.remove_reader(cast("DescriptorPipe", link.pipe).receive_fd)
        del self._looking[loop]

    def _look(self, loop: asyncio.AbstractEventLoop, link: Link) -> None:
        """Take the replies that have come, and look again; if there are none, let the selector wait for them."""
        try:
            has_come = cast("DescriptorPipe", link.pipe).has_data_soon() and link.take_ready()
        except Exception as error:  # noqa: BLE001 - the program's time is up, or its host is gone: its tasks hear of it
            for pending, future in [*self._futures.items()]:
                if future.get_loop() is loop and self._futures.pop(pending, None) and not future.done():
                    future.set_exception(error)
        else:
            if self._waits(loop):
                self._looking[loop] = not has_come
                if has_come:
                    loop.call_soon(self._look, loop, link)
                else:
                    loop.add_reader(cast("DescriptorPipe", link.pipe).receive_fd, self._look_again, loop, link)
                return
        self._looking.pop(loop, None)

    def _look_again(self, loop: asyncio.AbstractEventLoop, link: Link) -> None:
        self._stop_watching(loop, link)
        self._look(loop, link)
