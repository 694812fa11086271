"""Checkers: workers without a program, for verdicts on those of others.

Theory of operation. A new process runs the code of the check cold, and copies its pages: that is a third of the CPU
time of a short program. A checker has run it before. It is a worker, confined as every other one, that is told the
tools of one toolkit instead of a program. From then on it gets the texts of programs, and answers each with its number
and a letter. The program starts meanwhile in its own worker, where it can do nothing but print and wait: the host reads
on only with the verdict. It awaits this as soon as the program is sent, and not when the program sends something: a
refused one that computes for long would end late, and one without a verdict would have its time twice.

A verdict only passes a program or not, and is an authority for nothing else. If it does not pass, the program's worker
is ended, and another one checks the program itself before running it, as without checkers: that worker finds the text
of the mistake. The same happens if the checker is gone, late, or sends anything else, and then it is ended. So whatever
a checker does, no program has an effect unchecked but those that it passes, and hiding a mistake gains it nothing: the
check is no security measure.

A checker is idle in `_idle`, the one used last at the end, or busy in `_busy`, or in a local variable of some frame;
when that frame goes, `WorkerHandle.__del__` ends it. As in the pool, each change is a single operation of a deque or a
set, and a thread that adds a checker looks for `close` afterwards.
"""

from __future__ import annotations

import _socket
import contextlib
import select
import weakref
from collections import deque
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Final

from ez_ptc.sandbox.protocol.both_ends.limits import worker_limits
from ez_ptc.sandbox.protocol.frames import pack
from ez_ptc.sandbox.protocol.host_codec import dumps

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.workers.handle import WorkerHandle
    from ez_ptc.sandbox.protocol.execution import Grants

__all__ = ["Checker", "Checkers", "ProgramCheck"]

_MAX_CHECKERS: Final = 8
# Of one toolkit; more would take the cores from the programs.
_MAX_OF_OWNER: Final = 4
# A longer program is checked in its worker, which skips it: see `running/checking.py`.
_MAX_CHARACTERS: Final = 12_000
# More would not fit into the socket before the checker reads.
_MAX_TOOLS_BYTES: Final = 1 << 16
# A checker that grows or slows down with the programs is replaced before that matters.
_MAX_PROGRAMS: Final = 500
# Programs without an idle checker after which one is made, for the first time and again.
_FIRST_MISSES, _FURTHER_MISSES = 2, 16
# A check takes 10 ms of CPU time at most; a checker that is not heard for this long may be stuck.
_MAX_SECONDS: Final = 1.0
_ANSWER_BYTES: Final = 16
# Of all its programs together: the memory that the check of one needs, and the CPU time of all.
_LIMITS: Final = dumps(worker_limits(memory=64 << 20, cpu=60, outstanding=1, frame=1 << 16))


class Checker:
    """A worker for the check of one owner's programs."""

    __slots__ = ("number", "owner", "worker")

    def __init__(self, worker: WorkerHandle, owner: weakref.ref[Grants]) -> None:
        """Wrap a worker with the tools of the owner."""
        self.worker = worker
        self.owner = owner
        self.number = 0

    def ask(self, code: str) -> bool:
        """Send a program; return whether the checker has it."""
        self.number += 1
        frame = pack(b'{"number":%d,"code":%b}' % (self.number, encode_basestring_ascii(code).encode()))
        try:
            return self.worker.socket.send(frame, _socket.MSG_NOSIGNAL) == len(frame)
        except OSError:
            return False

    def receive(self) -> bool | None:
        """Return whether the last program may run unchecked, or None if the verdict is not there yet.

        Raises OSError for any other answer, and if the checker is gone.
        """
        try:
            answer = self.worker.socket.recv(_ANSWER_BYTES)
        except BlockingIOError:
            return None
        if answer == b"p%d" % self.number:
            return True
        if answer == b"r%d" % self.number:
            return False
        message = "a checker broke its protocol"
        raise OSError(message)


class ProgramCheck:
    """The check of one program: its verdict comes while the program is starting.

    One thread at a time may use it. It is left in any case, so that its checker gets the next program, or is ended.
    """

    def __init__(self, checkers: Checkers, checker: Checker) -> None:
        """Expect the verdict of a checker on the program it has."""
        self._checkers = checkers
        self._checker: Checker | None = checker
        self._is_passed = False

    @property
    def is_refused(self) -> bool:
        """Whether the program must run again, in a worker with a check of its own."""
        return self._checker is None and not self._is_passed

    def wait(self, seconds: float) -> bool:
        """Wait for the verdict, for at most the program's `seconds`; return whether it may go on."""
        if self._checker is not None and not self._take():
            poll = select.poll()
            poll.register(self._checker.worker.socket, select.POLLIN)
            poll.poll(min(_MAX_SECONDS, seconds) * 1e3)
            self.leave()
        return self._is_passed

    async def arrive(self, seconds: float) -> bool:
        """Same as `wait`, but awaits."""
        if self._checker is not None and not self._take():
            import anyio

            with anyio.move_on_after(min(_MAX_SECONDS, seconds)), contextlib.suppress(OSError):
                await anyio.wait_readable(self._checker.worker.socket)
            self.leave()
        return self._is_passed

    def leave(self) -> None:
        """Take the verdict if it is there, and end a checker that has not sent one. Leaving twice is harmless."""
        if self._checker is not None and not self._take():
            checker, self._checker = self._checker, None
            self._checkers.end(checker)

    def _take(self) -> bool:
        """Take the verdict, if it is there; return whether nothing more is to be expected."""
        checker = self._checker
        if checker is None:
            return True
        try:
            verdict = checker.receive()
        except OSError:
            self._checker = None
            self._checkers.end(checker)
            return True
        if verdict is None:
            return False
        self._is_passed, self._checker = verdict, None
        self._checkers.put_back(checker)
        return True


