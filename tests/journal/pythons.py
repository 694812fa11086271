"""The other Pythons of the machine, in which runs go on."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from typing import Final

__all__ = ["OTHER_PYTHONS"]

_TELL_PATH: Final = "import sys; print(sys.executable)"


@cache
def _find(name: str) -> str | None:
    """Return the path of an interpreter that starts by this name, or None without one."""
    try:
        done = subprocess.run([name, "-c", _TELL_PATH], capture_output=True, timeout=60, check=False, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


# By name, as `make test-replay` gives them; those that do not start here are left out.
OTHER_PYTHONS: Final = {
    name: path for name in os.environ.get("EZ_PTC_REPLAY_PYTHONS", "").split() if (path := _find(name)) is not None
}
