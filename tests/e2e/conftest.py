"""These tests ask a real model, which is downloaded first: they run only when they are asked for."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _only_when_asked_for() -> None:
    if "EZ_PTC_E2E" not in os.environ:
        pytest.skip("the local model (1.1 GB) is asked by `make test-e2e` only")
