"""Looking at what the kernel enforces here, without running a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.sandbox.process.zygote import ZygoteProcess

if TYPE_CHECKING:
    from ez_ptc.sandbox.isolation import Report

__all__ = ["check"]


def check() -> Report:
    """Start a sandbox, look at what holds in it, and end it again.

    What is required and missing is in the report, and raises nothing here.

    Raises:
        SandboxError: It could not even start.
    """
    zygote = ZygoteProcess(require=False)
    try:
        return zygote.report
    finally:
        zygote.close()
