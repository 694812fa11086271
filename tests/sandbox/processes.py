"""What the kernel says of processes, descriptors and threads."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import threading
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

from ez_ptc.sandbox.host.backend import ProcessSandbox

__all__ = [
    "alive",
    "all_gone",
    "becomes",
    "descendants",
    "descriptors",
    "families",
    "inside",
    "parent",
    "root_of",
    "threads",
]

PROC = Path("/proc")


def _status(pid: int) -> dict[str, str]:
    try:
        lines = (PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _state_and_parent(pid: int) -> tuple[str, int]:
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0
    # Before it is the name, in which anything may stand.
    state, parent, *_ = stat.rpartition(b")")[2].split()
    return state.decode(), int(parent)


def alive(pid: int) -> bool:
    """Return whether a process is there and has not ended; a zombie has."""
    return _state_and_parent(pid)[0] not in {"Z", "X"}


def descendants(pid: int, *, ended: bool = False) -> set[int]:
    """Return the ids of all that come from a process, without those that have ended and wait to be asked how."""
    children: dict[int, set[int]] = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            children.setdefault(_state_and_parent(int(folder.name))[1], set()).add(int(folder.name))
    found: set[int] = set()
    pending = [pid]
    while pending:
        new = children.get(pending.pop(), set()) - found
        found |= new
        pending += new
    return {each for each in found if ended or alive(each)}


def families(pid: int, *, without: set[int]) -> set[int]:
    """Return the children of a process, but for some, with all that come from them."""
    new = {child for child in descendants(pid) if parent(child) == pid} - without
    return new.union(*map(descendants, new))


def inside(pid: int) -> int:
    """Return the id that a process has in its own pid namespace."""
    return int(_status(pid).get("NSpid", f"{pid}").split()[-1])


def parent(pid: int) -> int:
    """Return the id of the process that a process belongs to; 0 when it is gone."""
    return _state_and_parent(pid)[1]


def root_of(pids: Iterable[int]) -> int:
    """Return the process from which the others come, if it lives. Ids wrap, so it need not be the lowest one."""
    family = set(pids)
    return next(pid for pid in family if alive(pid) and parent(pid) not in family)


@contextlib.contextmanager
def _pidfd(pid: int) -> Generator[int | None]:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def all_gone(pids: Iterable[int], *, within: float) -> bool:
    """Wait for the end of every process, and return whether it came within so many seconds."""
    until = time.monotonic() + within
    for pid in pids:
        with _pidfd(pid) as fd:
            if fd is not None and alive(pid):
                poll = select.poll()
                poll.register(fd, select.POLLIN)
                if not poll.poll(max(0, until - time.monotonic()) * 1000):
                    return False
    return True


def becomes(count: Callable[[], object], wanted: object, *, within: float) -> bool:
    """Wait for a value, and return whether it came within so many seconds."""
    until, pause = time.monotonic() + within, threading.Event()
    while count() != wanted:
        if time.monotonic() > until:
            return False
        pause.wait(0.02)
    return True


def descriptors() -> dict[str, str]:
    """Return what each descriptor of this process is open on, once everything is at rest.

    What earlier tests dropped is given back first, and sandboxes that others share keep no more than they always do.
    """
    gc.collect()
    for each in gc.get_objects():
        if type(each) is ProcessSandbox:
            each.cool_down()
    found: dict[str, str] = {}
    for link in (PROC / "self" / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[link.name] = str(link.readlink())
    return found


def threads(pid: int | None = None) -> int:
    """Return how many threads a process has, this one by default."""
    return int(_status(os.getpid() if pid is None else pid)["Threads"])
