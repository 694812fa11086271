"""Threads taking turns: a new one waits for the baton, and hands it over at its end."""

from __future__ import annotations

import _thread
import threading
import weakref
from typing import TYPE_CHECKING, Any

from .baton import Waiter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from .baton import Baton

__all__ = ["install"]


class _Life:
    """A thread from its start to its end."""

    __slots__ = ("has_ended", "joining", "waiter")

    def __init__(self, waiter: Waiter) -> None:
        self.waiter = waiter
        self.has_ended = False
        self.joining: list[Waiter] = []

    def end(self, baton: Baton) -> None:
        self.has_ended = True
        for waiter in self.joining:
            baton.wake(waiter)
        baton.leave()


def install(baton: Baton) -> None:
    """Let later threads take turns."""
    lives: weakref.WeakKeyDictionary[threading.Thread, _Life] = weakref.WeakKeyDictionary()
    _install_start(baton, lives)
    _install_end(baton, lives)
    _install_nameless(baton)


def _install_start(baton: Baton, lives: MutableMapping[threading.Thread, _Life]) -> None:
    thread: Any = threading.Thread
    run_thread, start_thread = thread._bootstrap_inner, thread.start  # noqa: SLF001 - threading offers no other place

    def start(self: threading.Thread) -> None:
        if self in lives:  # it was started before: this raises
            start_thread(self)
        lives[self] = life = _Life(baton.add_thread())
        try:
            start_thread(self)
        except BaseException:
            del lives[self]
            baton.remove_thread(life.waiter)
            raise

    def bootstrap(self: threading.Thread) -> None:
        life = lives[self]
        baton.enter(life.waiter)
        try:
            run_thread(self)
        finally:
            life.end(baton)

    thread.start, thread._bootstrap_inner = start, bootstrap  # noqa: SLF001 - as above


def _install_end(baton: Baton, lives: Mapping[threading.Thread, _Life]) -> None:
    thread: Any = threading.Thread
    join_thread, is_thread_alive = thread.join, thread.is_alive

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        life = lives.get(self)
        if life is not None and not life.has_ended and self is not threading.current_thread():
            waiter = Waiter()
            life.joining.append(waiter)
            if life.has_ended:  # meanwhile, beside this thread
                baton.wake(waiter)
            if not baton.wait(waiter, None if timeout is None else max(timeout, 0)):
                return
        join_thread(self)

    def is_alive(self: threading.Thread) -> bool:
        baton.step()
        life = lives.get(self)
        return is_thread_alive(self) if life is None else not life.has_ended

    thread.join, thread.is_alive = join, is_alive


def _install_nameless(baton: Baton) -> None:
    """Let threads started without `threading` take turns as well."""
    start_new_thread = _thread.start_new_thread

    def start(function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, /) -> int:
        life = _Life(baton.add_thread())

        def run() -> None:
            baton.enter(life.waiter)
            try:
                function(*args, **(kwargs or {}))
            finally:
                life.end(baton)

        try:
            return start_new_thread(run, ())
        except BaseException:
            baton.remove_thread(life.waiter)
            raise

    _thread.start_new_thread = _thread.start_new = start
