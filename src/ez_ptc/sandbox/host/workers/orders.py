"""Sending orders to the zygote, with a null device for each new worker.

A confined zygote opens no file, and a device opened before would be one open file description for all its workers: each
of them could read the flags set by another one. So every order brings devices.
"""

from __future__ import annotations

import array
import errno
import os
import socket
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.protocol.both_ends.control import MAX_ORDERED, Extended, ForkWorkers, encode

if TYPE_CHECKING:
    from ez_ptc.sandbox.protocol.both_ends.control import Message

__all__ = ["LIMITS_OF_PROCESSES", "ZygoteGoneError", "send_order"]


class ZygoteGoneError(SandboxError):
    """The zygote has ended; boot a new one."""

    def __init__(self, message: str = "the sandbox's zygote has ended") -> None:
        super().__init__(message)


LIMITS_OF_PROCESSES = (
    "raise the limit that is reached: RLIMIT_NPROC, RLIMIT_NOFILE, or pids.max or the memory of its cgroup"
)

# The kernel has no room for the message, or for its descriptors. Anything else means that the zygote has ended.
_TEMPORARY: Final = {errno.ETOOMANYREFS, errno.ENOBUFS, errno.ENOMEM}


def send_order(control: socket.socket, order: Message) -> None:
    """Send an order, of at most `MAX_ORDERED` workers.

    Raises:
        ZygoteGoneError: The zygote has ended.
        OSError: No descriptor is available for a new worker.
    """
    if not isinstance(order, (ForkWorkers, Extended)) or not order.number:
        _send(control, encode(order), ())
        return
    if order.number > MAX_ORDERED:
        message = f"expected an order of at most {MAX_ORDERED} workers, got {order.number}"
        raise ValueError(message)
    devices: list[int] = []
    try:
        for _ in range(order.number):
            devices.append(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))  # noqa: PERF401 - all that were opened are closed
        _send(control, encode(order), devices)
    finally:
        for device in devices:
            os.close(device)


def _send(control: socket.socket, packet: bytes, descriptors: list[int] | tuple[()]) -> None:
    ancillary = []
    if descriptors:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    try:
        control.sendmsg([packet], ancillary, socket.MSG_NOSIGNAL)
    except OSError as error:
        if error.errno in _TEMPORARY:
            raise
        raise ZygoteGoneError from error