class Checkers:
    """The checkers of one zygote."""

    def __init__(self, *, can_prepare: bool = True) -> None:
        """Have no checkers yet. Without `can_prepare` there never are any: each program is checked in its worker."""
        self._can_prepare = can_prepare
        self._idle: deque[Checker] = deque()
        self._busy: set[Checker] = set()
        self._misses: weakref.WeakKeyDictionary[Grants, int] = weakref.WeakKeyDictionary()
        self._missing: deque[weakref.ref[Grants]] = deque(maxlen=_MAX_CHECKERS)
        self._is_closed = False
        self._clearings = 0

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    def begin(self, owner: Grants, code: str) -> ProgramCheck | None:
        """Have a program of an owner checked; None if it is checked in its worker.

        So it is if the check looks at no tool, or if no checker is idle; then one is made soon.
        """
        if not self._can_prepare or owner.is_large or len(code) > _MAX_CHARACTERS:
            return None
        if not any(map(code.__contains__, owner.by_name)):
            return None
        for checker in reversed(list(self._idle)):
            if checker.owner() is owner and self._remove(checker):
                self._busy.add(checker)
                if checker.ask(code):
                    return ProgramCheck(self, checker)
                self.end(checker)
        misses = self._misses.get(owner, _FURTHER_MISSES - _FIRST_MISSES) + 1
        if misses >= _FURTHER_MISSES:
            misses = 0
            self._missing.append(weakref.ref(owner))
        self._misses[owner] = misses
        return None

    def _remove(self, checker: Checker) -> bool:
        try:
            self._idle.remove(checker)
        except ValueError:
            # Another thread has taken it.
            return False
        return True

    @property
    def is_missing(self) -> bool:
        """Whether a checker should be made."""
        return bool(self._missing)

    def add(self, worker: WorkerHandle) -> bool:
        """Make a blank worker the next missing checker; return False, and leave it alone, if none is missing."""
        clearings = self._clearings
        try:
            reference = self._missing.popleft()
        except IndexError:
            return False
        owner = reference()
        if owner is None or len(owner.encoded) > _MAX_TOOLS_BYTES or self._count(owner) >= _MAX_OF_OWNER:
            return False
        if not self._make_room():
            return False
        frame = pack(b'{"t":"run","checks":true,"limits":%b,"messages":{},"tools":%b}' % (_LIMITS, owner.encoded))
        if not (worker.change("check") and worker.prepare(b"", frame)):
            worker.close()
            return True
        self._put(Checker(worker, reference))
        if clearings != self._clearings:
            self.clear()
        return True

    def _make_room(self) -> bool:
        """End idle checkers if there are too many; return whether there is room for another one."""
        if len(self) >= _MAX_CHECKERS:
            self.shrink()
        with contextlib.suppress(IndexError):
            while len(self) >= _MAX_CHECKERS:
                self._idle.popleft().worker.close()
        return len(self) < _MAX_CHECKERS

    def _count(self, owner: Grants) -> int:
        return sum(checker.owner() is owner for checker in (*list(self._idle), *list(self._busy)))

    def put_back(self, checker: Checker) -> None:
        """Have a checker ready for the next program, or end it if it has checked many."""
        self._busy.discard(checker)
        if checker.number < _MAX_PROGRAMS:
            self._put(checker)
        else:
            checker.worker.close()

    def _put(self, checker: Checker) -> None:
        self._idle.append(checker)
        if self._is_closed:
            self.clear()

    def end(self, checker: Checker) -> None:
        """End a busy checker."""
        self._busy.discard(checker)
        checker.worker.close()

    def close_ended(self) -> None:
        """Close the idle checkers whose process has ended."""
        for checker in list(self._idle):
            if checker.worker.ended and self._remove(checker):
                checker.worker.close()

    def shrink(self) -> None:
        """End all idle checkers but the last one of each owner, and those without an owner."""
        owners: set[Grants | None] = {None}
        for checker in reversed(list(self._idle)):
            owner = checker.owner()
            if owner in owners and self._remove(checker):
                checker.worker.close()
            owners.add(owner)

    def clear(self) -> None:
        """End the idle checkers, and one that is being made."""
        self._clearings += 1
        self._missing.clear()
        with contextlib.suppress(IndexError):
            while True:
                self._idle.popleft().worker.close()

    def close(self) -> None:
        """End all checkers, and those added later; busy ones end with their zygote. Closing twice is harmless."""
        self._is_closed = True
        self.clear()
        self._busy.clear()

    def disown(self) -> None:
        """Forget all checkers, in a fork of the host: they belong to its parent."""
        for checker in (*self._idle, *self._busy):
            checker.worker.disown()
        self._idle.clear()
        self._busy.clear()
        self._missing.clear()
