"""The control protocol between host and zygote: messages on a socket that keeps them apart (SOCK_SEQPACKET).

The zygote's first message tells how its boot ended: `Booted`, `PackagesFailed` or `BootFailed`. From then on the host
sends orders, `ForkWorkers` and `AskExitCode`. The first brings an open null device for each worker, and the zygote
answers it with a `NewWorker` or a `ForkRefused` for each; it answers the second with an `ExitCode`. The two ends of an
extension talk by `Extended` messages. A packet is a letter for the type, then the fields as a JSON list.
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
    "Extended",
    "ForkRefused",
    "ForkWorkers",
    "Message",
    "NewWorker",
    "PackagesFailed",
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


class Extended(NamedTuple):
    """A message between the two ends of an extension, which alone know its content.

    An order brings null devices, this `number` of them, in the packet's ancillary data; an answer may bring
    descriptors.
    """

    number: int
    content: list[Any]


Message = (
    Booted | PackagesFailed | BootFailed | ForkWorkers | AskExitCode | NewWorker | ForkRefused | ExitCode | Extended
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
    b"X": Extended,
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
