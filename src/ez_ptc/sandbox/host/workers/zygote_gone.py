"""The error for a zygote that has ended."""

from __future__ import annotations

from ez_ptc.errors import SandboxError

__all__ = ["LIMITS_OF_PROCESSES", "ZygoteGoneError"]

LIMITS_OF_PROCESSES = (
    "raise the limit that is reached: RLIMIT_NPROC, RLIMIT_NOFILE, or pids.max or the memory of its cgroup"
)


class ZygoteGoneError(SandboxError):
    """The zygote has ended; boot a new one."""

    def __init__(self, message: str = "the sandbox's zygote has ended") -> None:
        super().__init__(message)
