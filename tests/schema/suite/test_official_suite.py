"""The official JSON-Schema-Test-Suite, if there is a copy of it."""

import os
from pathlib import Path

import pytest

from tests.schema.suite.measure import Measure
from tests.schema.suite.official import DRAFTS, cases

FOLDER = os.environ.get("JSON_SCHEMA_TEST_SUITE", "")


@pytest.mark.security
@pytest.mark.skipif(not FOLDER, reason="JSON_SCHEMA_TEST_SUITE names no copy of the suite: make test-json-schema")
@pytest.mark.parametrize("draft", DRAFTS)
def test_every_instance_of_the_suite_is_understood(draft: str) -> None:
    measure = Measure().add(case for case in cases(Path(FOLDER)) if case.draft == draft)
    assert measure.total()["right"] > 1_000
    assert measure.wrong == []
