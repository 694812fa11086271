"""What the programs of the tests start in: a new process, or with EZ_PTC_FRESH=restored a restored one."""

from __future__ import annotations

import os
from typing import Final, Literal

__all__ = ["FRESH"]

FRESH: Final[Literal["process", "restored"]] = "restored" if os.environ.get("EZ_PTC_FRESH") == "restored" else "process"
