"""What the fuzzers have found, and inputs of each kind, meet the promises of their readers."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from tests.fuzz.bounds import bounded
from tests.fuzz.fuzzing import HERE, TARGETS, known_inputs

CASES = [(path.parent.name, path.name) for path in sorted((HERE / "corpus").glob("*/*"))]
KINDS = {"history": {"4 entries", "an entry"}, "mcp": {"result", "error"}, "openapi": {"read", "refused"}}


def reader(target: str) -> Callable[[bytes], list[str]]:
    survive: Callable[[bytes], list[str]] = importlib.import_module(TARGETS[target][0]).survive
    return survive


@pytest.mark.parametrize(("target", "name"), CASES, ids=["-".join(case) for case in CASES])
def test_known_input_is_accepted_or_refused(target: str, name: str) -> None:
    read, data = reader(target), (HERE / "corpus" / target / name).read_bytes()
    read(data)  # imports what it needs
    bounded(read)(data)


@pytest.mark.parametrize("target", KINDS)
def test_known_inputs_reach_each_kind_of_outcome(target: str) -> None:
    """Or the tests above would test nothing."""
    read = reader(target)
    assert KINDS[target] <= {outcome for data in known_inputs(target) for outcome in read(data)}
