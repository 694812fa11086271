"""Random concurrent programs whose hosts are killed at random points end without an effect doubled or lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

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
    figures = _run(tmp_path, shard * count, count)

    assert figures["problems"] == []
    assert figures["programs"] == count
    assert figures["kills"] >= count // 2


# Of those whose first host is killed, the ones that end soonest.
@pytest.mark.sampled(every=0)
@pytest.mark.parametrize("seed", [3, 21])
def test_random_program_survives_a_kill(seed: int, tmp_path: Path) -> None:
    figures = _run(tmp_path, seed, 1)

    assert figures["problems"] == []
    assert figures["kills"] > 0


def _run(folder: Path, first: int, count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.journal.random_programs", str(folder), str(first), str(count)]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, timeout=_SECONDS, check=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures
