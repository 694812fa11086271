"""Probing the kernel's isolation without running a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.sandbox.host.boot.host import report_platform, require_host
from ez_ptc.sandbox.host.boot.start import ZygoteSettings
from ez_ptc.sandbox.host.packages import NO_PACKAGES

if TYPE_CHECKING:
    from ez_ptc.sandbox.protocol.isolation import Report

__all__ = ["check"]


def check() -> Report:
    """Boot a sandbox, probe its isolation, and end it.

    A missing required layer is in the report and raises nothing.

    Raises:
        SandboxError: The sandbox could not start.
    """
    report = report_platform()
    if report is not None:
        return report
    require_host()
    from ez_ptc.sandbox.host.zygote import boot_zygote

    zygote = boot_zygote(ZygoteSettings(packages=NO_PACKAGES), require=False)
    try:
        return zygote.report
    finally:
        zygote.close()
