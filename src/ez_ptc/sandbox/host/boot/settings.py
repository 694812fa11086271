"""The settings of a zygote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.boot.extension import WorkerExtension
    from ez_ptc.sandbox.host.packages import Packages

__all__ = ["ZygoteSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZygoteSettings:
    """The settings of a zygote.

    Attributes:
        packages: Packages programs may import in addition to the standard library.
        python: The interpreter to start; None for this process's.
        deterministic: Disable address randomization, so that all workers have equal addresses.
        extension: Changes what becomes of workers; None ends each one after its program.
        keeps_user: Have workers keep the user of a host that is root, which could not end those of another one.
    """

    packages: Packages
    python: str | None = None
    deterministic: bool = False
    extension: WorkerExtension | None = None
    keeps_user: bool = False
