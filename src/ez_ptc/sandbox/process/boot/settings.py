"""How a zygote is to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ez_ptc.sandbox.process.packages import Packages

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a zygote is to be.

    Attributes:
        packages: What programs may import besides the standard library.
        python: The interpreter to start; None for the one of this process.
        deterministic: Let all workers of all such zygotes have the same things at the same addresses.
    """

    packages: Packages
    python: str | None = None
    deterministic: bool = False
