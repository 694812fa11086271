"""The messages about workers that are restored, each the content of an `Extended` one of the control protocol.

The zygote answers `KeepWorkers` with a `KeptWorker` or a `KeptRefused` for each, and says `Restored` when that is
ready, and after each `RestoreWorker`.
"""

from __future__ import annotations

from typing import NamedTuple

from ...protocol.both_ends.control import Extended

__all__ = ["KeepWorkers", "KeptRefused", "KeptWorker", "Message", "RestoreWorker", "Restored", "read", "wrap"]


class KeepWorkers(NamedTuple):
    """The order to make workers that can be restored; `serial` is the host's number for what they are for.

    It brings a null device for each.
    """

    number: int
    serial: int


class KeptWorker(NamedTuple):
    """A worker that can be restored, with descriptors as in `NewWorker`; `number` names it in further orders.

    It is `Restored` for the first time when the host has sent it a head, its limits and tools.
    """

    pid: int
    serial: int
    number: int


class KeptRefused(NamedTuple):
    """A worker that can be restored could not be made."""

    serial: int
    reason: str


class RestoreWorker(NamedTuple):
    """The order to restore a worker, whose program has ended cleanly."""

    number: int


class Restored(NamedTuple):
    """A worker is ready at its snapshot, or was killed for a reason."""

    number: int
    reason: str


Message = KeepWorkers | KeptWorker | KeptRefused | RestoreWorker | Restored
_TYPES: dict[str, type[Message]] = {
    cls.__name__: cls for cls in (KeepWorkers, KeptWorker, KeptRefused, RestoreWorker, Restored)
}


def wrap(message: Message) -> Extended:
    """Return the message of the control protocol that carries this one."""
    devices = message.number if isinstance(message, KeepWorkers) else 0
    return Extended(devices, [type(message).__name__, *message])


def read(message: Extended) -> Message:
    """Return the message that one of the control protocol carries."""
    name, *fields = message.content
    return _TYPES[name](*fields)
