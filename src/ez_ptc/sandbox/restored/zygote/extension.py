"""What is plugged into a zygote whose workers are restored; see `worker/lifecycle/extension.py`."""

from __future__ import annotations

import _socket
import array
import ctypes
import os
from typing import TYPE_CHECKING, Any

from ...protocol.both_ends.control import Extended
from ...worker.lifecycle.zygote import require_device
from ..both_ends.messages import KeepWorkers, KeptRefused, KeptWorker, Restored, RestoreWorker, read, wrap
from . import birth
from .keeper import WorkerKeeper
from .system import PROC_FD

if TYPE_CHECKING:
    import select

    from ...worker.lifecycle.zygote import Zygote
    from .kept_worker import Kept

__all__ = ["ZygoteExtension"]

# mallopt: the C library's allocator grows its heap in large steps, uses it for large blocks, and never shrinks it.
_OPTIONS = {-1: 1 << 30, -2: 4 << 20, -3: 4 << 20}
_HEAP_BYTES = 2 << 20
# The largest objects that Python's own allocator has arenas for.
_OBJECT_BYTES = 512 - b"".__sizeof__()
_OBJECTS = 4 << 11
# Each arena, of 1 MB, stays mapped as long as one object is in it.
_OBJECTS_PER_ANCHOR = 1 << 10


class ZygoteExtension:
    """Makes workers that can be restored, and restores them."""

    filters = {"zygote": "keeper", "traceless": "traceless"}  # noqa: RUF012 - as the protocol has it
    readable = PROC_FD

    def __init__(self) -> None:
        """Reserve memory, and keep `/proc` open, through which each worker gives access to its own. Raises OSError."""
        _reserve_memory()
        folder = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        os.dup2(folder, PROC_FD, inheritable=False)
        os.close(folder)

    def join(self, zygote: Zygote) -> None:
        """Restore workers of this zygote."""
        self._zygote = zygote
        self._keeper = WorkerKeeper(self._fork, self._tell)

    def _tell(self, kept: Kept, reason: str) -> None:
        self._zygote.send(wrap(Restored(kept.number, reason)))

    def find_problem(self) -> str:
        """Return why workers cannot be restored here, or nothing."""
        # Only here: what is imported now is not in the workers that are compared.
        from . import trial

        return trial.find_problem(self._fork)

    def watch_in(self, poll: select.poll) -> None:
        """Register every descriptor in `poll`."""
        self._keeper.watch_in(poll)

    def serve(self, fd: int, event: int) -> None:
        """Take what has arrived at a descriptor."""
        self._keeper.serve(fd, event)

    def forget(self, pid: int) -> None:
        """Drop a worker that has ended."""
        self._keeper.forget(pid)

    def obey(self, content: list[Any]) -> None:
        """Make workers, or restore one, and send the host the outcome."""
        order = read(Extended(0, content))
        if isinstance(order, KeepWorkers):
            for position in range(order.number):
                self._make_worker(order.serial, self._zygote.take_device(position))
        elif isinstance(order, RestoreWorker):
            self._zygote.send(wrap(Restored(order.number, self._keeper.restore(order.number))))

    def _make_worker(self, serial: int, device: int | None) -> None:
        """Send the host a new worker that can be restored, or the reason that it could not be made."""
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
        try:
            kept = self._keeper.make(theirs.fileno(), require_device(device))
            fds = array.array("i", [ours.fileno(), kept.pidfd])
            self._zygote.send(wrap(KeptWorker(kept.pid, serial, kept.number)), fds)
        except OSError as error:
            self._zygote.send(wrap(KeptRefused(serial, str(error))))
        finally:
            if device is not None:
                os.close(device)
            ours.close()
            theirs.close()

    def _fork(self, link: int, agent: int, device: int) -> int:
        """Fork a worker that can be restored, with these descriptors, and return its id. Raises OSError."""
        return self._zygote.fork(lambda: self._become_worker(link, agent, device))

    def _become_worker(self, link: int, agent: int, device: int) -> None:
        zygote = self._zygote
        # No descriptor is that of the link, which is the control socket's.
        zygote.take_descriptors(link, device)
        os.dup2(agent, birth.AGENT_FD)
        *confining, limit_descriptors, filter_calls = zygote.lockdown.confining
        birth.give_access(confining)
        birth.give_listener(zygote.lockdown.program("traceless"))
        for step in (limit_descriptors, filter_calls, *zygote.renewals):
            if (step() or 0) < 0:
                raise OSError
        zygote.warm_up()
        zygote.runtime.serve_head(zygote.renewals)
        os.close(birth.AGENT_FD)
        zygote.serve_host()


def _reserve_memory() -> None:
    """Grow the heaps of Python and of the C library, and have them stay.

    A worker whose mappings change is not restored.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        for option, value in _OPTIONS.items():
            libc.mallopt(option, value)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = (ctypes.c_void_p,)
    libc.free(libc.malloc(ctypes.c_size_t(_HEAP_BYTES)))
    objects = [bytes(_OBJECT_BYTES) for _ in range(_OBJECTS)]
    for anchor in objects[::_OBJECTS_PER_ANCHOR]:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(anchor))
