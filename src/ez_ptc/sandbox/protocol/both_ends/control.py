"""The control protocol between host and zygote: messages on a socket that keeps them apart (SOCK_SEQPACKET).

The zygote's first message tells how its boot ended: `Booted`, `PackagesFailed` or `BootFailed`. From then on the host
sends orders, `ForkWorkers` and `AskExitCode`. The first brings an open null device for each worker, and the zygote
answers it with a `NewWorker` or a `ForkRefused` for each; it answers the second with an `ExitCode`. Where workers are
restored, it answers `KeepWorkers` with a `KeptWorker` or a `KeptRefused` for each, and says `Restored` when that is
ready, and after each `RestoreWorker`. A packet is a letter for the type, then the fields as a JSON list.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

__all__ = [
    "MAX_ORDERED",
    "AskExitCode",
    "BootFailed",
    "Booted",
    "ExitCode",
    "ForkRefused",
    "ForkWorkers",
    "KeepWorkers",
    "KeptRefused",
    "KeptWorker",
    "Message",
    "NewWorker",
    "PackagesFailed",
    "RestoreWorker",
    "Restored",
    "count_ordered_workers",
    "decode",
    "encode",
    "encode_new_worker",
]


MAX_ORDERED: Final = 4
"""The maximum of workers in one order. Its descriptors are open in the host, and again in the zygote, at a time."""


class Booted(NamedTuple):
    """The zygote is ready; `facts` are the isolation it found by trying."""

    facts: dict[str, Any]


class PackagesFailed(NamedTuple):
    """The packages for programs cannot be made available."""

    reason: str


class BootFailed(NamedTuple):
    """The zygote cannot run at all; the file `boot.py` writes this message by hand."""

    reason: str


class ForkWorkers(NamedTuple):
    """The order to fork workers, with a null device for each in the packet's ancillary data."""

    number: int


class AskExitCode(NamedTuple):
    """The question for the exit code of a worker, whose socket has ended."""

    pid: int


class NewWorker(NamedTuple):
    """A worker, with the descriptors of its socket and its pidfd in the packet's ancillary data."""

    pid: int


class ForkRefused(NamedTuple):
    """No worker could be forked; running workers are unaffected."""

    reason: str


class ExitCode(NamedTuple):
    """The exit code of a worker (negative: the signal)."""

    pid: int
    code: int


class KeepWorkers(NamedTuple):
    """The order to make workers that can be restored; `serial` is the host's number for what they are for.

    It has a null device for each in the packet's ancillary data.
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


Message = (
    Booted
    | PackagesFailed
    | BootFailed
    | ForkWorkers
    | AskExitCode
    | NewWorker
    | ForkRefused
    | ExitCode
    | KeepWorkers
    | KeptWorker
    | KeptRefused
    | RestoreWorker
    | Restored
)

_TYPES: dict[bytes, type[Message]] = {
    b"R": Booted,
    b"P": PackagesFailed,
    b"E": BootFailed,
    b"F": ForkWorkers,
    b"S": AskExitCode,
    b"W": NewWorker,
    b"N": ForkRefused,
    b"D": ExitCode,
    b"K": KeepWorkers,
    b"H": KeptWorker,
    b"X": KeptRefused,
    b"A": RestoreWorker,
    b"B": Restored,
}
_LETTERS = {message_type: letter for letter, message_type in _TYPES.items()}


def encode(message: Message) -> bytes:
    """Return the packet of a message."""
    return _LETTERS[type(message)] + json.dumps(message).encode()


def encode_new_worker(pid: int) -> bytes:
    """Same as `encode`, for a new worker: JSON's encoder would write to forty pages, each of them shared by a fork."""
    return b"W[%d]" % pid


def count_ordered_workers(packet: bytes) -> int:
    """Return how many workers a packet orders, 0 for any other message; without JSON's decoder, for the same reason."""
    if packet[:1] != b"F":
        return 0
    return int(packet[2:-1])


def decode(packet: bytes) -> Message | None:
    """Return the message in a packet, or None for an empty one, the end of the socket."""
    if not packet:
        return None
    return _TYPES[packet[:1]](*json.loads(packet[1:]))
