"""What `ProcessSandbox(fresh="restored")` plugs into a zygote; see `ez_ptc.sandbox.host.boot.extension`."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import IsolationUnavailableError
from ez_ptc.sandbox.restored.both_ends.messages import wrap
from ez_ptc.sandbox.restored.host.kept_workers import KeptWorkers
from ez_ptc.sandbox.restored.host.ready import RestoredWorkers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.protocol.both_ends.control import Extended

__all__ = ["EXTENSION"]

# The registers of others are not restored.
_MACHINE: Final = "x86_64"


class _Restoring:
    """Has workers restored after each program that leaves no trace."""

    folder = "restored"

    def require(self) -> None:
        """Raise IsolationUnavailableError on another machine."""
        if platform.machine() != _MACHINE:
            reason = f"this machine is {platform.machine()}"
            raise self.unavailable_error(reason)

    def unavailable_error(self, reason: str) -> IsolationUnavailableError:
        """Return the error for a machine on which workers cannot be restored."""
        return IsolationUnavailableError(
            f"workers cannot be restored to a snapshot here, so no program is run: {reason}. What to do: use "
            "ProcessSandbox(fresh='process'), the default, which ends each worker after its program; restoring needs "
            "Linux 6.7 or later on x86-64, userfaultfd, ptrace of own children, and /proc"
        )

    def hold_workers(self, send: Callable[[Extended], None]) -> RestoredWorkers:
        """Return the ready workers of a zygote."""
        return RestoredWorkers(KeptWorkers(lambda message: send(wrap(message))))


EXTENSION: Final = _Restoring()
