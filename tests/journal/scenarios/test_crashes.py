"""A host that is killed at any point leaves a run that another process continues, without a doubled or lost effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journal.programs import PROGRAMS
from tests.sandbox.scripts import run_script

# A process for each: so many of them kill at every point of a program.
_SHARDS = 80
_RUN = "import json, sys\nfrom tests.journal.crashing import main\nprint(json.dumps(main(*sys.argv[1:])))"


@pytest.mark.lengthy
@pytest.mark.sampled(every=100000, first=30)
@pytest.mark.parametrize("shard", range(1, _SHARDS + 1))
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_killed_host_repeats_and_loses_nothing(program: str, kind: str, shard: int, tmp_path: Path) -> None:
    figures = json.loads(run_script(_RUN, str(tmp_path), program, kind, str(shard), str(_SHARDS), timeout=300))

    assert figures["problems"] == []
    assert figures["points"] >= 150
    assert figures["killed"] >= figures["points"] // _SHARDS // 2
