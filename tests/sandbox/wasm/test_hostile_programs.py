"""Hostile programs in WebAssembly: nothing of the host is reached, and the host goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox.escapes.catalog import OWN
from tests.sandbox.scenarios.test_escapes import breaches, corpus, in_namespaces

__all__ = ["in_namespaces"]

PARTS = 4


@pytest.mark.security
@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_programs_reach_nothing_here_either(
    shared_folder: Path, tmp_path: Path, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EZ_PTC_SANDBOX", "wasm")
    path, classes = corpus(shared_folder)
    names = list(classes)[part::PARTS]
    assert breaches(tmp_path, str(path), *names) == {name: [] for name in names}


@pytest.mark.security
def test_own_hostile_programs_reach_nothing_here_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EZ_PTC_SANDBOX", "wasm")
    assert breaches(tmp_path, "own", *OWN) == {name: [] for name in OWN}
