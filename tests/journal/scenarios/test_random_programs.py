"""Random concurrent programs whose hosts are killed at random points end without an effect doubled or lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).parent.parent.parent.parent
# `make test-replay` asks for 2,000.
_PROGRAMS: Final = int(os.environ.get("EZ_PTC_REPLAY_PROGRAMS", "6"))
_SHARDS: Final = 2 if _PROGRAMS < 100 else 40
_SECONDS: Final = 3_000.0


@pytest.mark.security
@pytest.mark.lengthy
@pytest.mark.parametrize("shard", range(_SHARDS))
def test_random_program_survives_every_kill(shard: int, tmp_path: Path) -> None:
    count = _PROGRAMS // _SHARDS
    command = [sys.executable, "-m", "tests.journal.random_programs", str(tmp_path), str(shard * count), str(count)]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, timeout=_SECONDS, check=True, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])

    assert figures["problems"] == []
    assert figures["programs"] == count
    assert figures["kills"] >= count // 2
