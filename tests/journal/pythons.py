"""The other Pythons of the machine, in which runs go on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

__all__ = ["OTHER_PYTHONS"]

# By name. `make test-replay` gives their paths, since names may not start here, where HOME is an empty folder.
OTHER_PYTHONS: Final = {Path(path).name: path for path in os.environ.get("EZ_PTC_REPLAY_PYTHONS", "").split()}

for _path in OTHER_PYTHONS.values():
    subprocess.run([_path, "-c", ""], check=True, timeout=60)
